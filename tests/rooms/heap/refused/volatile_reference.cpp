// says: live in ordinary memory only
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    nv::ref<node> b;
};
static_assert(may_live<bad>);
