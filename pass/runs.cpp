#include "runs.hpp"

#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace hf::pass {
namespace {

constexpr std::int64_t max_bytes = 256;
constexpr std::int64_t max_gap = 64;
constexpr std::size_t max_members = 16;
constexpr std::size_t max_moved = 16;

struct position {
    llvm::Value* base;
    std::int64_t offset;
};

position position_of(const write_site& site) {
    const llvm::DataLayout& layout = site.at->getDataLayout();
    llvm::APInt offset(layout.getIndexTypeSizeInBits(site.pointer->getType()), 0);
    llvm::Value* base = site.pointer->stripAndAccumulateConstantOffsets(layout, offset, true);
    return {base, offset.getSExtValue()};
}

/// Grows one run from its first member on.
class builder {
   public:
    builder(const write_site& first, llvm::AAResults& aliases) : aliases_(aliases) {
        run_.members.push_back(first);
        if (!first.is_plain()) return;
        const position at = position_of(first);
        run_.base = at.base;
        run_.begin = at.offset;
        run_.end = at.offset + static_cast<std::int64_t>(first.bytes);
    }

    /// Returns true iff `next` has become a member (R1, R2).
    bool add(const write_site& next) {
        if (!run_.base || !next.is_plain() || run_.members.size() == max_members) return false;
        const llvm::Instruction* last = run_.members.back().at;
        if (next.at->getParent() != last->getParent()) return false;
        const position at = position_of(next);
        const std::int64_t end = at.offset + static_cast<std::int64_t>(next.bytes);
        if (at.base != run_.base || !is_near(at.offset, end)) return false;

        llvm::SmallVector<llvm::Instruction*, 8> between;
        for (llvm::Instruction* i = run_.members.back().at->getNextNode(); i != next.at;
             i = i->getNextNode()) {
            if (!can_move(*i)) return false;
            between.push_back(i);
        }
        if (run_.moved.size() + between.size() > max_moved) return false;
        run_.moved.append(between);
        run_.members.push_back(next);
        run_.begin = std::min(run_.begin, at.offset);
        run_.end = std::max(run_.end, end);
        return true;
    }

    run take() { return std::move(run_); }

   private:
    [[nodiscard]] bool is_near(std::int64_t begin, std::int64_t end) const {
        return begin - run_.end <= max_gap && run_.begin - end <= max_gap &&
               std::max(end, run_.end) - std::min(begin, run_.begin) <= max_bytes;
    }

    /// Whether the instruction may move before all members of the run (R2).
    [[nodiscard]] bool can_move(llvm::Instruction& i) const {
        if (i.mayHaveSideEffects() || i.isTerminator()) return false;
        if (!i.mayReadFromMemory()) return true;
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
        if (!load || !load->isSimple()) return false;
        return std::all_of(run_.members.begin(), run_.members.end(), [&](const write_site& m) {
            return aliases_.isNoAlias(llvm::MemoryLocation::get(load),
                                      llvm::MemoryLocation::get(m.at));
        });
    }

    llvm::AAResults& aliases_;
    run run_;
};

}  // namespace

llvm::SmallVector<run, 0> make_runs(llvm::ArrayRef<write_site> sites, llvm::AAResults& aliases,
                                    bool merge) {
    llvm::SmallVector<run, 0> runs;
    for (std::size_t i = 0; i < sites.size();) {
        builder grown(sites[i], aliases);
        std::size_t next = i + 1;
        while (merge && next < sites.size() && grown.add(sites[next])) ++next;
        runs.push_back(grown.take());
        i = next;
    }
    return runs;
}

}  // namespace hf::pass
