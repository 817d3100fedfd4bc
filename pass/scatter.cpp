#include "scatter.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <numeric>
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

unsigned lanes_of(const llvm::Value* vector) {
    return llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
}

/// AVX-512's scatters: a base, a mask of bits, offsets, values, and the offsets' scale.
bool is_x86_scatter(const llvm::IntrinsicInst& call) {
    return call.getCalledFunction()->getName().starts_with("llvm.x86.avx512.mask.scatter") &&
           call.getArgOperand(1)->getType()->isVectorTy();
}

/// The first lanes of offsets or values count, as many as all three vectors have.
void generalise_scatter(llvm::IntrinsicInst& call) {
    llvm::IRBuilder<> build(&call);
    llvm::Value* const mask = call.getArgOperand(1);
    llvm::Value* const offsets = call.getArgOperand(2);
    llvm::Value* const values = call.getArgOperand(3);
    const unsigned count = std::min({lanes_of(mask), lanes_of(offsets), lanes_of(values)});
    llvm::SmallVector<int, 16> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto first_lanes = [&](llvm::Value* vector) {
        return lanes_of(vector) == count ? vector : build.CreateShuffleVector(vector, numbers);
    };
    llvm::Type* const wide = llvm::FixedVectorType::get(build.getInt64Ty(), count);
    llvm::Value* const scale =
        build.CreateVectorSplat(count, build.CreateZExt(call.getArgOperand(4), build.getInt64Ty()));
    llvm::Value* const bytes = build.CreateMul(build.CreateSExt(first_lanes(offsets), wide), scale);
    llvm::Value* const pointers = build.CreateGEP(build.getInt8Ty(), call.getArgOperand(0), bytes);
    build.CreateMaskedScatter(first_lanes(values), pointers, llvm::Align(1), first_lanes(mask));
    call.eraseFromParent();
}

}  // namespace

bool generalise_masked_stores(llvm::Function& function) {
    bool changed = false;
    for (llvm::Instruction& at : llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at);
        if (call && is_x86_scatter(*call)) {
            generalise_scatter(*call);
            changed = true;
            continue;
        }
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
