// holdfast/section.hpp: persistent regions for C++ programs with locks.
//
// Purpose. The C face (section.h) with types: roots that are objects, an allocator for standard
// containers, a std::pmr resource, a guard for a section without a lock, and a mutex that may lie
// in a region.
//
//     hf::section::open_group("data.hf").value();
//     auto r = hf::section::region_named("phone book").value();
//     using text = std::basic_string<char, std::char_traits<char>, hf::section::allocator<char>>;
//     using book = std::map<text, int, std::less<>,
//                           hf::section::allocator<std::pair<const text, int>>>;
//     book& b = r.root<book>("book", r.allocator_for<book::value_type>());   // made at first
//     { const std::lock_guard guard(m);  b.emplace(text("Ada", r.allocator_for<char>()), 12); }
//     hf::section::wait_stable().value();
//
// Contents of a region. Objects whose bytes mean the same in the next process: no virtual
// functions (refused: their table lies elsewhere next time), no std::pmr containers (their resource
// is transient; refused where it is the root's type), no pointers to ordinary memory, no locks but
// those of this header. A standard container with this allocator keeps only pointers into the
// group; libstdc++'s std::map, set, list, vector, basic_string and unordered_map were tried.
//
// Errors. result<T>, as everywhere; the allocator throws std::bad_alloc.
#pragma once

