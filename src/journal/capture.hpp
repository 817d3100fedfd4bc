// journal/capture.hpp: the lines of one epoch, copied at its boundary.
#pragma once

#include "base/bits.hpp"
#include "journal/ring.hpp"
#include "persist/dirty_set.hpp"

#include <vector>

namespace hf::journal {

/// Filled by the threads at the boundary, read by the writing thread. Keeps its memory for reuse.
class capture {
   public:
    capture() = default;
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;
    ~capture();

    /// Takes the set's lines in ascending order and allocates memory for them. Ascending lines form
    /// few runs in the journal, and merge.hpp relies on the order.
    void begin(u64 epoch, dirty_set& set);
    /// Copies lines [from, from + n) of the list. Several threads may copy different parts.
    void copy(const std::byte* base, std::size_t from, std::size_t n) noexcept;
    /// Drops the lines. The memory of an exceptionally large epoch is returned to the system.
    void clear();

    [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }
    [[nodiscard]] u64 epoch() const noexcept { return epoch_; }
    [[nodiscard]] record as_record() const noexcept { return {epoch_, lines_, data_}; }

   private:
    void release() noexcept;

    u64 epoch_ = 0;
    std::vector<u64> lines_;
    std::byte* data_ = nullptr;
    u64 room_ = 0;  ///< bytes at data_
};

}  // namespace hf::journal
