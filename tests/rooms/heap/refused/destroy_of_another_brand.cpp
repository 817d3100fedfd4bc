// says: nv_destroy() takes a transaction of its own heap
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    void nv_destroy(nv::tx<other>&) {}
};
auto f(nv::tx<>& tx) { return tx.make<bad>(1); }
