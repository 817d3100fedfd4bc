// says: nv::p<T> of a raw pointer
#include "refused.hpp"

struct value {
    int a;
    int* b;
};
nv::p<value> bad;
