// says: a class with virtual functions
#include "refused.hpp"

struct bad {
    nv::p<int> a;
    virtual void f() {}
};
static_assert(may_live<bad>);
