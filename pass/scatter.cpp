#include "scatter.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <optional>

namespace hf::pass {
namespace {

void split_scatter(llvm::IntrinsicInst& scatter) {
    llvm::Value* values = scatter.getArgOperand(0);
    llvm::Value* pointers = scatter.getArgOperand(1);
    const llvm::Align align =
        llvm::cast<llvm::ConstantInt>(scatter.getArgOperand(2))->getMaybeAlignValue().valueOrOne();
    llvm::Value* mask = scatter.getArgOperand(3);
    const auto* type = llvm::cast<llvm::FixedVectorType>(values->getType());
    for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
        llvm::IRBuilder<> build(&scatter);
        llvm::Value* bit = build.CreateExtractElement(mask, lane);
        const auto* known = llvm::dyn_cast<llvm::ConstantInt>(bit);
        if (known && known->isZero()) continue;
        llvm::Value* value = build.CreateExtractElement(values, lane);
        llvm::Value* pointer = build.CreateExtractElement(pointers, lane);
        if (!known) {
            build.SetInsertPoint(
                llvm::SplitBlockAndInsertIfThen(bit, scatter.getIterator(), false));
            build.SetCurrentDebugLocation(scatter.getDebugLoc());
        }
        build.CreateAlignedStore(value, pointer, align);
    }
    scatter.eraseFromParent();
}

/// Of an x86 masked store: which arguments are the pointer, the mask and the value.
struct masked_arguments {
    unsigned pointer;
    unsigned mask;
    unsigned value;
};

std::optional<masked_arguments> find_masked_store(const llvm::IntrinsicInst& call) {
    switch (call.getIntrinsicID()) {
        case llvm::Intrinsic::x86_avx_maskstore_ps:
        case llvm::Intrinsic::x86_avx_maskstore_pd:
        case llvm::Intrinsic::x86_avx_maskstore_ps_256:
        case llvm::Intrinsic::x86_avx_maskstore_pd_256:
        case llvm::Intrinsic::x86_avx2_maskstore_d:
        case llvm::Intrinsic::x86_avx2_maskstore_q:
        case llvm::Intrinsic::x86_avx2_maskstore_d_256:
        case llvm::Intrinsic::x86_avx2_maskstore_q_256:
            return masked_arguments{0, 1, 2};
        case llvm::Intrinsic::x86_sse2_maskmov_dqu:
            return masked_arguments{2, 1, 0};
        default:
            return std::nullopt;
    }
}

/// x86 stores the elements whose mask is negative: a general masked store says the same.
void generalise(llvm::IntrinsicInst& call, const masked_arguments& arguments) {
    llvm::IRBuilder<> build(&call);
    llvm::Value* mask = call.getArgOperand(arguments.mask);
    llvm::Value* bits = build.CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType()));
    build.CreateMaskedStore(call.getArgOperand(arguments.value),
                            call.getArgOperand(arguments.pointer), llvm::Align(1), bits);
    call.eraseFromParent();
}

}  // namespace

bool generalise_masked_stores(llvm::Function& function) {
    bool changed = false;
    for (llvm::Instruction& at : llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at);
        const auto arguments = call ? find_masked_store(*call) : std::nullopt;
        if (!arguments) continue;
        generalise(*call, *arguments);
        changed = true;
    }
    return changed;
}

bool split_scatters(llvm::Function& function, const provenance& origins) {
    llvm::SmallVector<llvm::IntrinsicInst*, 4> found;
    for (llvm::Instruction& at : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at);
        if (!call || call->getIntrinsicID() != llvm::Intrinsic::masked_scatter) continue;
        const bool is_fixed = llvm::isa<llvm::FixedVectorType>(call->getArgOperand(0)->getType());
        if (is_fixed && origins.transient_kind(call->getArgOperand(1)).empty()) {
            found.push_back(call);
        }
    }
    for (llvm::IntrinsicInst* call : found) split_scatter(*call);
    return !found.empty();
}

}  // namespace hf::pass
