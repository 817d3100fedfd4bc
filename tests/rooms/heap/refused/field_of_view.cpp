// says: whose members can't be seen
#include "refused.hpp"

#include <string_view>

nv::p<std::string_view> bad;
