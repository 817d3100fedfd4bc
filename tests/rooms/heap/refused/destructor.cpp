// says: no C++ destructor runs in a heap
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    ~bad() {}
};
auto f(nv::tx<>& tx) { return tx.make<bad>(1); }
