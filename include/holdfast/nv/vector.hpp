// holdfast/nv/vector.hpp: a vector in a heap. Written with the public interface alone.
//
//   struct shelf { nv::vector<nv::p<int>> numbers; nv::vector<nv::ptr<book>> books; };
//
// An element is a field: nv::p<T>, nv::ptr<T, H>, or a struct of these. Cost in a transaction:
// push_back() stores the element and the length, and from time to time copies to a new array of
// twice the size, or of a sixteenth more if the heap has no room for that; reading an element takes
// two loads more than a field, for array and length.
//
// A copy to a new array is no part of the commit record, however long it is: the new array is
// reachable by this transaction alone and is filled in place, and the old one is not stored to.
// Its elements are copied as bytes. So pointers move without a change of their targets' counts, and
// the old array is freed as memory, not as an object with pointers (detail::forsake).
#pragma once

#include <holdfast/nv/transaction.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::nv {

namespace detail {

/// Assigns the value of one field to another.
template <class T, class H>
void copy_field(tx<H>& t, p<T>& to, const p<T>& from) {
    to.set(t, from.get());
}
template <class T, class H>
void copy_field(tx<H>& t, ptr<T, H>& to, const ptr<T, H>& from) {
    to.set(t, from.get());
}
template <class T, class H>
void copy_field(tx<H>& t, weak<T, H>& to, const weak<T, H>& from) {
    to.set(t, from.get());
}

/// Copies bytes of the heap, as the transaction reads them, into an object that it has made: they
/// are stored in place. Other transactions that change them meanwhile conflict with it.
inline void fill_fresh(transaction& t, void* to, const void* from, std::size_t bytes) {
    t.load_bytes(from, to, bytes);
}

/// A longer array for a container whose array of `room` elements is full: twice as long if the heap
/// has room for that, and `least` elements at least. Ends the transaction (errc::no_space) if there
/// is no room for these.
template <class E, class H>
cursor<E[], H> longer_array(tx<H>& t, std::size_t room, std::size_t least) {
    for (std::size_t more = room; more != 0 && room + more > least; more /= 2) {
        if (const auto made = t.template try_make_array<E[]>(room + more)) return made;
    }
    return t.template make_array<E[]>(least);
}

}  // namespace detail

template <class E, class H = common>
class vector {
   public:
    using value_type = E;
    static constexpr std::size_t first_capacity = 8;

    vector() = default;
    vector(const vector&) = delete;
    vector& operator=(const vector&) = delete;
    ~vector() = default;

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t capacity() const {
        const auto a = elements_.get();
        return a ? a.size() : 0;
    }
    [[nodiscard]] E& operator[](std::size_t i) const {
        if (i >= size()) [[unlikely]]
            detail::misuse("an index is beyond the end of an nv::vector");
        return elements_.get().element(i);
    }
    [[nodiscard]] E& front() const { return (*this)[0]; }
    [[nodiscard]] E& back() const { return (*this)[size() - 1]; }

    // Valid until the vector changes, within one attempt.
    [[nodiscard]] E* begin() const {
        const auto a = elements_.get();
        return a ? a.first() : nullptr;
    }
    [[nodiscard]] E* end() const {
        const std::size_t n = size();
        return n == 0 ? begin() : std::addressof(elements_.get().element(n - 1)) + 1;
    }

    void reserve(tx<H>& t, std::size_t wanted) {
        if (wanted > capacity()) move_to(t, t.template make_array<E[]>(wanted));
    }
    template <class V>
    void push_back(tx<H>& t, const V& value) {
        append(t).set(t, value);
    }
    /// Appends an element to be set by the caller: zero, or as pop_back() left it.
    E& append(tx<H>& t) {
        const std::size_t room = capacity();
        const std::size_t n = used_of(room);
        if (n == room) widen(t, room);
        size_.set(t, n + 1);
        return elements_.get().first()[n];
    }
    void pop_back(tx<H>& t) {
        const std::size_t n = size();
        if (n == 0) [[unlikely]]
            detail::misuse("pop_back() of an empty nv::vector");
        release(t, n - 1);
        size_.set(t, n - 1);
    }
    /// Erases element i; the later elements move down by one.
    void erase(tx<H>& t, std::size_t i) {
        const std::size_t n = used_of(capacity());
        if (i >= n) [[unlikely]]
            detail::misuse("erase() beyond the end of an nv::vector");
        for (; i + 1 < n; ++i) {
            E* const e = elements_.get().first();
            detail::copy_field(t, e[i], e[i + 1]);
        }
        pop_back(t);
    }
    void clear(tx<H>& t) {
        elements_.set(t, nullptr);
        size_.set(t, 0);
    }

