// says: a bare field
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    int b : 3;
};
static_assert(may_live<bad>);
