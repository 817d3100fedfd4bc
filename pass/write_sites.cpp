#include "write_sites.hpp"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <optional>

namespace hf::pass {
namespace {

using llvm::dyn_cast;
using llvm::isa;
namespace intrinsic = llvm::Intrinsic;

class finder {
   public:
    finder(llvm::Function& f, const provenance& origins, report& log)
        : layout_(f.getDataLayout()), origins_(origins), log_(log) {}

    void visit(llvm::Instruction& at) {
        if (auto* store = dyn_cast<llvm::StoreInst>(&at)) {
            fixed(at, name_of(*store), store->getPointerOperand(),
                  store->getValueOperand()->getType());
        } else if (auto* modify = dyn_cast<llvm::AtomicRMWInst>(&at)) {
            fixed(at, "atomic", modify->getPointerOperand(), modify->getValOperand()->getType());
        } else if (auto* exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&at)) {
            fixed(at, "atomic", exchange->getPointerOperand(),
                  exchange->getNewValOperand()->getType());
        } else if (auto* memory = dyn_cast<llvm::AnyMemIntrinsic>(&at)) {
            const llvm::StringRef kind = isa<llvm::AnyMemSetInst>(memory)    ? "memset"
                                         : isa<llvm::AnyMemMoveInst>(memory) ? "memmove"
                                                                             : "memcpy";
            block(at, kind, memory->getRawDest(), memory->getLength());
        } else if (auto* call = dyn_cast<llvm::IntrinsicInst>(&at)) {
            visit_intrinsic(*call);
        } else if (auto* other = dyn_cast<llvm::CallBase>(&at); other && other->isInlineAsm()) {
            visit_assembly(*other);
        }
    }

    llvm::SmallVector<write_site, 0> take() { return std::move(sites_); }

   private:
    static llvm::StringRef name_of(const llvm::StoreInst& store) {
        if (store.isAtomic()) return "atomic";
        return store.getValueOperand()->getType()->isVectorTy() ? "vector" : "store";
    }

    /// True if the write cannot reach a region, which is then logged.
    bool is_elided(llvm::Instruction& at, llvm::StringRef kind, llvm::Value* pointer,
                   std::optional<std::uint64_t> bytes = std::nullopt) {
        const llvm::StringRef why = origins_.transient_kind(pointer, bytes);
        if (why.empty()) return false;
        log_.add(at, kind, outcome::elided, why);
        return true;
    }

    void fixed(llvm::Instruction& at, llvm::StringRef kind, llvm::Value* pointer,
               llvm::Type* type) {
        const llvm::TypeSize size = layout_.getTypeStoreSize(type);
        const auto bytes =
            size.isScalable() ? std::nullopt : std::optional<std::uint64_t>(size.getFixedValue());
        if (is_elided(at, kind, pointer, bytes)) return;
        if (!bytes) return unknown(at, "a vector of unknown length");
        write_site site{&at, kind, pointer};
        site.bytes = *bytes;
        if (site.bytes != 0) sites_.push_back(site);
    }

    void block(llvm::Instruction& at, llvm::StringRef kind, llvm::Value* pointer,
               llvm::Value* length) {
        const auto* constant = dyn_cast<llvm::ConstantInt>(length);
        const auto bytes =
            constant ? std::optional<std::uint64_t>(constant->getZExtValue()) : std::nullopt;
        if (is_elided(at, kind, pointer, bytes)) return;
        write_site site{&at, kind, pointer};
        if (constant) {
            site.bytes = constant->getZExtValue();
            if (site.bytes == 0) return;
        } else {
            site.reach = extent::variable;
            site.length = length;
        }
        sites_.push_back(site);
    }

    void elements(llvm::IntrinsicInst& at, llvm::Value* value, llvm::Value* pointer,
                  llvm::Value* mask, extent reach) {
        if (is_elided(at, "masked", pointer)) return;
        auto* type = dyn_cast<llvm::FixedVectorType>(value->getType());
        const std::uint64_t bits =
            type ? layout_.getTypeSizeInBits(type->getElementType()).getFixedValue() : 0;
        if (bits == 0 || bits % 8 != 0) return unknown(at, "a masked store of bits");
        write_site site{&at, "masked", pointer, reach};
        site.bytes = bits / 8;
        site.mask = mask;
        sites_.push_back(site);
    }

