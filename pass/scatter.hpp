// Vector writes in other forms, brought into the forms that write_sites.hpp knows.
//
// A scatter writes through a vector of pointers, each of which may or may not point into a region.
// It is replaced, in lane order as its definition demands, by stores under the bits of its mask,
// which are then announced one by one like any other store. x86 has masked stores and scatters of
// its own, which become general masked stores; a streaming one loses its hint.
#pragma once

#include "provenance.hpp"

#include <llvm/IR/Function.h>

namespace hf::pass {

/// Splits the scatters of `function` that may reach a region. Returns true iff it changed anything.
bool split_scatters(llvm::Function& function, const provenance& origins);

/// Replaces x86 masked stores and scatters by general ones. Returns true iff there was one.
bool generalise_masked_stores(llvm::Function& function);

}  // namespace hf::pass
