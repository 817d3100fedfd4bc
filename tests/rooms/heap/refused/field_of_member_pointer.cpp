// says: nv::p<T> of a pointer to a member
#include "refused.hpp"

nv::p<int node::*> bad;
