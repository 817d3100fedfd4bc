// says: write field.set(tx, value)
#include "refused.hpp"

void f(nv::cursor<node> n) { n->value = 5; }
