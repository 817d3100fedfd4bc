// says: a pointer into a heap of another brand
#include "refused.hpp"

auto f(nv::tx<other>& tx) { return tx.make<node>(1); }
