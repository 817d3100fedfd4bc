// says: a field's address is good for nothing
#include "refused.hpp"

auto* f(nv::cursor<node> n) { return &n->value; }
