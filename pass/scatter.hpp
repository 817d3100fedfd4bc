// Scatters, split into one store per lane.
//
// A scatter writes through a vector of pointers, each of which may or may not point into a region.
// It is replaced, in lane order as its definition demands, by stores under the bits of its mask,
// which are then announced one by one like any other store.
#pragma once

#include "provenance.hpp"

#include "llvm/IR/Function.h"

namespace hf::pass {

/// Splits the scatters of `function` that may reach a region. Returns true iff it changed anything.
bool split_scatters(llvm::Function& function, const provenance& origins);

}  // namespace hf::pass
