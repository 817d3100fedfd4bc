// section/change.hpp: how the runtime itself stores to a region.
//
// The table of regions and the heap's metadata are ordinary data of sections: they go back with the
// cut. A `change` announces each store of the runtime as the hooks do for those of the program.
#pragma once

#include "section/first_touch.hpp"

#include <cstring>
#include <type_traits>

namespace hf::section {

class change {
   public:
    /// The thread is inside. undo == nullptr: memory is private, and nothing is announced.
    change(thread_record& by, first_touch* undo, u64 epoch) noexcept
        : by_(by), undo_(undo), epoch_(epoch) {}

    void announce(const void* p, std::size_t n) noexcept(!crashes_throw) {
        if (undo_ != nullptr && n != 0) undo_->touch(by_, p, n, epoch_);
    }
    /// [p, p + n) was free at the last cut and has just been taken: its stores need no undo.
    void own_fresh(const void* p, std::size_t n) noexcept {
        if (undo_ != nullptr) undo_->own_fresh(by_, p, n);
    }
    [[nodiscard]] u64 epoch() const noexcept { return epoch_; }
    template <class T>
    void store(T& field, std::type_identity_t<T> value) noexcept(!crashes_throw) {
        static_assert(std::is_trivially_copyable_v<T>);
        announce(static_cast<const void*>(&field), sizeof field);
        field = value;
    }
    void zero(void* p, std::size_t n) noexcept(!crashes_throw) {
        announce(p, n);
        std::memset(p, 0, n);
    }
    void copy(void* to, const void* from, std::size_t n) noexcept(!crashes_throw) {
        announce(to, n);
        std::memcpy(to, from, n);
    }

   private:
    thread_record& by_;
    first_touch* undo_;
    u64 epoch_;
};

}  // namespace hf::section
