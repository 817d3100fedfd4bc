// says: containers hold fields
#include <holdfast/nv/vector.hpp>

#include "refused.hpp"

struct shelf {
    nv::vector<int> numbers;
};
void f(nv::tx<>& tx) { (void)tx.make<shelf>(); }
