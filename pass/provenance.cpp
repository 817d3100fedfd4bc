#include "provenance.hpp"

#include <holdfast/section_hooks.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalValue.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

namespace hf::pass {
namespace {

bool is_one_of(llvm::StringRef name, std::initializer_list<llvm::StringRef> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_heap_allocator(llvm::StringRef name) {
    return is_one_of(
        name, {"malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "valloc",
               "pvalloc", "strdup", "strndup", "__strdup", "wcsdup"});
}

bool is_owner_of_its_result(llvm::StringRef name) {
    return is_one_of(name, {"__errno_location",
                            "__h_errno_location",
                            "__ctype_b_loc",
                            "__ctype_tolower_loc",
                            "__ctype_toupper_loc",
                            "__cxa_allocate_exception",
                            "__cxa_begin_catch",
                            "localtime",
                            "gmtime",
                            "localeconv",
                            "fopen",
                            "fdopen",
                            "fopen64",
                            "opendir",
                            "readdir",
                            "getenv",
                            "strerror",
                            "getpwnam",
                            "getpwuid",
                            "gethostbyname",
                            "getservbyname"});
}

/// Whether the call gives the address of a member declared HF_TRANSIENT. Clang emits it where the
/// member is used; its second argument is the annotation's text.
bool is_transient_member(const llvm::CallBase& call) {
    if (call.getIntrinsicID() != llvm::Intrinsic::ptr_annotation) return false;
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(1));
    if (!text || !text->hasInitializer()) return false;
    const auto* bytes = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
    return bytes && bytes->isCString() && bytes->getAsCString() == HF_TRANSIENT_ANNOTATION;
}

}  // namespace

llvm::StringRef provenance::kind_of_result(const llvm::Value* call) const {
    const auto* site = llvm::dyn_cast<llvm::CallBase>(call);
    const llvm::Function* callee = site ? site->getCalledFunction() : nullptr;
    if (!callee) return "";
    if (callee->getIntrinsicID() == llvm::Intrinsic::threadlocal_address) return "global";
    if (is_transient_member(*site)) return options_.elide_members ? "member" : "";
    const llvm::StringRef name = callee->getName();
    if (options_.transient_results.contains(name)) return "library";
    if (!callee->isDeclaration()) return "";  // a function of the program that bears such a name
    if (is_heap_allocator(name)) return options_.elide_malloc ? "heap" : "";
    return is_owner_of_its_result(name) ? "library" : "";
}

llvm::StringRef provenance::kind_of_object(const llvm::Value* object) const {
    if (llvm::isa<llvm::AllocaInst>(object)) return "stack";
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
        return argument->hasByValAttr() ? "stack" : "";
    }
    if (llvm::isa<llvm::GlobalValue>(object)) return options_.elide_globals ? "global" : "";
    return kind_of_result(object);
}

llvm::StringRef provenance::transient_kind(const llvm::Value* pointer) const {
    // A vector of pointers: one scalar pointer and a vector of indices.
    while (pointer->getType()->isVectorTy()) {
        const auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer);
        if (!element) return "";
        pointer = element->getPointerOperand();
    }
    llvm::SmallVector<const llvm::Value*, 8> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 32);
    llvm::StringRef all;
    for (const llvm::Value* object : objects) {
        const llvm::StringRef kind = kind_of_object(object);
        if (kind.empty()) return "";
        all = all.empty() || all == kind ? kind : "mixed";
    }
    return all;
}

}  // namespace hf::pass
