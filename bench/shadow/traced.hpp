// bench/shadow/traced.hpp: a heap whose accessors tell a simulator of each load and store.
//
// Purpose. The structures of bench/layers (one template for all layers of the NV-heaps paper) run
// on it unchanged: b_tree<traced>, hash_table<traced>, ... Each accessor of a field or pointer
// passes the address, as an offset in the heap, to a sim::sink, and then does the access. The run
// is deterministic, and nothing is stored of it but what the sink keeps.
//
// Memory is an ordinary mapping. Blocks of one size go to a list of free ones, the newest first,
// which is volatile and not traced, as the paper's allocator is not described. A new object's bytes
// count as stores of the transaction, eight bytes each.
//
// For one thread and one heap at a time: accessors find the heap by a static pointer.
#pragma once

#include "base/check.hpp"
#include "bench/layers/workload.hpp"
#include "sim/sink.hpp"

#include <sys/mman.h>

#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hf::bench {

class traced_heap {
   public:
    /// Reserves address space for `bytes` bytes. Throws std::bad_alloc.
    explicit traced_heap(u64 bytes) : bytes_(align_up(bytes, 4096)) {
        void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) throw std::bad_alloc();
        (void)::madvise(at, bytes_, MADV_HUGEPAGE);
        base_ = static_cast<std::byte*>(at);
        current = this;
    }
    traced_heap(const traced_heap&) = delete;
    traced_heap& operator=(const traced_heap&) = delete;
    ~traced_heap() {
        current = nullptr;
        ::munmap(base_, bytes_);
    }

    /// nullptr: accesses go nowhere.
    void trace_to(sim::sink* to, unsigned core = 0) noexcept {
        to_ = to;
        core_ = core;
    }
    [[nodiscard]] std::byte* allocate(u64 bytes) {
        const u64 size = align_up(bytes, bytes <= line_size ? 16 : line_size);
        auto& free = free_[size];
        if (!free.empty()) {
            std::byte* const found = free.back();
            free.pop_back();
            return found;
        }
        // A block of up to a line lies in one line.
        if (size <= line_size && used_ / line_size != (used_ + size - 1) / line_size) {
            used_ = align_up(used_, line_size);
        }
        if (size > line_size) used_ = align_up(used_, size % 4096 == 0 ? 4096 : line_size);
        if (used_ + size > bytes_) throw std::runtime_error("the traced heap is full");
        std::byte* const found = base_ + used_;
        used_ += size;
        return found;
    }
    void release(void* at, u64 bytes) {
        free_[align_up(bytes, bytes <= line_size ? 16 : line_size)].push_back(
            static_cast<std::byte*>(at));
    }
    [[nodiscard]] u64 used() const noexcept { return used_; }
    [[nodiscard]] u64 bytes() const noexcept { return bytes_; }

    static void on_load(const void* at, unsigned bytes) {
        if (current->to_ == nullptr) return;
        current->to_->load(current->core_, current->offset(at), bytes);
    }
    static void on_store(const void* at, unsigned bytes) {
        if (current->to_ == nullptr) return;
        current->to_->store(current->core_, current->offset(at), bytes);
    }
    /// A new object: all of its bytes are stored.
    static void on_make(const void* at, u64 bytes) {
        if (current->to_ == nullptr) return;
        for (u64 i = 0; i < bytes; i += 8) {
            on_store(static_cast<const std::byte*>(at) + i, 8);
        }
    }
    template <class F>
    auto atomic(F&& f) {
        if (to_ == nullptr) return f(*this);
        to_->begin(core_);
        auto found = f(*this);
        to_->commit(core_);
        return found;
    }

   private:
    friend struct traced;
    [[nodiscard]] u64 offset(const void* at) const {
        return static_cast<u64>(static_cast<const std::byte*>(at) - base_);
    }
    static inline traced_heap* current = nullptr;
    std::byte* base_ = nullptr;
    u64 bytes_;
    u64 used_ = line_size;
    sim::sink* to_ = nullptr;
    unsigned core_ = 0;
    std::map<u64, std::vector<std::byte*>> free_;
};

