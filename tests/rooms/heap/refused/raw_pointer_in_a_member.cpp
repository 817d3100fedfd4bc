// says: a raw pointer in a persistent object
#include "refused.hpp"

struct inner {
    nv::p<int> a;
    const char* b;
};
struct bad {
    inner i;
    nv::p<int> c;
};
static_assert(may_live<bad>);
