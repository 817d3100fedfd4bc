// says: pointers lead to structs
#include "refused.hpp"

struct bad {
    nv::ptr<int> number;
};
void f(nv::tx<>& tx) { (void)tx.make<bad>(); }