#include <holdfast/result.hpp>
#include <holdfast/section.h>

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hf::section {

/// The error of the last function of section.h that failed in this thread.
[[nodiscard]] inline error last_error(int code = static_cast<int>(errc::no_space)) {
    return {static_cast<errc>(code), "use the group of regions", "", hf_section_error(),
            "see docs/sections.md"};
}

[[nodiscard]] inline result<void> open_group(const std::string& path,
                                             const hf_group_options& options = {}) {
    const int failed = hf_group_open(path.c_str(), &options);
    return failed == 0 ? result<void>{} : failure(last_error(failed));
}
[[nodiscard]] inline result<void> close_group() {
    const int failed = hf_group_close();
    return failed == 0 ? result<void>{} : failure(last_error(failed));
}
/// Waits until all sections that this thread has ended are durable.
[[nodiscard]] inline result<void> wait_stable() {
    const int failed = hf_wait_stable();
    return failed == 0 ? result<void>{} : failure(last_error(failed));
}

/// Writes all bytes once no crash can undo what the calling thread has done so far
/// (hf_output_write). errc::no_space: no room to hold them; errc::io: the descriptor's error.
[[nodiscard]] inline result<void> write_output(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = hf_output_write(fd, bytes.data(), bytes.size());
        if (n < 0) {
            const bool is_full = errno == ENOBUFS || errno == EAGAIN || errno == EMSGSIZE;
            return failure(last_error(static_cast<int>(is_full ? errc::no_space : errc::io)));
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}
/// Waits until all output that is held has been written.
[[nodiscard]] inline result<void> flush_output() {
    const int failed = hf_output_flush();
    return failed == 0 ? result<void>{} : failure(last_error(failed));
}

/// A section without a lock, from construction to destruction.
class guard {
   public:
    guard() noexcept { hf_section_begin(); }
    ~guard() { hf_section_end(); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
};

/// Whether objects of the type may lie in a region, as far as the compiler can tell.
template <class T>
concept storable = !std::is_polymorphic_v<T> && !std::is_reference_v<T> && !requires(T t) {
    { t.get_allocator().resource() } -> std::convertible_to<std::pmr::memory_resource*>;
};

/// Allocates in a region. It holds the region's handle, which lies in the group and keeps its
/// address: so containers with it may lie in the group themselves. Stateful: containers swap it.
template <class T>
class allocator {
   public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    explicit allocator(hf_region* r) noexcept : region_(r) {}
    template <class U>
    allocator(const allocator<U>& other) noexcept : region_(other.handle()) {}  // NOLINT

    /// Throws std::bad_alloc when the region or the disk is full.
    [[nodiscard]] T* allocate(std::size_t n) {
        static_assert(!std::is_polymorphic_v<T>, "a type with virtual functions in a region");
        if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
        void* const p = alignof(T) <= 16 ? hf_alloc(region_, n * sizeof(T))
                                         : hf_aligned(region_, alignof(T), n * sizeof(T));
        if (p == nullptr) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) noexcept { hf_free(p); }
    [[nodiscard]] hf_region* handle() const noexcept { return region_; }
    friend bool operator==(const allocator& a, const allocator& b) noexcept {
        return a.region_ == b.region_;
    }

   private:
    hf_region* region_;
};

/// Memory of a region for std::pmr containers whose own objects lie outside of regions: what they
/// allocate survives, and is reclaimed by the next open unless a root leads to it.
class resource final : public std::pmr::memory_resource {
   public:
    explicit resource(hf_region* r) noexcept : region_(r) {}

   private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* const p =
            alignment <= 16 ? hf_alloc(region_, bytes) : hf_aligned(region_, alignment, bytes);
        if (p == nullptr) throw std::bad_alloc();
        return p;
    }
    void do_deallocate(void* p, std::size_t, std::size_t) override { hf_free(p); }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        const auto* const same = dynamic_cast<const resource*>(&other);
        return same != nullptr && same->region_ == region_;
    }
    hf_region* region_;
};

class persistent_region {
   public:
    explicit persistent_region(hf_region* handle) noexcept : handle_(handle) {}

    [[nodiscard]] hf_region* handle() const noexcept { return handle_; }
    template <class T>
    [[nodiscard]] allocator<T> allocator_for() const noexcept {
        return allocator<T>(handle_);
    }
    /// A new object in the region. Throws std::bad_alloc, and what its constructor throws.
    template <storable T, class... Args>
    [[nodiscard]] T* make(Args&&... args) const {
        const guard inside;
        allocator<T> memory(handle_);
        T* const p = memory.allocate(1);
        try {
            return ::new (static_cast<void*>(p)) T(std::forward<Args>(args)...);
        } catch (...) {
            memory.deallocate(p, 1);
            throw;
        }
    }
    template <class T>
    void destroy(T* p) const {
        const guard inside;
        p->~T();
        hf_free(p);
    }
    /// The root of this name; at the first start it is made from `args`, in one section.
    template <storable T, class... Args>
    [[nodiscard]] T& root(const char* name, Args&&... args) const {
        const guard inside;
        if (void* const found = hf_root_get(handle_, name)) return *static_cast<T*>(found);
        T* const made = make<T>(std::forward<Args>(args)...);
        if (hf_root_set(handle_, name, made) != 0) throw std::bad_alloc();
        return *made;
    }

   private:
    hf_region* handle_;
};

/// Finds the region, or creates it.
[[nodiscard]] inline result<persistent_region> region_named(const char* name) {
    hf_region* const found = hf_region_open(name);
    if (found == nullptr) return failure(last_error());
    return persistent_region(found);
}

/// A mutex that may lie in a region. At a cut no section holds it, but its word may say that a
/// thread waits, or that one held it for a moment outside of the gate; so the first use in a
/// process initialises it again. All zero bytes are a good mutex.
class mutex {
   public:
    mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() { ::pthread_mutex_lock(ready()); }
    [[nodiscard]] bool try_lock() { return ::pthread_mutex_trylock(ready()) == 0; }
    void unlock() { ::pthread_mutex_unlock(&mutex_); }

   private:
    /// Differs from process to process.
    [[nodiscard]] static std::uint64_t session() noexcept;
    [[nodiscard]] pthread_mutex_t* ready() noexcept;

    std::atomic<std::uint64_t> session_{0};  ///< that made it; plus 1: a thread is making it
    pthread_mutex_t mutex_{};
};

}  // namespace hf::section
