// says: deleted
#include "refused.hpp"

int f(nv::cursor<node> n) {
    auto copy = n->value;
    return copy;
}
