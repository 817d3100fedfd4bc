// What was done with each write of a module: the compile-time half of "no silent miss".
//
// An entry of the report is a write, or a call that may write, with the source line that caused it:
//
//   instrumented   the write is announced before it happens
//   elided         the write cannot reach a region; `detail` says why (provenance.hpp)
//   redirected     a library call goes to a wrapper, hf_lib_<name>, that announces what it writes
//   external       a call of a function that this module does not define and that gets a pointer:
//                  it must be compiled with the plugin too, or not write to regions
//   unannounced    a write that the plugin cannot announce; with -hf-strict an error
//
// hf-report joins the files of a program's modules and drops external calls of functions that
// another of them defines.
#pragma once

#include "options.hpp"

#include <llvm/IR/Instruction.h>
#include <llvm/IR/Module.h>

#include <array>
#include <string>
#include <vector>

namespace hf::pass {

enum class outcome { instrumented, elided, redirected, external, unannounced };

class report {
   public:
    explicit report(const options& o) : options_(o) {}

    /// Enters what happened to the write `at`, whose kind is `what`.
    void add(const llvm::Instruction& at, llvm::StringRef what, outcome result,
             llvm::StringRef detail);
    /// The same for a function whose address is taken at no instruction.
    void add(const llvm::Function& function, outcome result, llvm::StringRef detail);

    /// Writes the file that -hf-report names, and diagnoses unannounced writes with -hf-strict.
    void finish(const llvm::Module& module) const;

   private:
    struct entry {
        outcome result;
        std::string what;
        std::string detail;
        std::string function;
        std::string file;
        unsigned line;
    };

    [[nodiscard]] std::array<unsigned, 5> count() const;
    void write_json(llvm::raw_ostream& out, const llvm::Module& module) const;
    void write_text(llvm::raw_ostream& out, const llvm::Module& module) const;

    const options& options_;
    std::vector<entry> entries_;
};

}  // namespace hf::pass