    void visit_intrinsic(llvm::IntrinsicInst& at) {
        switch (at.getIntrinsicID()) {
            case intrinsic::masked_store:
                return elements(at, at.getArgOperand(0), at.getArgOperand(1), at.getArgOperand(3),
                                extent::masked);
            case intrinsic::masked_compressstore:
                return elements(at, at.getArgOperand(0), at.getArgOperand(1), at.getArgOperand(2),
                                extent::packed);
            case intrinsic::masked_scatter:  // split into stores unless it is transient
                if (!is_elided(at, "scatter", at.getArgOperand(1))) unknown(at, "a scatter");
                return;
            case intrinsic::vastart:
            case intrinsic::vacopy:
                return fixed(at, "va_list", at.getArgOperand(0), va_list_type(at));
            case intrinsic::vaend:
            case intrinsic::stacksave:
            case intrinsic::stackrestore:
            case intrinsic::lifetime_start:
            case intrinsic::lifetime_end:
            case intrinsic::invariant_start:
            case intrinsic::invariant_end:
            case intrinsic::prefetch:
                return;
            default:
                visit_unknown(at);
        }
    }

    static llvm::Type* va_list_type(const llvm::Instruction& at) {
        return llvm::ArrayType::get(llvm::Type::getInt64Ty(at.getContext()), 3);
    }

    /// Any other intrinsic: harmless unless it may write through one of its pointers.
    void visit_unknown(llvm::CallBase& call) {
        if (call.onlyReadsMemory() || call.onlyAccessesInaccessibleMemory()) return;
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            llvm::Value* argument = call.getArgOperand(i);
            if (!argument->getType()->isPtrOrPtrVectorTy() || call.onlyReadsMemory(i)) continue;
            if (!is_elided(call, "intrinsic", argument)) return unknown(call, "an intrinsic");
        }
    }

    /// Assembly says what it writes by memory outputs ("=m"). One that writes through a pointer in
    /// a register, and says so by the clobber "memory" alone, cannot be announced.
    void visit_assembly(llvm::CallBase& call) {
        const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
        llvm::SmallVector<std::pair<llvm::Value*, llvm::Type*>, 2> outputs;
        bool clobbers = false;
        bool has_pointer = false;
        unsigned argument = 0;
        for (const auto& constraint : assembly->ParseConstraints()) {
            if (constraint.Type == llvm::InlineAsm::isClobber) {
                clobbers |= !constraint.Codes.empty() && constraint.Codes[0] == "{memory}";
                continue;
            }
            if (!constraint.hasArg()) continue;
            llvm::Value* operand = call.getArgOperand(argument);
            if (constraint.Type == llvm::InlineAsm::isOutput) {
                outputs.emplace_back(operand, call.getParamElementType(argument));
            } else if (!constraint.isIndirect && operand->getType()->isPointerTy()) {
                has_pointer |= origins_.transient_kind(operand).empty();
            }
            ++argument;
        }
        if (clobbers && has_pointer) return unknown(call, "assembly that clobbers memory");
        llvm::erase_if(outputs, [&](const auto& output) {
            return !output.second || is_elided(call, "assembly", output.first);
        });
        if (outputs.size() > 1) return unknown(call, "assembly with several memory outputs");
        if (outputs.size() == 1) fixed(call, "assembly", outputs[0].first, outputs[0].second);
    }

    void unknown(llvm::Instruction& at, llvm::StringRef what) {
        log_.add(at, what, outcome::unannounced, "the plugin cannot tell which bytes it writes");
    }

    const llvm::DataLayout& layout_;
    const provenance& origins_;
    report& log_;
    llvm::SmallVector<write_site, 0> sites_;
};

}  // namespace

bool write_site::is_plain() const {
    const auto* store = dyn_cast<llvm::StoreInst>(at);
    return store && store->isSimple();
}

llvm::SmallVector<write_site, 0> find_write_sites(llvm::Function& function,
                                                  const provenance& origins, report& log) {
    finder f(function, origins, log);
    for (llvm::Instruction& at : llvm::instructions(function)) f.visit(at);
    return f.take();
}

}  // namespace hf::pass
