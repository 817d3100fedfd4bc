// says: it owns ordinary memory
#include "refused.hpp"

#include <string>

struct bad {
    nv::p<int> a;
    std::string b;
};
static_assert(may_live<bad>);
