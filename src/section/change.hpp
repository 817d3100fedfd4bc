// section/change.hpp: how the runtime itself stores to a region.
//
// The table of regions and the heap's metadata are ordinary data of sections: they go back with the
// cut. A `change` announces each store of the runtime as the hooks do for those of the program.
#pragma once

#include "section/audit_switch.hpp"
#include "section/first_touch.hpp"
#include "section/graph_sections.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace hf::section {

class change {
   public:
    /// The thread is inside. No undo and no graph: memory is private, and nothing is announced.
    change(thread_record& by, first_touch* undo, graph_sections* graph, u64 epoch) noexcept
        : by_(by), undo_(undo), graph_(graph), epoch_(epoch) {}

    void announce(const void* p, std::size_t n) noexcept(!crashes_throw) {
        if (n == 0) return;
        tell_audit(p, n, __builtin_return_address(0));
        if (undo_ != nullptr) {
            undo_->touch(by_, p, n, epoch_);
        } else if (graph_ != nullptr) {
            graph_->touch(by_, p, n);
        }
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
        if (graph_ != nullptr) return zero_words(static_cast<std::byte*>(p), n);
        announce(p, n);
        std::memset(p, 0, n);
    }
    void copy(void* to, const void* from, std::size_t n) noexcept(!crashes_throw) {
        announce(to, n);
        std::memcpy(to, from, n);
    }

   private:
    friend class ordered_guard;
    friend class own_section;

    /// The graph's log takes an entry for each word: those that are zero already, as all of a new
    /// file are, need none.
    void zero_words(std::byte* p, std::size_t n) noexcept(!crashes_throw) {
        static constexpr std::byte zeros[8] = {};
        for (std::size_t at = 0; at < n;) {
            const std::size_t to_word = 8 - reinterpret_cast<std::uintptr_t>(p + at) % 8;
            const std::size_t size = std::min(n - at, to_word);
            if (std::memcmp(p + at, zeros, size) != 0) {
                announce(p + at, size);
                std::memset(p + at, 0, size);
            }
            at += size;
        }
    }

    thread_record& by_;
    first_touch* undo_;
    graph_sections* graph_;
    u64 epoch_;
};

/// Holds a lock of the runtime. In graph mode it orders sections as a lock of the program does.
class ordered_guard {
   public:
    ordered_guard(spin_lock& lock, change& by) : lock_(lock), by_(by) {
        lock_.lock();
        if (by_.graph_ != nullptr) by_.graph_->acquired(by_.by_, &lock_, graph::access::exclusive);
    }
    ordered_guard(const ordered_guard&) = delete;
    ordered_guard& operator=(const ordered_guard&) = delete;
    ~ordered_guard() {
        if (by_.graph_ != nullptr) by_.graph_->releasing(by_.by_, &lock_, graph::access::exclusive);
        lock_.unlock();
    }

   private:
    spin_lock& lock_;
    change& by_;
};

/// In graph mode a section of its own, by a thread that is outside: a section's log is bounded. In
/// epoch mode the caller's cut has it all.
class own_section {
   public:
    explicit own_section(change& by) : by_(by) {
        if (by_.graph_ != nullptr) by_.graph_->begin(by_.by_);
    }
    own_section(const own_section&) = delete;
    own_section& operator=(const own_section&) = delete;
    ~own_section() {
        if (by_.graph_ != nullptr) by_.graph_->end(by_.by_);
    }

   private:
    change& by_;
};

}  // namespace hf::section
