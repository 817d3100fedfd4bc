// holdfast/nv/pointer.hpp: pointers within a heap, and the cursors that reading them returns.
//
//   ptr<T, H>     8 bytes in an object of heap H: the offset of another object, which it keeps
//   alive weak<T, H>    8 bytes: the offset of a proxy; null after the object has died cursor<T, H>
//   in ordinary memory: an object's address, valid within one transaction only. It
//                 has the transaction's number, so one comparison checks that
//
// T[] denotes an array whose length is chosen at its creation: ptr<p<int>[], H>.
#pragma once

#include <holdfast/nv/core.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace hf::nv {

namespace detail {

inline constexpr std::uint64_t offset_mask = (std::uint64_t{1} << 48) - 1;

/// Common base of all cursors: an address and a transaction number.
class cursor_base {
   public:
    [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }

   protected:
    cursor_base() = default;
    /// `at` is an object's address, or nullptr.
    cursor_base(std::byte* at, std::uint64_t serial) noexcept
        : at_(at), serial_(at == nullptr ? 0 : serial) {}
    [[nodiscard]] std::byte* checked() const {
        const transaction* const t = transaction::running();
        if (t == nullptr || t->serial() != serial_) [[unlikely]] {
            bad_cursor(at_ == nullptr);
        }
        return at_;
    }
    [[nodiscard]] std::byte* unchecked() const noexcept { return at_; }

   private:
    std::byte* at_ = nullptr;
    std::uint64_t serial_ = 0;
};

}  // namespace detail

template <class T, class H>
class cursor : public detail::cursor_base {
   public:
    cursor() = default;
    cursor(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] T* operator->() const { return reinterpret_cast<T*>(checked()); }
    [[nodiscard]] T& operator*() const { return *reinterpret_cast<T*>(checked()); }
    friend bool operator==(const cursor& a, const cursor& b) noexcept {
        return a.unchecked() == b.unchecked();
    }
    friend bool operator==(const cursor& a, std::nullptr_t) noexcept {
        return a.unchecked() == nullptr;
    }

    /// Internal: the object at p, valid in the transaction with this number.
    [[nodiscard]] static cursor at(std::byte* p, std::uint64_t serial) noexcept {
        return cursor(p, serial);
    }
    [[nodiscard]] std::byte* address() const {
        return unchecked() == nullptr ? nullptr : checked();
    }

   private:
    cursor(std::byte* p, std::uint64_t serial) noexcept : cursor_base(p, serial) {}
};

/// A cursor to an array.
template <class E, class H>
class cursor<E[], H> : public detail::cursor_base {
   public:
    cursor() = default;
    cursor(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] std::size_t size() const {
        const auto* const head = reinterpret_cast<const std::uint64_t*>(checked());
        return transaction::running()->load(head);
    }
    [[nodiscard]] E& operator[](std::size_t i) const {
        if (i >= size()) [[unlikely]]
            detail::misuse("an index is beyond the end of an array");
        return first()[i];
    }
    /// Copies elements as bytes: E is a p<> whose values are stored unchanged.
    void read(std::size_t index, void* to, std::size_t elements) const {
        check(index, elements);
        transaction::running()->load_bytes(first() + index, to, elements * sizeof(E));
    }
    void write(transaction& t, std::size_t index, const void* from, std::size_t elements) const {
        check(index, elements);
        t.store_bytes(first() + index, from, elements * sizeof(E));
    }
    /// As memmove, within the array.
    void move(transaction& t, std::size_t to, std::size_t from, std::size_t elements) const {
        check(to, elements);
        check(from, elements);
        t.move_bytes(first() + to, first() + from, elements * sizeof(E));
    }
    /// Does not check the length: for containers that know it.
    [[nodiscard]] E* first() const { return reinterpret_cast<E*>(checked() + detail::array_head); }
    friend bool operator==(const cursor& a, const cursor& b) noexcept {
        return a.unchecked() == b.unchecked();
    }
    friend bool operator==(const cursor& a, std::nullptr_t) noexcept {
        return a.unchecked() == nullptr;
    }

    [[nodiscard]] static cursor at(std::byte* p, std::uint64_t serial) noexcept {
        return cursor(p, serial);
    }
    [[nodiscard]] std::byte* address() const {
        return unchecked() == nullptr ? nullptr : checked();
    }

   private:
    cursor(std::byte* p, std::uint64_t serial) noexcept : cursor_base(p, serial) {}
    void check(std::size_t index, std::size_t elements) const {
        const std::size_t all = size();
        if (index > all || elements > all - index) [[unlikely]] {
            detail::misuse("a range is beyond the end of an array");
        }
    }
};

/// True for T[], an array of run-time length.
template <class E>
struct is_array_type : std::false_type {};
template <class E>
struct is_array_type<E[]> : std::true_type {};

template <class T, class H>
class ptr {
   public:
    using target = T;
    using brand = H;
    using cursor_type = cursor<T, H>;

