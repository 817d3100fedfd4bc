// Which pointers provably point outside of the arena of regions, so that a store through them needs
// no announcement.
//
// A pointer is transient if every object that it may be based on is one of:
//
//   stack    an alloca or a by-value argument: a thread's stack is never in the arena
//   global   a variable or function of the program, thread-local ones included: the program's image
//            is never in the arena
//   heap     the result of a call of malloc, calloc, ... by that name: libc's heap is never in the
//            arena. A result of another function is not, even if it is declared noalias: region
//            allocators are declared so, too. Nor is that of operator new, which a program may
//            replace by an allocator of a region.
//   library  memory that a library owns, such as *errno, and results that the user names with
//            -hf-transient-result
//   member   a member of a structure that the program declares HF_TRANSIENT (section_hooks.h): it
//            may lie in a region, but what it holds after a crash does not matter. Only where the
//            bytes written are known, and lie within the member: the address of a member may lead
//            to its neighbours (container_of(), or a memset from the member on)
//
// Whether the object escapes does not matter: the argument is about addresses, not about aliasing.
#pragma once

#include "options.hpp"

#include <llvm/IR/Module.h>
#include <llvm/IR/Value.h>

#include <cstdint>
#include <optional>

namespace hf::pass {

class provenance {
   public:
    explicit provenance(const options& o) : options_(o) {}

    /// Why `bytes` bytes (nullopt: an unknown number) from `pointer` on are transient: "stack",
    /// "global", "heap", "library", "member", or "mixed" where its objects are of several kinds.
    /// Empty if it may point into a region. A vector of pointers is transient only if it is derived
    /// from one transient pointer.
    [[nodiscard]] llvm::StringRef transient_kind(
        const llvm::Value* pointer, std::optional<std::uint64_t> bytes = std::nullopt) const;

   private:
    [[nodiscard]] llvm::StringRef kind_of_object(const llvm::Value* object) const;
    [[nodiscard]] llvm::StringRef kind_of_result(const llvm::Value* call) const;

    const options& options_;
};

/// Notes the size of each HF_TRANSIENT member at its annotation. Before the optimiser, which
/// forgets the types of addresses. Without a noted size every store to a member is announced.
void note_member_sizes(llvm::Module& module);

}  // namespace hf::pass
