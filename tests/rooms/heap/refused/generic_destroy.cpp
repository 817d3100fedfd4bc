// says: nv_destroy() can't be called
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    void nv_destroy(auto& tx) { a.set(tx, 1); }
};
auto f(nv::tx<>& tx) { return tx.make<bad>(1); }
