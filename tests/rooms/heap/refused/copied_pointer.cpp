// says: deleted
#include "refused.hpp"

bool f(nv::cursor<node> n) {
    auto copy = n->next;
    return bool(copy);
}
