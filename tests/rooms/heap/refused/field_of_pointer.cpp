// says: nv::p<T> of a raw pointer
#include "refused.hpp"

nv::p<int*> bad;
