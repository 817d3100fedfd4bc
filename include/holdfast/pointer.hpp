// holdfast/pointer.hpp: addresses and pointers within regions.
//
// Purpose. All regions are mapped in one arena of address space, divided into aligned windows; a
// region starts at the begin of its window. Three questions about an address need no table: is it
// persistent (is_persistent), where does its region begin (window_base), are two addresses in one
// region (same_region). A region must not contain virtual addresses, since the next session may map
// it elsewhere; structures in a region link their parts with offset_pointer.
//
//    arena   | window 0           | window 1           | ...
//            ^ aligned            ^ window_size bytes further
//            [region, mapped][  ] [region, mapped][  ]
//
// On the medium. An offset_pointer is one aligned word of 8 bytes: the distance in bytes from the
// start of the region, 0 for null (offset 0 is the header). A file can be copied and moved, and
// opened in any window by any process, also beside a copy of itself.
//
// Concurrency. The three questions are wait-free. A pointer is stored with release and loaded with
// acquire: a thread that reads it sees everything written before it was stored. On x86-64 two
// stores to one cache line reach the medium in program order.
//
// Misuse ends the process with a message: storing the address of another region or of ordinary
// memory (it would dangle in the next session), or storing a persistent address in an
// offset_pointer that is itself outside of that region.
//
// Literature: Coburn et al., NV-Heaps (ASPLOS 2011), section 3.1 (relative pointers).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// log2 of a window's size in bytes. The library's build defines it; a program must be compiled
/// with the same value as the library.
#ifndef HF_WINDOW_BITS
#define HF_WINDOW_BITS 40
#endif

// Names of the library's that programs use lie in inline namespaces named after the configuration.
// So a program that was compiled with another HF_WINDOW_BITS, or with the debug containers of
// libstdc++, which have another layout, does not link: "undefined reference to
// hf::detail::window_bits_36::...".
#define HF_JOIN_(a, b) a##b
#define HF_JOIN(a, b) HF_JOIN_(a, b)
#ifdef _GLIBCXX_DEBUG
#define HF_CONFIGURATION HF_JOIN(debug_containers_window_bits_, HF_WINDOW_BITS)
#else
#define HF_CONFIGURATION HF_JOIN(window_bits_, HF_WINDOW_BITS)
#endif

namespace hf {

inline constexpr unsigned window_bits = HF_WINDOW_BITS;
inline constexpr std::uint64_t window_size = std::uint64_t{1} << window_bits;
inline constexpr std::uint64_t window_mask = window_size - 1;

namespace detail {
inline namespace HF_CONFIGURATION {
// Set once, size last; 0 before the first region.
extern constinit std::atomic<std::uint64_t> arena_begin;
extern constinit std::atomic<std::uint64_t> arena_bytes;
}  // namespace HF_CONFIGURATION
[[noreturn]] void refuse_pointer(const void* at, const void* to);
}  // namespace detail

/// Whether p lies where regions are mapped.
[[nodiscard]] inline bool is_persistent(const void* p) noexcept {
    const std::uint64_t bytes = detail::arena_bytes.load(std::memory_order_acquire);
    return reinterpret_cast<std::uint64_t>(p) -
               detail::arena_begin.load(std::memory_order_relaxed) <
           bytes;
}

/// The first byte of the region that holds p. p is persistent.
[[nodiscard]] inline std::byte* window_base(const void* p) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uint64_t>(p) & ~window_mask);
}

/// Whether two persistent addresses lie in the same region.
[[nodiscard]] inline bool same_region(const void* a, const void* b) noexcept {
    return (reinterpret_cast<std::uint64_t>(a) ^ reinterpret_cast<std::uint64_t>(b)) >>
               window_bits ==
           0;
}

/// The distance of p from the start of the region in which the word at `at` is to keep it; 0 for
/// null. Ends the process where both are not in one region.
[[nodiscard]] inline std::uint64_t offset_for(const void* at, const void* p) {
    if (p == nullptr) return 0;
    if (!same_region(at, p) || !is_persistent(p)) detail::refuse_pointer(at, p);
    return reinterpret_cast<std::uint64_t>(p) & window_mask;
}

/// A pointer that lies in a region and points into the same region. 8 bytes; all zeros are null. It
/// keeps nothing alive and logs nothing: under checkpointing, change it as you change any word.
template <class T>
class offset_pointer {
   public:
    offset_pointer() noexcept = default;
    offset_pointer(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    offset_pointer(T* p) { set(p); }            // NOLINT(google-explicit-constructor)
    offset_pointer(const offset_pointer& other) { set(other.get()); }
    offset_pointer& operator=(const offset_pointer& other) {
        if (this != &other) set(other.get());
        return *this;
    }
    offset_pointer& operator=(T* p) {
        set(p);
        return *this;
    }
    ~offset_pointer() = default;

    [[nodiscard]] T* get() const noexcept {
        const std::uint64_t offset = offset_.load(std::memory_order_acquire);
        return offset == 0 ? nullptr : reinterpret_cast<T*>(window_base(this) + offset);
    }
    void set(T* p) { offset_.store(offset_for(this, p), std::memory_order_release); }
    /// Bytes from the region's start; 0: null.
    [[nodiscard]] std::uint64_t offset() const noexcept {
        return offset_.load(std::memory_order_acquire);
    }

    [[nodiscard]] std::add_lvalue_reference_t<T> operator*() const noexcept { return *get(); }
    [[nodiscard]] T* operator->() const noexcept { return get(); }
    [[nodiscard]] explicit operator bool() const noexcept { return offset() != 0; }
    friend bool operator==(const offset_pointer& a, const offset_pointer& b) noexcept {
        return a.get() == b.get();
    }
    friend bool operator==(const offset_pointer& a, const T* b) noexcept { return a.get() == b; }

   private:
    std::atomic<std::uint64_t> offset_{0};
};

static_assert(sizeof(offset_pointer<int>) == 8 && alignof(offset_pointer<int>) == 8);

}  // namespace hf
