// says: write pointer.set(tx, object)
#include "refused.hpp"

void f(nv::cursor<node> n) { n->next = n; }
