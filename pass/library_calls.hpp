// Calls of functions that this module does not define: which of them write through their pointers.
//
// A call of a function that src/section/libc wraps goes to its wrapper hf_lib_<name>, unless all
// pointers that the function writes through are transient. Where the address of such a function is
// taken, the address of the wrapper is taken instead. A function that is known to write to no
// memory of the program's but its own is left alone; any other one that gets a pointer that may
// lead into a region is reported as external.
#pragma once

#include "provenance.hpp"
#include "report.hpp"

#include <llvm/IR/Module.h>

namespace hf::pass {

/// Redirects and reports the calls of `module`. Returns true iff it changed anything.
bool redirect_library_calls(llvm::Module& module, const provenance& origins, report& log);

}  // namespace hf::pass
