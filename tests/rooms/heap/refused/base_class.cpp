// says: can't have a base class
#include "refused.hpp"

struct bad : node {
    nv::p<int> a;
};
static_assert(may_live<bad>);