namespace detail {

/// An array's elements, with their number in the 16 bytes before them.
template <class E>
class traced_array {
   public:
    static constexpr u64 head_bytes = 16;
    traced_array() = default;
    traced_array(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    explicit traced_array(std::byte* at) noexcept : at_(at) {}
    [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
    [[nodiscard]] u64 size() const {
        traced_heap::on_load(at_, sizeof(u64));
        return *reinterpret_cast<const u64*>(at_);
    }
    [[nodiscard]] E& operator[](u64 i) const noexcept { return first()[i]; }
    [[nodiscard]] E* first() const noexcept { return reinterpret_cast<E*>(at_ + head_bytes); }
    [[nodiscard]] std::byte* address() const noexcept { return at_; }
    friend bool operator==(const traced_array&, const traced_array&) = default;

   private:
    std::byte* at_ = nullptr;
};
template <class T>
struct traced_cursor {
    using type = T*;
};
template <class E>
struct traced_cursor<E[]> {
    using type = traced_array<E>;
};

}  // namespace detail

/// The layer, as the workloads take it.
struct traced {
    static constexpr bool counts = false;
    static constexpr bool has_threads = false;
    using heap = traced_heap;

    class tx {
       public:
        explicit tx(traced_heap& h) : heap_(h) {}
        template <class T, class... A>
        [[nodiscard]] T* make(A&&... arguments) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
            T* const made = ::new (static_cast<void*>(heap_.allocate(sizeof(T))))
                T{std::forward<A>(arguments)...};
#pragma GCC diagnostic pop
            traced_heap::on_make(made, sizeof(T));
            return made;
        }
        template <class A>
        [[nodiscard]] detail::traced_array<std::remove_extent_t<A>> make_array(u64 length) {
            using array = detail::traced_array<std::remove_extent_t<A>>;
            const u64 bytes = array::head_bytes + length * sizeof(std::remove_extent_t<A>);
            std::byte* const at = heap_.allocate(bytes);  // zeros, for it is new
            *reinterpret_cast<u64*>(at) = length;
            traced_heap::on_make(at, bytes);
            return array(at);
        }
        template <class T>
        void dispose(T* what) {
            heap_.release(what, sizeof(T));
        }

       private:
        traced_heap& heap_;
    };

    template <class T>
    class p {
       public:
        using value_type = T;
        p() = default;
        p(const T& value) : value_(value) {}  // NOLINT(google-explicit-constructor)
        p(const p&) = delete;
        p& operator=(const p&) = delete;
        ~p() = default;
        operator T() const { return get(); }  // NOLINT(google-explicit-constructor)
        [[nodiscard]] T get() const {
            traced_heap::on_load(this, sizeof(T));
            return value_;
        }
        void set(tx&, const T& value) {
            traced_heap::on_store(this, sizeof(T));
            value_ = value;
        }

       private:
        T value_{};
    };

    template <class T>
    class ptr {
       public:
        using cursor_type = typename detail::traced_cursor<T>::type;
        ptr() = default;
        ptr(std::nullptr_t) noexcept {}                   // NOLINT(google-explicit-constructor)
        ptr(const cursor_type& to) noexcept : to_(to) {}  // NOLINT(google-explicit-constructor)
        ptr(const ptr&) = delete;
        ptr& operator=(const ptr&) = delete;
        ~ptr() = default;
        [[nodiscard]] cursor_type get() const {
            traced_heap::on_load(this, sizeof(std::uintptr_t));
            return to_;
        }
        operator cursor_type() const { return get(); }  // NOLINT(google-explicit-constructor)
        [[nodiscard]] auto operator->() const { return get(); }
        [[nodiscard]] explicit operator bool() const { return static_cast<bool>(get()); }
        friend bool operator==(const ptr& a, std::nullptr_t) { return !a; }
        /// As nv::ptr does, it does not store what is there already.
        void set(tx&, const cursor_type& to) {
            if (get() == to) return;
            traced_heap::on_store(this, sizeof(std::uintptr_t));
            to_ = to;
        }

       private:
        cursor_type to_{};
    };

    template <class T>
    using cursor = typename ptr<T>::cursor_type;
    template <class T>
    static void dispose(tx& t, const cursor<T>& what) {
        t.dispose(what);
    }
};

}  // namespace hf::bench