   private:
    /// The least part of an array by which it grows where there is no room for twice as much.
    static constexpr std::size_t least_growth = 16;

    void widen(tx<H>& t, std::size_t room) {
        const std::size_t least = room + std::max(first_capacity, room / least_growth);
        move_to(t, detail::longer_array<E>(t, room, least));
    }
    void move_to(tx<H>& t, const cursor<E[], H>& wider) {
        if (const auto old = elements_.get()) {
            const std::size_t n = used_of(old.size());
            detail::fill_fresh(t.running(), wider.first(), old.first(), n * sizeof(E));
            detail::forsake(t.counts(), old.address());
        }
        elements_.set(t, wider);
    }
    /// The number of elements. Ends the transaction (errc::corrupt) if it
    /// exceeds `room`, the length of the array.
    [[nodiscard]] std::size_t used_of(std::size_t room) const {
        const std::size_t n = size();
        if (n > room) [[unlikely]]
            detail::broken("an nv::vector is longer than its array");
        return n;
    }
    // A removed element must not keep an object alive.
    void release(tx<H>& t, std::size_t i) {
        if constexpr (detail::is_ptr<E> || detail::is_weak<E>) {
            elements_.get().element(i).set(t, nullptr);
        }
    }
    p<std::size_t> size_;
    ptr<E[], H> elements_;

   public:
    static constexpr auto nv_members = std::tuple{&vector::size_, &vector::elements_};
};

/// A string of any length. Assigning stores all bytes; reading copies them out.
template <class H = common>
class basic_string {
   public:
    basic_string() = default;
    basic_string(const basic_string&) = delete;
    basic_string& operator=(const basic_string&) = delete;
    ~basic_string() = default;

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::string str() const {
        std::string s(used_of(capacity()), '\0');
        if (!s.empty()) bytes_.get().read(0, s.data(), s.size());
        return s;
    }
    operator std::string() const { return str(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] char operator[](std::size_t i) const {
        if (i >= size()) [[unlikely]]
            detail::misuse("an index is beyond the end of an nv::string");
        return bytes_.get().element(i);
    }
    friend bool operator==(const basic_string& a, std::string_view b) {
        return a.size() == b.size() && a.str() == b;
    }
    void assign(tx<H>& t, std::string_view s) {
        const auto old = bytes_.get();
        if (s.size() > (old ? old.size() : 0)) {
            bytes_.set(t, t.template make_array<p<char>[]>(s.size()));
        }
        if (!s.empty()) bytes_.get().write(t, 0, s.data(), s.size());
        size_.set(t, s.size());
    }
    void set(tx<H>& t, std::string_view s) { assign(t, s); }
    void append(tx<H>& t, std::string_view s) {
        const auto old = bytes_.get();
        const std::size_t room = capacity();
        const std::size_t n = used_of(room);
        if (n + s.size() > room) {
            const auto wider = detail::longer_array<p<char>>(t, n, n + s.size());
            if (n != 0) detail::fill_fresh(t.running(), wider.first(), old.first(), n);
            bytes_.set(t, wider);
        }
        if (!s.empty()) bytes_.get().write(t, n, s.data(), s.size());
        size_.set(t, n + s.size());
    }
    void clear(tx<H>& t) {
        bytes_.set(t, nullptr);
        size_.set(t, 0);
    }

   private:
    [[nodiscard]] std::size_t capacity() const {
        const auto a = bytes_.get();
        return a ? a.size() : 0;
    }
    /// The number of bytes. It is damaged where an array of `room` bytes can't hold them.
    [[nodiscard]] std::size_t used_of(std::size_t room) const {
        const std::size_t n = size();
        if (n > room) [[unlikely]]
            detail::broken("an nv::string is longer than its array");
        return n;
    }
    p<std::size_t> size_;
    ptr<p<char>[], H> bytes_;

   public:
    static constexpr auto nv_members = std::tuple{&basic_string::size_, &basic_string::bytes_};
};
using string = basic_string<>;

}  // namespace hf::nv
