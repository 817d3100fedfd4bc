// says: nv_destroy() can't be called
#include "refused.hpp"

class bad {
   public:
    nv::p<int> a;

   private:
    void nv_destroy(nv::tx<>& tx) { a.set(tx, 1); }
};
auto f(nv::tx<>& tx) { return tx.make<bad>(1); }
