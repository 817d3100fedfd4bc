#include "region/reservation.hpp"

#include "region/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <span>

// Defined where the program runs under ThreadSanitizer, compiled by whichever compiler.
// NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's name
extern "C" [[gnu::weak]] void __tsan_init();

namespace hf::detail {

const int reservation_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

namespace {

constexpr u64 address_bits = 47;
constexpr u64 slots = (u64{1} << address_bits) / window_size;  // places where a window may begin
using slot_set = std::bitset<slots>;

bool is_under_thread_sanitizer() noexcept { return __tsan_init != nullptr; }

std::byte* map(u64 address, u64 bytes, int flags) noexcept {
    void* const p = ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                           reservation_flags | flags, -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

/// Whether the kernel would reserve that many bytes anywhere.
bool can_have(u64 bytes) noexcept {
    std::byte* const p = map(0, bytes, 0);
    if (p == nullptr) return false;
    ::munmap(p, bytes);
    return true;
}

std::byte* reserve_at(u64 address, u64 bytes) noexcept {
    std::byte* const p = map(address, bytes, MAP_FIXED_NOREPLACE);
    if (p == nullptr || reinterpret_cast<u64>(p) == address) return p;
    ::munmap(p, bytes);  // a kernel before 4.17 takes the address for a wish
    return nullptr;
}

// More is reserved than wanted, and the unaligned ends are given back.
std::byte* reserve_aligned(u64 bytes, u64 alignment) noexcept {
    std::byte* const begin = map(0, bytes + alignment, 0);
    if (begin == nullptr) return nullptr;
    const u64 address = reinterpret_cast<u64>(begin);
    const u64 head = align_up(address, alignment) - address;
    ::munmap(begin, head);  // refused where there is nothing to give back
    ::munmap(begin + head + bytes, alignment - head);
    return begin + head;
}

std::byte* reserve_windows(u64 bytes) noexcept {
    if (!can_have(bytes)) return nullptr;
    if (!is_under_thread_sanitizer()) {
        if (std::byte* const fixed = reserve_at(arena_address, bytes)) return fixed;
    }
    // All of it in one unit of section_hooks.h, if possible.
    const u64 unit = std::max(window_size, u64{1} << 44);
    if (bytes == unit) {
        if (std::byte* const aligned = reserve_aligned(bytes, unit)) return aligned;
    }
    return reserve_aligned(bytes, window_size);
}

/// Reads /proc/self/maps, a character at a time: marks the slots that each mapping lies in.
/// Mappings without access do not count: no object is there. ThreadSanitizer has some in half of
/// slot 0x56.
class map_reader {
   public:
    /// A line: 5580ede90000-5580ede91000 r--p 00000000 ...
    void take(char c) noexcept {
        if (c == '\n') {
            part_ = part::begin;
            begin_ = end_ = 0;
        } else if (part_ == part::begin && c == '-') {
            part_ = part::end;
        } else if (part_ == part::end && c == ' ') {
            part_ = part::access;
        } else if (part_ == part::begin) {
            add_digit(begin_, c);
        } else if (part_ == part::end) {
            add_digit(end_, c);
        } else if (part_ == part::access && (c == 'r' || c == 'w' || c == 'x')) {
            mark();
            part_ = part::rest;
        } else if (c == ' ') {
            part_ = part::rest;
        }
    }
    [[nodiscard]] const slot_set& marked() const noexcept { return marked_; }

   private:
    enum class part { begin, end, access, rest };

    static void add_digit(u64& number, char c) noexcept {
        number = number << 4 | static_cast<u64>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    void mark() noexcept {
        for (u64 at = begin_ / window_size; at < slots && at * window_size < end_; ++at) {
            marked_.set(at);
        }
    }

    slot_set marked_;
    u64 begin_ = 0;
    u64 end_ = 0;
    part part_ = part::begin;
};

/// All slots are taken where the kernel does not tell.
slot_set slots_taken() noexcept {
    const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return slot_set().set();
    map_reader reader;
    std::array<char, 4096> text;
    ssize_t n = 0;
    while ((n = ::read(fd, text.data(), text.size())) > 0) {
        std::for_each_n(text.data(), n, [&](char c) { reader.take(c); });
    }
    ::close(fd);
    return n < 0 ? slot_set().set() : reader.marked();
}

std::byte* reserve_short(u64 bytes, const slot_set& taken) noexcept {
    // The ranges of a program under ThreadSanitizer that a window may begin in.
    constexpr u64 for_sanitizer[] = {u64{0x55} << 40, u64{0x56} << 40};
    constexpr u64 for_others[] = {arena_address, u64{0x56} << 40, u64{0x10} << 40};
    const std::span<const u64> places =
        is_under_thread_sanitizer() ? std::span<const u64>(for_sanitizer) : for_others;
    for (const u64 address : places) {
        if (taken.test(address / window_size)) continue;
        if (std::byte* const p = reserve_at(address, bytes)) return p;
    }
    return nullptr;
}

}  // namespace

reservation reserve_arena() noexcept {
    for (unsigned windows = wanted_windows; windows != 0; windows /= 2) {
        const u64 bytes = windows * window_size;
        if (std::byte* const begin = reserve_windows(bytes)) return {begin, bytes, windows};
    }
    const slot_set taken = slots_taken();
    for (u64 bytes = window_size / 4; bytes >= least_window; bytes /= 2) {
        if (!can_have(2 * bytes)) continue;  // the program needs some, too
        if (std::byte* const begin = reserve_short(bytes, taken)) return {begin, bytes, 1};
    }
    return {};
}

}  // namespace hf::detail
