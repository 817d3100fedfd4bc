// says: it owns ordinary memory
#include "refused.hpp"

#include <memory>

struct bad {
    nv::p<int> a;
    std::unique_ptr<int> b;
};
static_assert(may_live<bad>);
