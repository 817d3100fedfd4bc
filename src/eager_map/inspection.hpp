// eager_map/inspection.hpp: an eager region, to be looked at while nobody uses it.
//
// Purpose. Opens the file with open_mode::inspect, whichever index of whichever keys it holds: on a
// private mapping, so nothing on the medium changes. There is no recovery to be done: what a crash
// left half done the indexes' readers see through, and what it left unreached is free.
//
// The audit walks the index without trusting it, and says what has two owners, or none that is
// possible, and whether as many records are found as the last close counted. What nobody owns is
// free by definition (alloc/swept/audit_view.hpp), so a file has no leaks; whether an opening's
// lists have some audit_live() says.
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
    /// Never fails: see refusal().
    [[nodiscard]] static eager_inspection open(const std::filesystem::path& path);

    /// Why an opening for use would fail; nullopt: it would not. Then, and then alone, the rest may
    /// be asked.
    [[nodiscard]] const std::optional<error>& refusal() const noexcept { return refusal_; }
    [[nodiscard]] region& file() const noexcept { return *file_; }
    [[nodiscard]] const std::string& index() const noexcept { return index_; }
    /// "bytes" or "integers".
    [[nodiscard]] const std::string& keys() const noexcept { return keys_; }

    /// When the region was last closed; nullopt: a crash came behind it, or nobody has counted.
    [[nodiscard]] std::optional<u64> counted_records() const;

    /// Everything: heap and index, and whether there are as many records as were counted. What the
    /// index refers to is told to `told`.
    [[nodiscard]] audit_report audit(const heap_audit::claim_visitor& told = {}) const;
    /// The heap alone: pages and runs.
    [[nodiscard]] heap_figures heap() const;

   private:
    std::optional<error> refusal_;
    std::shared_ptr<void> engine_;
    region* file_ = nullptr;
    std::function<void(heap_audit&)> index_audit_;
    std::string index_;
    std::string keys_;
};

/// Of an opening whose sweep has ended, and in which nobody is at work: leaks, too.
[[nodiscard]] audit_report audit_live(eager_space& space,
                                      const std::function<void(heap_audit&)>& index);

}  // namespace hf
