#include "provenance.hpp"

#include <holdfast/section_hooks.h>

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalValue.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
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

/// The annotation's last argument. Clang emits null; note_member_sizes() puts the member's size
/// there, which no optimisation changes.
constexpr unsigned size_argument = 4;

std::optional<std::uint64_t> noted_size(const llvm::CallBase& annotation) {
    const auto* note = llvm::dyn_cast<llvm::ConstantExpr>(annotation.getArgOperand(size_argument));
    if (!note || note->getOpcode() != llvm::Instruction::IntToPtr) return std::nullopt;
    return llvm::cast<llvm::ConstantInt>(note->getOperand(0))->getZExtValue();
}

/// nullopt: not known.
std::optional<std::uint64_t> size_of_member(const llvm::CallBase& annotation) {
    const auto* field = llvm::dyn_cast<llvm::GEPOperator>(annotation.getArgOperand(0));
    if (!field || field->getNumIndices() != 2) return std::nullopt;
    if (!llvm::isa<llvm::StructType>(field->getSourceElementType())) return std::nullopt;
    llvm::Type* type = field->getResultElementType();
    // A member of a union has the union's address, and its other members may be larger.
    const auto* structure = llvm::dyn_cast<llvm::StructType>(type);
    if (structure && (structure->isLiteral() || structure->getName().starts_with("union."))) {
        return std::nullopt;
    }
    const llvm::TypeSize size = annotation.getDataLayout().getTypeStoreSize(type);
    if (size.isScalable()) return std::nullopt;
    return size.getFixedValue();
}

/// Whether [pointer, pointer + bytes) lies in that member, by constant offsets alone.
bool lies_in_member(const llvm::Value* pointer, std::uint64_t bytes,
                    const llvm::CallBase& annotation) {
    const llvm::DataLayout& layout = annotation.getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    if (pointer->stripAndAccumulateConstantOffsets(layout, offset, true) != &annotation) {
        return false;
    }
    const std::uint64_t size = noted_size(annotation).value_or(0);
    return !offset.isNegative() && offset.ule(size) && bytes <= size - offset.getZExtValue();
}

}  // namespace

void note_member_sizes(llvm::Module& module) {
    for (llvm::Function& f : module) {
        for (llvm::Instruction& at : llvm::instructions(f)) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
            if (!call || !is_transient_member(*call)) continue;
            const auto size = size_of_member(*call);
            if (!size) continue;
            auto* number =
                llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), *size);
            call->setArgOperand(size_argument,
                                llvm::ConstantExpr::getIntToPtr(
                                    number, call->getArgOperand(size_argument)->getType()));
        }
    }
}

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

llvm::StringRef provenance::transient_kind(const llvm::Value* pointer,
                                           std::optional<std::uint64_t> bytes) const {
    // A vector of pointers: one scalar pointer and a vector of indices.
    while (pointer->getType()->isVectorTy()) {
        const auto* element = llvm::dyn_cast<llvm::GEPOperator>(pointer);
        if (!element) return "";
        pointer = element->getPointerOperand();
        bytes.reset();
    }
    llvm::SmallVector<const llvm::Value*, 8> objects;
    llvm::getUnderlyingObjects(pointer, objects, nullptr, 32);
    llvm::StringRef all;
    for (const llvm::Value* object : objects) {
        const llvm::StringRef kind = kind_of_object(object);
        if (kind.empty()) return "";
        if (kind == "member" &&
            (!bytes || !lies_in_member(pointer, *bytes, *llvm::cast<llvm::CallBase>(object)))) {
            return "";
        }
        all = all.empty() || all == kind ? kind : "mixed";
    }
    return all;
}

}  // namespace hf::pass
