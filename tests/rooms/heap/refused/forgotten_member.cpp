// says: nv_members must name all members
#include "refused.hpp"

class bad {
    nv::p<int> a;
    nv::ptr<node> b;

   public:
    static constexpr auto nv_members = std::tuple{&bad::a};
};
static_assert(may_live<bad>);
