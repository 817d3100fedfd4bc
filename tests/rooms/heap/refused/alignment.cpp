// says: the members don't fill the struct
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    alignas(16) nv::p<int> b;
};
static_assert(may_live<bad>);
