// The plugin's command line: -mllvm -hf-... of clang, set by hf-clang and by holdfast_sections().
//
//   -hf-arena=constant|dynamic   the arena's number is the header's constant (the default), or is
//                                read from hf_section_arena_number at each store (sanitizers)
//   -hf-report=PATH              write what was done to each write: JSON where PATH ends in .json,
//                                else text; a directory gets one JSON file per module
//   -hf-strict                   a write that the plugin can neither announce nor elide is an error
//   -hf-transient-result=NAME    the function NAME returns memory outside of all regions (repeat)
//   -hf-skip=NAME                the body of function NAME is not instrumented (repeat)
//   -hf-elide-globals=false      announce stores to globals as well
//   -hf-elide-malloc=false       announce stores through results of malloc as well: for programs
//                                in which something replaces malloc by an allocator of a region
//   -hf-elide-members=false      announce stores to members declared HF_TRANSIENT as well: for the
//                                debugging mode, which would report them
//   -hf-merge=false              one announcement per store, for comparison
#pragma once

#include <llvm/ADT/StringSet.h>

#include <string>

namespace hf::pass {

struct options {
    bool dynamic_arena = false;
    bool strict = false;
    bool elide_globals = true;
    bool elide_malloc = true;
    bool elide_members = true;
    bool merge = true;
    std::string report;  ///< empty: none
    llvm::StringSet<> transient_results;
    llvm::StringSet<> skipped;
};

/// The options of this compilation. REQUIRES: the command line has been parsed.
[[nodiscard]] options read_options();

}  // namespace hf::pass
