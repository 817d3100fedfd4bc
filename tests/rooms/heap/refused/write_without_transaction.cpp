// says: no matching function | too few arguments
#include "refused.hpp"

void f(nv::cursor<node> n) { n->value.set(5); }
