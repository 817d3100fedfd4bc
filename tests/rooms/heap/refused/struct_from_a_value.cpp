// says: the element is a struct: insert it without a value, and set its fields
#include <holdfast/nv/list.hpp>

#include "refused.hpp"

struct pair {
    nv::p<int> first;
    nv::p<int> second;
};

void bad(nv::tx<>& tx, nv::queue<pair>& pairs) { pairs.push(tx, 1); }
