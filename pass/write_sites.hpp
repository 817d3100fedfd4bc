// The instructions of a function that write to memory themselves: what each writes, and where.
//
// Calls of functions are not among them (library_calls.hpp): their callees are compiled with the
// plugin too, or are functions of a library.
#pragma once

#include "provenance.hpp"
#include "report.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace hf::pass {

/// How the bytes that an instruction writes follow from its operands.
enum class extent {
    fixed,     ///< `bytes` from the pointer on
    variable,  ///< `length` bytes from the pointer on; may be 0
    masked,    ///< elements of `bytes` bytes whose bit of `mask` is set
    packed     ///< as many elements of `bytes` bytes as bits of `mask` are set
};

struct write_site {
    llvm::Instruction* at = nullptr;
    llvm::StringRef kind;  ///< for the report: "store", "memset", "atomic", ...
    llvm::Value* pointer = nullptr;
    extent reach = extent::fixed;
    std::uint64_t bytes = 0;
    llvm::Value* length = nullptr;
    llvm::Value* mask = nullptr;

    /// A plain store, which may be announced together with its neighbours.
    [[nodiscard]] bool is_plain() const;
};

/// The writes of `function` that may reach a region, in program order. Those that cannot reach one
/// and those that the plugin does not understand go to `log`.
[[nodiscard]] llvm::SmallVector<write_site, 0> find_write_sites(llvm::Function& function,
                                                                const provenance& origins,
                                                                report& log);

}  // namespace hf::pass
