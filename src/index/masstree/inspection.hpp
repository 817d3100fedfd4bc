// masstree/inspection.hpp: brings a region up to be looked at, as far as that goes.
//
// Purpose. Opens the file with open_mode::inspect and runs the recovery that an opening for use
// would run, on the private copy-on-write mapping: nothing on the medium changes, not even after a
// crash. Where recovery would refuse the region, the reason is kept, and what can be read is there
// all the same: heap_audit and masstree_audit read through the logs and trust nothing.
#pragma once

#include "checkpoint/opening.hpp"
#include "index/masstree/adapters.hpp"
#include "index/masstree/audit.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf {

class inspection {
   public:
    /// Where the tree's root is to be found in the region's directory of roots.
    struct root_name {
        const char* name;
        u64 type;
    };

    /// Never fails: see refusal().
    [[nodiscard]] static inspection open(const std::filesystem::path& path, const root_name& tree);

    /// Why an opening for use would fail; nullopt: it would not.
    [[nodiscard]] const std::optional<error>& refusal() const noexcept { return refusal_; }
    /// Whether the file could be mapped: file() and checkpoint() are there.
    [[nodiscard]] bool is_open() const noexcept { return seen_.is_open(); }
    [[nodiscard]] region& file() const noexcept { return seen_.file(); }
    [[nodiscard]] checkpoint_state& checkpoint() const noexcept { return seen_.checkpoint(); }
    /// Whether the region has never been used since it was made.
    [[nodiscard]] bool is_fresh() const noexcept { return fresh_; }
    /// Offset of the tree's root; 0: there is no tree.
    [[nodiscard]] u64 root() const noexcept { return root_; }
    /// What it says of its nodes and records (formats.hpp).
    [[nodiscard]] u32 root_format() const noexcept { return root_format_; }

    /// Checks everything. Needs is_open().
    [[nodiscard]] audit_report audit(const audit_progress& progress = {},
                                     const record_visitor& visit = {}) const;

   private:
    void refuse(error why);
    template <class D>
    void recover(const root_name& tree);
    void find_root(const root_name& tree);

    checkpointed_region seen_;
    std::optional<error> refusal_;
    bool fresh_ = false;
    u64 root_ = 0;
    u64 root_at_ = 0;
    u32 root_format_ = 0;
};

}  // namespace hf
