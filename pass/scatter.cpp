#include "scatter.hpp"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

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

}  // namespace

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
