// Runs: neighbouring stores that share one check and one announcement.
//
// A run is a list of writes of one basic block that follow each other without anything in between.
// Most runs have one member. Plain stores through one pointer at constant offsets, such as the
// initialisation of a struct, are joined into one run if
//
//   R1  the bytes from the first to the last byte of the run are at most 256, and no gap between
//       two members is longer than 64 bytes. The announced range includes the gaps, which costs
//       nothing but the undo of bytes that do not change;
//   R2  every instruction between two members can be moved before the first: it does not write,
//       call, fence or trap, and if it loads, the load cannot alias a store of the run.
//
// After the move nothing lies between the members. The pair of hooks therefore encloses stores only
// (rule C1 of sections: outside of all sections nothing may block between the hooks), and the order
// of the stores does not change.
#pragma once

#include "write_sites.hpp"

#include <llvm/Analysis/AliasAnalysis.h>

namespace hf::pass {

struct run {
    llvm::SmallVector<write_site, 1> members;
    /// Where the announced range begins: this many bytes from `base`. Runs of one member have none.
    llvm::Value* base = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    /// To be moved before the first member, in this order.
    llvm::SmallVector<llvm::Instruction*, 4> moved;
};

/// Divides `sites`, which are in program order, into runs. With `merge` false each has one member.
[[nodiscard]] llvm::SmallVector<run, 0> make_runs(llvm::ArrayRef<write_site> sites,
                                                  llvm::AAResults& aliases, bool merge);

}  // namespace hf::pass
