// says: a union doesn't tell
#include "refused.hpp"

union either {
    int a;
    float b;
};
struct bad {
    nv::p<int> a;
    either b;
};
static_assert(may_live<bad>);
