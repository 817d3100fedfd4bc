// The code around a run of writes.
//
//          number = start >> 44                            inline: no call for transient memory
//          if (number == HF_SECTION_ARENA_NUMBER)
//              alone = hf_section_store(start, size)       <holdfast/section_hooks.h>
//              the writes
//              if (alone) hf_section_stored()
//          else
//              the writes, without hooks
//
// The writes are there twice, so that transient memory pays for one comparison and not for a second
// test after the store. Both hooks are opaque calls that get the pointer or may know it: neither an
// optimisation at link time nor the code generator moves a write across them.
#pragma once

#include "runs.hpp"

#include <llvm/IR/IRBuilder.h>

namespace hf::pass {

class announcer {
   public:
    announcer(llvm::Module& module, const options& o);

    /// Surrounds the run with hooks. Invalidates analyses of its function.
    void announce(const run& r);

   private:
    struct range {
        llvm::Value* start;
        llvm::Value* size;
        llvm::Value* is_empty;  ///< null: the range has at least one byte
    };

    [[nodiscard]] range range_of(const run& r);
    [[nodiscard]] range range_of_mask(const write_site& site, llvm::IRBuilderBase& build) const;
    [[nodiscard]] llvm::Value* is_in_arena(llvm::Value* start, llvm::IRBuilderBase& build);

    llvm::Module& module_;
    llvm::FunctionCallee store_;
    llvm::FunctionCallee stored_;
    llvm::Constant* dynamic_number_ = nullptr;  ///< null: the header's constant
    llvm::MDNode* rarely_;
};

}  // namespace hf::pass
