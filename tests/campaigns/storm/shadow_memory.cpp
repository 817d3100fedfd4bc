#include "storm/shadow_memory.hpp"

#include <holdfast/pointer.hpp>

#include "base/check.hpp"

#include <sys/mman.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace hf::test {

namespace {

constexpr std::size_t words_per_line = line_size / sizeof(u64);
using line_words = std::array<u64, words_per_line>;

/// Without sanitizers: the line is read while its owner stores to it.
u64 word_at(const void* p) noexcept {
    u64 w = 0;
    asm volatile("movq %1, %0" : "=r"(w) : "m"(*static_cast<const u64*>(p)) : "memory");
    return w;
}

/// S1.
line_words line_at(const std::byte* line) noexcept {
    // cycles: the thread was preempted, and much may have happened
    constexpr u64 too_long = 40'000;
    for (;;) {
        line_words first;
        line_words second;
        const u64 start = __rdtsc();
        for (std::size_t i = 0; i < words_per_line; ++i) first[i] = word_at(line + 8 * i);
        for (std::size_t i = 0; i < words_per_line; ++i) second[i] = word_at(line + 8 * i);
        if (first == second && __rdtsc() - start < too_long) return first;
    }
}

/// A thread's slot in the gate of cut(), and its flushes since its last fence.
struct alignas(64) place {
    std::atomic<u32> busy{0};
    std::atomic<bool> owned{false};
};
constexpr std::size_t most_threads = 512;
std::array<place, most_threads> places;

struct thread_state {
    place* mine = nullptr;
    u64 shadow = 0;
    std::vector<const void*> flushed;

    thread_state() {
        for (place& p : places) {
            if (!p.owned.exchange(true)) {
                mine = &p;
                return;
            }
        }
        HF_CHECK(false, "too many threads");
    }
    thread_state(const thread_state&) = delete;
    thread_state& operator=(const thread_state&) = delete;
    ~thread_state() { mine->owned = false; }
};
thread_local thread_state me;
std::atomic<u64> shadows{0};

}  // namespace

/// While it exists cut() waits; false if the power has failed.
class shadow_memory::user {
   public:
    explicit user(shadow_memory& s) : place_(*me.mine) {
        for (;;) {
            place_.busy.store(1, std::memory_order_seq_cst);
            const u32 now = s.state_.load(std::memory_order_seq_cst);
            if (now != going) {
                allowed_ = now == alive;
                break;
            }
            place_.busy.store(0, std::memory_order_release);
            std::this_thread::yield();
        }
        const u64 current = shadows.load(std::memory_order_relaxed);
        if (me.shadow != current) {
            me.shadow = current;
            me.flushed.clear();
        }
    }
    ~user() { place_.busy.store(0, std::memory_order_release); }
    user(const user&) = delete;
    user& operator=(const user&) = delete;
    explicit operator bool() const noexcept { return allowed_; }

   private:
    place& place_;
    bool allowed_ = false;
};

shadow_memory::shadow_memory(u64 max_bytes, const std::vector<std::byte>& durable)
    : max_bytes_(max_bytes), locks_(stripes), noted_(ring) {
    void* p = ::mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    HF_CHECK(p != MAP_FAILED, "no memory for the shadow");
    HF_CHECK(durable.size() <= max_bytes, "a larger file than was said");
    copy_ = static_cast<std::byte*>(p);
    std::copy(durable.begin(), durable.end(), copy_);
    length_ = durable.size();
    shadows.fetch_add(1);
    trace::sink = this;
}

shadow_memory::~shadow_memory() {
    trace::sink = nullptr;
    ::munmap(copy_, max_bytes_);
}

// A region is at the start of a window, and a window at a multiple of its size.
std::byte* shadow_memory::base_of(const void* p) noexcept {
    std::byte* base = base_.load(std::memory_order_acquire);
    if (base != nullptr) return base;
    base = window_base(p);
    base_.store(base, std::memory_order_release);
    return base;
}

void shadow_memory::copy_line(const void* line) noexcept {
    const u64 offset = align_down(
        static_cast<u64>(static_cast<const std::byte*>(line) - base_of(line)), line_size);
    if (offset >= max_bytes_) return;
    std::atomic_flag& lock = locks_[(offset / line_size) % stripes];
    while (lock.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    const line_words words = line_at(base_.load() + offset);
    std::memcpy(copy_ + offset, words.data(), line_size);
    lock.clear(std::memory_order_release);
}

void shadow_memory::flush(const void* line) noexcept {
    const user here(*this);
    if (here) me.flushed.push_back(line);
}

void shadow_memory::fence() noexcept {
    const user here(*this);
    if (here) {
        for (const void* line : me.flushed) copy_line(line);
        flushes_.fetch_add(me.flushed.size(), std::memory_order_relaxed);
    }
    me.flushed.clear();
}

void shadow_memory::stream(void* to, const void* from, std::size_t n) noexcept {
    std::memcpy(to, from, n);
    const auto first = align_down(reinterpret_cast<u64>(to), line_size);
    for (u64 line = first; line < reinterpret_cast<u64>(to) + n; line += line_size) {
        flush(reinterpret_cast<const void*>(line));
    }
}

void shadow_memory::noted(const void* p, std::size_t n) noexcept {
    for (std::size_t at = 0; at < n; at += line_size) {
        const u64 i = noted_count_.fetch_add(1, std::memory_order_relaxed) % ring;
        noted_[i].store(static_cast<const std::byte*>(p) + at, std::memory_order_relaxed);
    }
}

void shadow_memory::announced(u64 epoch) noexcept {
    if (look_ && !is_cut()) look_(epoch);
}

void shadow_memory::evict(u64 random) noexcept {
    const std::byte* const line = noted_[random % ring].load(std::memory_order_relaxed);
    const user here(*this);
    if (here && line != nullptr) copy_line(line);
}

void shadow_memory::evict_at(u64 offset) noexcept {
    const std::byte* const base = base_.load(std::memory_order_acquire);
    const user here(*this);
    if (here && base != nullptr) copy_line(base + offset);
}

void shadow_memory::cut(const std::filesystem::path& file) {
    for (;;) {
        const u64 before = std::filesystem::file_size(file);
        state_.store(going, std::memory_order_seq_cst);
        for (place& p : places) {
            while (p.busy.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
        }
        // During a growth the length and the header may not fit together.
        const bool same = std::filesystem::file_size(file) == before;
        state_.store(same ? dead : alive, std::memory_order_seq_cst);
        if (same) {
            length_ = before;
            return;
        }
    }
}

std::vector<std::byte> shadow_memory::image() const {
    HF_CHECK(is_cut(), "the image of a medium that still changes");
    return {copy_, copy_ + length_};
}

std::vector<u64> shadow_memory::differing(u64 offset, u64 bytes, std::size_t most) const {
    constexpr u64 piece = 1024;
    std::vector<u64> found;
    const std::byte* const base = base_.load();
    for (u64 at = offset; at < offset + bytes && found.size() < most; at += sizeof(u64)) {
        while (at % piece == 0 && at + piece <= offset + bytes &&
               std::memcmp(copy_ + at, base + at, piece) == 0) {
            at += piece;
        }
        if (at == offset + bytes) break;
        u64 durable = 0;
        std::memcpy(&durable, copy_ + at, sizeof(durable));
        if (durable != word_at(base + at)) found.push_back(at);
    }
    return found;
}

}  // namespace hf::test
