// says: containers hold fields
#include "refused.hpp"

#include <holdfast/nv/vector.hpp>

struct shelf {
    nv::vector<int> numbers;
};
void f(nv::tx<>& tx) { (void)tx.make<shelf>(); }
