// says: no matching
#include "refused.hpp"

void f(nv::tx<other>& tx, nv::cursor<node> n) { n->next.set(tx, n); }
