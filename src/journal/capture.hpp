// journal/capture.hpp: the lines of one epoch, copied while the world stands still.
#pragma once

#include "base/bits.hpp"
#include "journal/ring.hpp"
#include "persist/dirty_set.hpp"

#include <vector>

namespace hf::journal {

/// Filled by the threads at the boundary, read by the thread that writes. Keeps its memory.
class capture {
   public:
    capture() = default;
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;
    ~capture();

    /// Takes the set's lines and makes room for them. They ascend, so they are few runs in the
    /// journal, and merge.hpp walks through them.
    void begin(u64 epoch, dirty_set& set);
    /// Copies lines [from, from + n) of the list. Several threads may do so for several parts.
    void copy(const std::byte* base, std::size_t from, std::size_t n) noexcept;
    /// Its lines are not needed any more. The memory that a rare, large epoch took goes back to the
    /// system.
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
