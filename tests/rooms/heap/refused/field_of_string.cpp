// says: holds what is nothing but its bytes
#include "refused.hpp"

#include <string>

nv::p<std::string> bad;
