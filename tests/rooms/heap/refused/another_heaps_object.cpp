// says: no matching
#include "refused.hpp"

void f(nv::tx<>& tx, nv::cursor<node> n, nv::cursor<node, other> o) { n->next.set(tx, o); }
