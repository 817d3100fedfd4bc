// says: the members of this class can't be seen
#include "refused.hpp"

class bad {
    nv::p<int> a;
};
static_assert(may_live<bad>);
