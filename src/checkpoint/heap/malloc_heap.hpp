// checkpoint/heap/malloc_heap.hpp: memory from malloc with the grace period of epochs; for the
// baseline `transient-malloc`.
//
// Offsets are addresses. Memory freed in an epoch is returned to malloc in a later epoch: a lane
// keeps it in one list, linked through the block's header.
#pragma once

#include "checkpoint/heap/layout.hpp"
#include "checkpoint/operation.hpp"

#include <array>
#include <functional>

namespace hf {

class malloc_heap {
   public:
    static constexpr bool is_in_region = false;

    explicit malloc_heap(checkpoint_state& c) : checkpoint_(c) {}

    [[nodiscard]] result<void> recover() { return {}; }

    /// For payloads of any size.
    [[nodiscard]] result<u64> allocate(operation& op, u64 payload);
    void deallocate(operation& op, u64 offset, u64 payload);
    void prefetch_header(u64 offset) const noexcept {
        __builtin_prefetch(object_at<const void>(nullptr, offset - block_header_size), 1);
    }

    [[nodiscard]] result<u64> reserve_large(operation& op, u64 payload) {
        return allocate(op, payload);
    }
    void commit_large(operation&, u64, u64) noexcept {}
    void cancel_large(u64 offset, u64 payload);

    /// Not tracked: zeros.
    [[nodiscard]] std::array<u64, accounted_classes> usage() const { return {}; }
    void count_objects(operation&, std::int64_t) noexcept {}
    [[nodiscard]] u64 objects() const noexcept { return 0; }
    [[nodiscard]] bool counts_objects() const noexcept { return false; }
    void refresh(u64, const std::function<bool()>&) noexcept {}

    [[nodiscard]] checkpoint_state& checkpoint() noexcept { return checkpoint_; }
    [[nodiscard]] std::byte* base() const noexcept { return nullptr; }
    /// Upper bound of all blocks.
    [[nodiscard]] u64 end() const noexcept { return ~u64{0}; }

   private:
    struct alignas(line_size) freed {
        u64 epoch = 0;
        u64 first = 0;  ///< 0: none
    };

    checkpoint_state& checkpoint_;
    std::array<freed, max_lanes> freed_;
};

}  // namespace hf
