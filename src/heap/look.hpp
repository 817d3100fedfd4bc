// heap/look.hpp: a heap in a file, looked at without its program: for `holdfast check`, `inspect`
// and `repair`.
//
// Purpose. Maps the file privately (copy on write), does there what an opening would do first, that
// is, applies the commit records that a crash has left, and reads the whole heap (check.hpp).
// Nothing in the file changes; nothing that is read is trusted.
//
// Concurrency. errc::busy while a program has the heap open.
// Bad input. As an opening would refuse it; errc::incompatible where the region holds no heap.
#pragma once

#include "heap/check.hpp"
#include "transaction/opening.hpp"

#include <filesystem>

namespace hf::nv {

/// The rooms that lay bytes into a heap's file.
[[nodiscard]] std::span<const layout::room_format> heap_rooms() noexcept;

/// Where the control block lies. errc::incompatible: there is none; corrupt: it is damaged.
[[nodiscard]] result<u64> find_control(const region& r);

class heap_look {
   public:
    [[nodiscard]] static result<heap_look> open(const std::filesystem::path& path);

    [[nodiscard]] const region& file() const noexcept { return *opened_.file; }
    [[nodiscard]] u64 control() const noexcept { return control_; }
    /// Commit records that were applied, in memory.
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
