// storm/shadow_memory.hpp: the contents of a region's medium, while threads run at full speed.
//
// Purpose. A second copy of a region's bytes that receives only lines that were flushed and then
//  fenced by the same thread: the minimum that a medium may contain. Threads, caches and stores are
//  real, so a run makes millions of flushes, whereas the crash lab explores all images of a few
//  operations.
//
//  cut()    a power failure at some instant of the run: from then on the copy does not change.
//  evict()  a line reaches the copy without a flush, as by a cache's eviction.
//
// Invariants.
//  S1 A line is copied as it was at one instant. Its words are read twice, until both reads are
//     equal: so the copy is a prefix of the stores to it (PCSO).
//  S2 A line never returns to an older state: copies of one line are made one after the other.
//  S3 A flush reaches the copy by the fence of its thread, with the line's contents at that time;
//     without a fence never.
//  S4 cut() takes effect at one instant for all threads: a thread that flushes meanwhile waits.
// Concurrency. One shadow at a time. It must be created before the region is opened and outlive it;
//  all calls by any thread.
#pragma once

#include "base/bits.hpp"
#include "persist/trace.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <vector>

namespace hf::test {

class shadow_memory final : public trace_sink {
   public:
    /// For one region of at most `max_bytes`, whose file contains `durable` before it is opened.
    shadow_memory(u64 max_bytes, const std::vector<std::byte>& durable);
    shadow_memory(const shadow_memory&) = delete;
    shadow_memory& operator=(const shadow_memory&) = delete;
    ~shadow_memory() override;

    void flush(const void* line) noexcept override;
    void fence() noexcept override;
    void stream(void* to, const void* from, std::size_t n) noexcept override;
    void noted(const void* p, std::size_t n) noexcept override;
    void announced(u64 epoch) noexcept override;

    /// `look` is called at each boundary, while no operation runs.
    void at_boundary(std::function<void(u64 epoch)> look) { look_ = std::move(look); }

    /// Power failure. The file's length must be stable: it is read before and after.
    void cut(const std::filesystem::path& file);
    [[nodiscard]] bool is_cut() const noexcept {
        return state_.load(std::memory_order_acquire) == dead;
    }
    /// After cut(): the medium's contents, with the file's length.
    [[nodiscard]] std::vector<std::byte> image() const;

    /// A randomly chosen line that was recorded recently reaches the copy.
    void evict(u64 random) noexcept;

    /// The line at this offset of the region reaches the copy.
    void evict_at(u64 offset) noexcept;

    /// Offsets of words in [offset, offset + bytes) that differ from the region's memory; at most
    /// `most`. Call while all operations are stopped.
    [[nodiscard]] std::vector<u64> differing(u64 offset, u64 bytes, std::size_t most) const;

    [[nodiscard]] u64 flushes() const noexcept { return flushes_.load(); }

   private:
    enum state : u32 { alive, going, dead };
    static constexpr std::size_t ring = 4096;
    static constexpr std::size_t stripes = 1024;

    class user;
    [[nodiscard]] std::byte* base_of(const void* p) noexcept;
    void copy_line(const void* line) noexcept;

    u64 max_bytes_;
    u64 length_ = 0;
    std::byte* copy_ = nullptr;
    std::atomic<std::byte*> base_{nullptr};
    std::atomic<u32> state_{alive};
    std::vector<std::atomic_flag> locks_;
    std::vector<std::atomic<const std::byte*>> noted_;
    std::atomic<u64> noted_count_{0};
    std::atomic<u64> flushes_{0};
    std::function<void(u64)> look_;
};

}  // namespace hf::test
