// eager_map/inspection.hpp: inspects an eager region that no process has open.
//
// Purpose. Opens the file with open_mode::inspect, whichever index and key type it holds, on a
// private mapping: nothing on the medium changes. No recovery is needed: the indexes' readers
// tolerate a half-done change, and an unreachable node is free.
//
// The audit walks the index without trusting it. It reports a block with two owners, a reference to
// an impossible address, and a record count that differs from the one of the last close. An unowned
// block is free by definition (alloc/swept/audit_view.hpp), so a file has no leaks; audit_live()
// checks the free lists of an open region for leaks.
#pragma once

#include "alloc/audit.hpp"
#include "eager/space.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace hf {

class eager_inspection {
   public:
    /// Never fails; an error is reported by refusal().
    [[nodiscard]] static eager_inspection open(const std::filesystem::path& path);

    /// Why opening the region for use would fail; nullopt: it would succeed. The other functions
    /// may be called only if this is nullopt.
    [[nodiscard]] const std::optional<error>& refusal() const noexcept { return refusal_; }
    [[nodiscard]] region& file() const noexcept { return *file_; }
    [[nodiscard]] const std::string& index() const noexcept { return index_; }
    /// "bytes" or "integers".
    [[nodiscard]] const std::string& keys() const noexcept { return keys_; }

    /// The record count at the last clean close; nullopt: after a crash, or if the last close
    /// passed no count.
    [[nodiscard]] std::optional<u64> counted_records() const;

    /// Audits heap, index and record count. Passes each block that the index refers to, to `told`.
    [[nodiscard]] audit_report audit(const heap_audit::claim_visitor& told = {}) const;
    /// Audits the heap alone: pages and runs.
    [[nodiscard]] heap_figures heap() const;

   private:
    std::optional<error> refusal_;
    std::shared_ptr<void> engine_;
    region* file_ = nullptr;
    std::function<void(heap_audit&)> index_audit_;
    std::string index_;
    std::string keys_;
};

/// Audits an open region whose sweep has ended and in which no operation runs. Reports leaks, too.
[[nodiscard]] audit_report audit_live(eager_space& space,
                                      const std::function<void(heap_audit&)>& index);

}  // namespace hf
