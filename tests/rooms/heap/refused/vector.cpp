// says: it owns ordinary memory
#include "refused.hpp"

#include <vector>

struct bad {
    nv::p<int> a;
    std::vector<int> b;
};
static_assert(may_live<bad>);
