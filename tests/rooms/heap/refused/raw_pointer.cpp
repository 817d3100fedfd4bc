// says: a raw pointer in a persistent object
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    int* b;
};
static_assert(may_live<bad>);
