// heap/look.hpp: reads a heap in a file without its program: for `holdfast check`, `inspect`
// and `repair`.
//
// Purpose. Maps the file privately (copy on write), applies the commit records that a crash has
// left, as an open would, and reads the whole heap (check.hpp).
// Nothing in the file changes; no data that is read is trusted.
//
// Concurrency. errc::busy while a program has the heap open.
// Bad input. Refused as by an open; errc::incompatible if the region contains no heap.
#pragma once

#include "heap/check.hpp"
#include "transaction/opening.hpp"

#include <filesystem>

namespace hf::nv {

/// The rooms with bytes in a heap's file.
[[nodiscard]] std::span<const layout::room_format> heap_rooms() noexcept;

/// Offset of the control block. errc::incompatible: there is none; corrupt: it is damaged.
[[nodiscard]] result<u64> find_control(const region& r);

class heap_look {
   public:
    [[nodiscard]] static result<heap_look> open(const std::filesystem::path& path);

    [[nodiscard]] const region& file() const noexcept { return *opened_.file; }
    [[nodiscard]] u64 control() const noexcept { return control_; }
    /// Number of commit records that were applied, in memory.
    [[nodiscard]] u64 recovered_records() const noexcept { return recovered_; }
    /// Reads all of it.
    [[nodiscard]] result<heap_facts> read() const;

   private:
    heap_look() = default;
    opened_region opened_;
    std::unique_ptr<epoch_manager> epochs_;
    u64 control_ = 0;
    u64 recovered_ = 0;
};

}  // namespace hf::nv
