#include "library_calls.hpp"

#include "library_names.hpp"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/Casting.h>

namespace hf::pass {
namespace {

llvm::StringRef plain_name(const llvm::Function& f) {
    llvm::StringRef name = f.getName();
    (void)name.consume_front("\1");  // an assembler name, as glibc declares some
    return name;
}

class redirector {
   public:
    redirector(llvm::Module& module, const provenance& origins, report& log)
        : module_(module), origins_(origins), log_(log) {}

    void visit(llvm::Function& f) {
        const llvm::StringRef name = plain_name(f);
        if (f.isIntrinsic() || name.starts_with("hf_section_") || name.starts_with("hf_lib_"))
            return;
        if (const auto wrapped = find_wrapped(name)) {
            redirect(f, *wrapped);
        } else if (!is_harmless(name) && !f.onlyReadsMemory() &&
                   !f.onlyAccessesInaccessibleMemory()) {
            report_calls(f);
        }
    }

    [[nodiscard]] bool has_changed() const { return has_changed_; }

   private:
    /// The kind of memory that a call writes to, if it is transient; else empty.
    llvm::StringRef transient_target(const llvm::CallBase& call,
                                     const wrapped_function& how) const {
        if (how.writes_beyond) return "";
        llvm::StringRef all = "none";
        const unsigned rest = how.writes_rest ? llvm::Log2_32(how.written) : ~0U;
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            const bool is_written = i >= rest || (i < 32 && (how.written >> i & 1) != 0);
            const llvm::Value* argument = call.getArgOperand(i);
            if (!is_written || !argument->getType()->isPointerTy()) continue;
            if (llvm::isa<llvm::ConstantPointerNull>(argument)) continue;
            const llvm::StringRef kind = origins_.transient_kind(argument);
            if (kind.empty()) return "";
            all = all == "none" || all == kind ? kind : "mixed";
        }
        return all;
    }

    void redirect(llvm::Function& f, wrapped_function how) {
        llvm::Function* wrapper = nullptr;
        for (llvm::Use& use : llvm::make_early_inc_range(f.uses())) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
            const bool is_called = call && call->isCallee(&use);
            if (is_called) {
                const llvm::StringRef kind = transient_target(*call, how);
                log_.add(*call, plain_name(f), kind.empty() ? outcome::redirected : outcome::elided,
                         kind);
                if (!kind.empty()) continue;
            } else {
                log_.add(f, outcome::redirected, "its address is taken");
            }
            if (!wrapper) wrapper = wrapper_of(f);
            replace(use, f, *wrapper);
            if (is_called) forget_attributes(*call);
        }
    }

    /// `malloc`-like knowledge that clang attached to the call is about the original.
    static void forget_attributes(llvm::CallBase& call) {
        call.removeFnAttr(llvm::Attribute::Builtin);
        call.removeFnAttr(llvm::Attribute::Memory);
    }

    void replace(llvm::Use& use, llvm::Function& f, llvm::Function& wrapper) {
        has_changed_ = true;
        if (auto* constant = llvm::dyn_cast<llvm::Constant>(use.getUser());
            constant && !llvm::isa<llvm::GlobalValue>(constant)) {
            constant->handleOperandChange(&f, &wrapper);  // an initialiser, which is uniqued
        } else {
            use.set(&wrapper);
        }
    }

    llvm::Function* wrapper_of(const llvm::Function& f) {
        auto callee =
            module_.getOrInsertFunction(("hf_lib_" + plain_name(f)).str(), f.getFunctionType());
        return llvm::cast<llvm::Function>(callee.getCallee());
    }

    void report_calls(llvm::Function& f) {
        for (const llvm::Use& use : f.uses()) {
            const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
            if (!call || !call->isCallee(&use) || call->onlyReadsMemory()) continue;
            if (gets_persistent_pointer(*call)) log_.add(*call, f.getName(), outcome::external, "");
        }
    }

    [[nodiscard]] bool gets_persistent_pointer(const llvm::CallBase& call) const {
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            const llvm::Value* argument = call.getArgOperand(i);
            if (!argument->getType()->isPtrOrPtrVectorTy() || call.onlyReadsMemory(i)) continue;
            if (llvm::isa<llvm::ConstantPointerNull>(argument)) continue;
            if (origins_.transient_kind(argument).empty()) return true;
        }
        return false;
    }

    llvm::Module& module_;
    const provenance& origins_;
    report& log_;
    bool has_changed_ = false;
};

}  // namespace

bool redirect_library_calls(llvm::Module& module, const provenance& origins, report& log) {
    llvm::SmallVector<llvm::Function*, 64> declared;
    for (llvm::Function& f : module) {
        if (f.isDeclaration()) declared.push_back(&f);
    }
    redirector r(module, origins, log);
    for (llvm::Function* f : declared) r.visit(*f);
    return r.has_changed();
}

}  // namespace hf::pass
