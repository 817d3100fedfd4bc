// tests/programs/made_up/counter.hpp: a discipline that lives outside of src, to show that one row
// in each table and a folder are all that a further discipline needs.
//
// Purpose. A region of this discipline holds one counter, and add_one() is durable when it returns.
// The counter has two slots, each in a line of its own. The value n goes to slot n mod 2, with a
// checksum, so that the slot of n - 1 stays as it was.
//
// Persist order.
//  M1  the slot of n is durable before add_one() returns.
//  M2  the slots that recovery read are durable before add_one() writes. A killed process may have
//      left the value n in the caches alone. Without M2 the next add_one() would overwrite the slot
//      of n - 1, and a power failure could then leave neither n - 1 nor n.
//
// Recovery. The greater value whose checksum fits. A slot that was being written when the machine
// stopped has a wrong checksum, or the new value, or the old one: each is a state before or after
// an add_one() that had not returned.
#pragma once

#include <holdfast/options.hpp>

#include "discipline/registry.hpp"
#include "epoch/epoch_manager.hpp"
#include "recovery/opening.hpp"

#include <filesystem>
#include <memory>

namespace made_up {

using hf::u64;

/// A number for programs, not one of Holdfast's.
inline constexpr hf::discipline number{200};

/// Makes the row known. Call it once, before any region is opened.
void register_discipline();

class counter {
   public:
    /// On dax, eadr and shm. errc::corrupt: neither slot has a valid checksum.
    [[nodiscard]] static hf::result<std::unique_ptr<counter>> open(
        const std::filesystem::path& path, hf::region_options options = {});

    [[nodiscard]] u64 value() const noexcept { return value_; }
    void add_one();
    [[nodiscard]] hf::result<void> close();

   private:
    struct alignas(64) slot {
        u64 value;
        u64 check;
    };
    [[nodiscard]] hf::result<void> recover();
    [[nodiscard]] slot& slot_of(u64 value) const noexcept;
    [[nodiscard]] static u64 check_of(u64 value) noexcept;

    std::unique_ptr<hf::region> file_;
    std::unique_ptr<hf::epoch_manager> epochs_;
    u64 value_ = 0;
};

}  // namespace made_up
