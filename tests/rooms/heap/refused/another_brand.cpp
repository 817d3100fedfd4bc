// says: a pointer into a heap of another brand
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    nv::ptr<node, other> b;
};
static_assert(may_live<bad>);
