// masstree/inspection.hpp: opens a region for inspection, even if it is damaged.
//
// Purpose. Opens the file with open_mode::inspect and runs the recovery of a normal opening on a
// private copy-on-write mapping: nothing on the medium changes, not even after a crash. If recovery
// would refuse the region, the reason is kept and the readable part remains accessible: heap_audit
// and masstree_audit read through the logs and trust nothing.
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
    /// Name and type of the tree's root in the region's root directory.
    struct root_name {
        const char* name;
        u64 type;
    };

    /// Never fails; an error is reported by refusal().
    [[nodiscard]] static inspection open(const std::filesystem::path& path, const root_name& tree);

    /// Why opening the region for use would fail; nullopt: it would succeed.
    [[nodiscard]] const std::optional<error>& refusal() const noexcept { return refusal_; }
    /// Whether the file could be mapped, so that file() and checkpoint() may be called.
    [[nodiscard]] bool is_open() const noexcept { return seen_.is_open(); }
    [[nodiscard]] region& file() const noexcept { return seen_.file(); }
    [[nodiscard]] checkpoint_state& checkpoint() const noexcept { return seen_.checkpoint(); }
    /// Whether the region has never been used since it was created.
    [[nodiscard]] bool is_fresh() const noexcept { return fresh_; }
    /// Offset of the tree's root; 0: there is no tree.
    [[nodiscard]] u64 root() const noexcept { return root_; }
    /// Format version of the tree's nodes and records (formats.hpp).
    [[nodiscard]] u32 root_format() const noexcept { return root_format_; }

    /// Audits heap and tree. Requires is_open().
    [[nodiscard]] audit_report audit(const audit_progress& progress = {},
                                     const record_visitor& visit = {}) const;

   private:
    void refuse(error why);
    void refuse_contents();
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