    ptr() = default;
    ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    /// For make<T>(...): the pointer must be in an object under construction.
    ptr(const cursor_type& to) {  // NOLINT(google-explicit-constructor)
        if (to) set(detail::attempt_for(this), to.address());
    }
    ptr(const ref<T, H>& to) : ptr(to.get()) {}  // NOLINT(google-explicit-constructor)
    ptr(const ptr&) = delete;
    ptr& operator=(const ptr&) = delete;
    ~ptr() = default;

    [[nodiscard]] cursor_type get() const {
        transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]] {
            detail::misuse(
                "a pointer was read outside of a transaction: read it in atomic() or read()");
        }
        const std::uint64_t offset = t->load(&offset_);
        return cursor_type::at(offset == 0 ? nullptr : t->base() + offset, t->serial());
    }
    operator cursor_type() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] auto operator->() const
        requires(!is_array_type<T>::value)
    {
        return get().operator->();
    }
    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(get()); }
    friend bool operator==(const ptr& a, std::nullptr_t) { return a.get() == nullptr; }
    friend bool operator==(const ptr& a, const cursor_type& b) { return a.get() == b; }

    /// The previous target loses a reference; it is freed at the commit if that was the last.
    void set(tx<H>& t, const cursor_type& to) { exchange(t.running(), t.counts(), to.address()); }
    void set(tx<H>& t, const ref<T, H>& to) { set(t, to.get()); }
    void set(tx<H>& t, const ptr& to) { set(t, to.get()); }
    void set(tx<H>& t, std::nullptr_t) { exchange(t.running(), t.counts(), nullptr); }
    /// Exchanges the targets of two pointers; no reference count changes.
    void swap(tx<H>& t, ptr& other) {
        transaction& r = t.running();
        const std::uint64_t mine = r.load(&offset_);
        r.store(&offset_, r.load(&other.offset_));
        r.store(&other.offset_, mine);
    }

    template <class U>
    ptr& operator=(U&&) {
        static_assert(detail::never<U>,
                      "holdfast: a persistent pointer is written in a transaction only, with an "
                      "object of its own heap: write pointer.set(tx, object)");
        return *this;
    }
    template <class U = void>
    void operator&() const {  // NOLINT(google-runtime-operator)
        static_assert(detail::never<U>,
                      "holdfast: a persistent pointer's address is good for nothing outside of its "
                      "heap: keep an nv::ref to the object");
    }

   private:
    void set(detail::attempt& a, const std::byte* to) {
        offset_ = reinterpret_cast<std::uint64_t>(to) & window_mask;
        detail::add_count(a, offset_, 1);
    }
    void exchange(transaction& t, detail::attempt& a, const std::byte* to) {
        const std::uint64_t before = t.load(&offset_);
        const std::uint64_t after = reinterpret_cast<std::uint64_t>(to) & window_mask;
        if (before == after) return;
        t.store(&offset_, after);
        if (after != 0) detail::add_count(a, after, 1);
        if (before != 0) detail::add_count(a, before, -1);
    }
    std::uint64_t offset_ = 0;
};

/// A pointer that does not keep its object alive.
template <class T, class H>
class weak {
   public:
    using target = T;
    using brand = H;
    using cursor_type = cursor<T, H>;

    weak() = default;
    weak(const weak&) = delete;
    weak& operator=(const weak&) = delete;
    ~weak() = default;

    /// The object, or null if it has died.
    [[nodiscard]] cursor_type get() const {
        transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]] {
            detail::misuse(
                "a pointer was read outside of a transaction: read it in atomic() or read()");
        }
        const std::uint64_t proxy = t->load(&proxy_);
        const std::uint64_t offset = proxy == 0 ? 0 : detail::proxy_target(*t, proxy);
        return cursor_type::at(offset == 0 ? nullptr : t->base() + offset, t->serial());
    }
    void set(tx<H>& t, const cursor_type& to) {
        const std::byte* const p = to.address();
        exchange(t, p == nullptr ? 0
                                 : detail::proxy_of(t.counts(), reinterpret_cast<std::uint64_t>(p) &
                                                                    window_mask));
    }
    void set(tx<H>& t, const ref<T, H>& to) { set(t, to.get()); }
    void set(tx<H>& t, std::nullptr_t) { exchange(t, 0); }

    template <class U>
    weak& operator=(U&&) {
        static_assert(detail::never<U>,
                      "holdfast: a persistent pointer is written in a transaction only, with an "
                      "object of its own heap: write pointer.set(tx, object)");
        return *this;
    }

   private:
    void exchange(tx<H>& t, std::uint64_t after) {
        const std::uint64_t before = t.running().load(&proxy_);
        if (before == after) return;
        t.running().store(&proxy_, after);
        if (after != 0) detail::add_count(t.counts(), after, 1);
        if (before != 0) detail::add_count(t.counts(), before, -1);
    }
    std::uint64_t proxy_ = 0;
};

}  // namespace hf::nv
