#include "announce.hpp"

#include <holdfast/section_hooks.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace hf::pass {
namespace {

using llvm::Value;

/// Puts a copy of the run before `hooked` and moves the run itself before `plain`.
void duplicate(const run& r, llvm::Instruction* hooked, llvm::Instruction* plain) {
    for (const write_site& member : r.members) {
        llvm::Instruction* original = member.at;
        llvm::Instruction* after = original->getNextNode();
        llvm::Instruction* copy = original->clone();
        copy->insertBefore(hooked);
        original->moveBefore(plain);
        if (original->use_empty()) continue;
        // Only a run of one member has a result: it is an atomic or a call.
        llvm::IRBuilder<> build(after);
        llvm::PHINode* result = build.CreatePHI(original->getType(), 2);
        original->replaceAllUsesWith(result);
        result->addIncoming(copy, hooked->getParent());
        result->addIncoming(original, plain->getParent());
    }
}

}  // namespace

announcer::announcer(llvm::Module& module, const options& o)
    : module_(module), rarely_(llvm::MDBuilder(module.getContext()).createUnlikelyBranchWeights()) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* word = llvm::Type::getInt64Ty(context);
    llvm::Type* pointer = llvm::PointerType::get(context, 0);
    llvm::AttributeList attributes;
    attributes = attributes.addFnAttribute(context, llvm::Attribute::NoUnwind);
    store_ = module.getOrInsertFunction("hf_section_store", attributes,
                                        llvm::Type::getInt32Ty(context), pointer, word);
    stored_ =
        module.getOrInsertFunction("hf_section_stored", attributes, llvm::Type::getVoidTy(context));
    if (o.dynamic_arena)
        dynamic_number_ = module.getOrInsertGlobal("hf_section_arena_number", word);
}

Value* announcer::is_in_arena(Value* start, llvm::IRBuilderBase& build) {
    llvm::Type* word = build.getInt64Ty();
    Value* number = build.CreateLShr(build.CreatePtrToInt(start, word), HF_SECTION_ARENA_SHIFT);
    Value* arena = dynamic_number_ ? build.CreateLoad(word, dynamic_number_)
                                   : static_cast<Value*>(build.getInt64(HF_SECTION_ARENA_NUMBER));
    return build.CreateICmpEQ(number, arena);
}

/// Masked: from the first to the last set lane. Packed: as many elements as there are set lanes.
announcer::range announcer::range_of_mask(const write_site& site,
                                          llvm::IRBuilderBase& build) const {
    const auto* type = llvm::cast<llvm::FixedVectorType>(site.mask->getType());
    const unsigned lanes = type->getNumElements();
    llvm::IntegerType* bits_type = build.getIntNTy(lanes);
    llvm::Type* word = build.getInt64Ty();
    Value* bits = build.CreateBitCast(site.mask, bits_type);
    const auto number = [&](Value* v) { return build.CreateZExtOrTrunc(v, word); };
    const auto in_bytes = [&](Value* v) { return build.CreateMul(v, build.getInt64(site.bytes)); };
    // In a word that holds the number of lanes.
    Value* wide = build.CreateZExt(bits, build.getIntNTy(std::max(lanes, 64U)));
    Value* is_empty = build.CreateICmpEQ(bits, llvm::ConstantInt::get(bits_type, 0));
    if (site.reach == extent::packed) {
        Value* set = build.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, wide);
        return {site.pointer, in_bytes(number(set)), is_empty};
    }
    const auto zeros = [&](llvm::Intrinsic::ID which) {
        return number(build.CreateBinaryIntrinsic(which, wide, build.getFalse()));
    };
    Value* first = zeros(llvm::Intrinsic::cttz);
    Value* end =
        build.CreateSub(build.getInt64(std::max(lanes, 64U)), zeros(llvm::Intrinsic::ctlz));
    Value* start = build.CreatePtrAdd(site.pointer, in_bytes(first));
    return {start, in_bytes(build.CreateSub(end, first)), is_empty};
}

announcer::range announcer::range_of(const run& r) {
    const write_site& first = r.members.front();
    llvm::IRBuilder<> build(first.at);  // with its source line, which the hook then names
    switch (first.reach) {
        case extent::masked:
        case extent::packed:
            return range_of_mask(first, build);
        case extent::variable: {
            Value* size = build.CreateZExtOrTrunc(first.length, build.getInt64Ty());
            return {first.pointer, size, build.CreateICmpEQ(size, build.getInt64(0))};
        }
        case extent::fixed:
            break;
    }
    if (r.members.size() == 1) return {first.pointer, build.getInt64(first.bytes), nullptr};
    Value* start = r.begin == 0 ? r.base : build.CreatePtrAdd(r.base, build.getInt64(r.begin));
    return {start, build.getInt64(static_cast<std::uint64_t>(r.end - r.begin)), nullptr};
}

void announcer::announce(const run& r) {
    llvm::Instruction& first = *r.members.front().at;
    for (llvm::Instruction* i : r.moved) i->moveBefore(&first);
    const range bytes = range_of(r);
    llvm::IRBuilder<> build(&first);
    Value* is_persistent = is_in_arena(bytes.start, build);
    if (bytes.is_empty) {
        is_persistent = build.CreateAnd(is_persistent, build.CreateNot(bytes.is_empty));
    }

    llvm::Instruction* hooked = nullptr;
    llvm::Instruction* plain = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(is_persistent, first.getIterator(), &hooked, &plain,
                                        rarely_);
    const llvm::DebugLoc location = first.getDebugLoc();
    llvm::IRBuilder<> inside(hooked);
    inside.SetCurrentDebugLocation(location);
    Value* alone = inside.CreateCall(store_, {bytes.start, bytes.size});
    duplicate(r, hooked, plain);

    inside.SetInsertPoint(hooked);
    Value* must_end = inside.CreateICmpNE(alone, inside.getInt32(0));
    llvm::Instruction* ends =
        llvm::SplitBlockAndInsertIfThen(must_end, hooked->getIterator(), false);
    llvm::IRBuilder<> last(ends);
    last.SetCurrentDebugLocation(location);
    last.CreateCall(stored_);
}

}  // namespace hf::pass
