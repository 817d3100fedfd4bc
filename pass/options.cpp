#include "options.hpp"

#include <llvm/Support/CommandLine.h>

namespace hf::pass {
namespace {

enum class arena { constant, dynamic };

llvm::cl::opt<arena> arena_option(
    "hf-arena", llvm::cl::desc("How the number of the arena of regions is known"),
    llvm::cl::values(clEnumValN(arena::constant, "constant", "constant of section_hooks.h"),
                     clEnumValN(arena::dynamic, "dynamic", "read hf_section_arena_number")),
    llvm::cl::init(arena::constant));
llvm::cl::opt<std::string> report_option("hf-report", llvm::cl::value_desc("path"),
                                         llvm::cl::desc("Report every write: .json, text or dir/"));
llvm::cl::opt<bool> strict_option("hf-strict",
                                  llvm::cl::desc("A write that cannot be announced is an error"));
llvm::cl::list<std::string> transient_option(
    "hf-transient-result", llvm::cl::value_desc("function"),
    llvm::cl::desc("The function returns memory outside of all regions"));
llvm::cl::list<std::string> skip_option("hf-skip", llvm::cl::value_desc("function"),
                                        llvm::cl::desc("Leave the function's body as it is"));
llvm::cl::opt<bool> globals_option("hf-elide-globals", llvm::cl::init(true),
                                   llvm::cl::desc("Globals lie outside of all regions"));
llvm::cl::opt<bool> malloc_option("hf-elide-malloc", llvm::cl::init(true),
                                  llvm::cl::desc("Results of malloc lie outside of all regions"));
llvm::cl::opt<bool> members_option("hf-elide-members", llvm::cl::init(true),
                                   llvm::cl::desc("Members declared HF_TRANSIENT need no undo"));
llvm::cl::opt<bool> merge_option("hf-merge", llvm::cl::init(true),
                                 llvm::cl::desc("Announce neighbouring stores together"));

}  // namespace

options read_options() {
    options o;
    o.dynamic_arena = arena_option == arena::dynamic;
    o.strict = strict_option;
    o.elide_globals = globals_option;
    o.elide_malloc = malloc_option;
    o.elide_members = members_option;
    o.merge = merge_option;
    o.report = report_option;
    for (const auto& name : transient_option) o.transient_results.insert(name);
    for (const auto& name : skip_option) o.skipped.insert(name);
    return o;
}

}  // namespace hf::pass
