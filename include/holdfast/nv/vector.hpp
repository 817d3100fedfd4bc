// holdfast/nv/vector.hpp: a vector in a heap. Written with the public interface alone.
//
//   struct shelf { nv::vector<nv::p<int>> numbers; nv::vector<nv::ptr<book>> books; };
//
// An element is a field: nv::p<T>, nv::ptr<T, H>, or a struct of these. Cost in a transaction:
// push_back() stores the element and the length, and from time to time copies to a new array of
// twice the size; reading an element takes two loads more than a field, for array and length.
#pragma once

#include <holdfast/nv/transaction.hpp>

#include <cstddef>
#include <iterator>
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
        return elements_.get().first()[i];
    }
    [[nodiscard]] E& front() const { return (*this)[0]; }
    [[nodiscard]] E& back() const { return (*this)[size() - 1]; }

    // Valid in the transaction until the vector changes.
    [[nodiscard]] E* begin() const {
        const auto a = elements_.get();
        return a ? a.first() : nullptr;
    }
    [[nodiscard]] E* end() const { return begin() + size(); }

    void reserve(tx<H>& t, std::size_t wanted) {
        const auto old = elements_.get();
        if (wanted <= (old ? old.size() : 0)) return;
        auto wider = t.template make_array<E[]>(wanted);
        const std::size_t n = size();
        if constexpr (detail::is_p<E>) {
            if (n != 0) t.running().move_bytes(wider.first(), old.first(), n * sizeof(E));
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                detail::copy_field(t, wider.first()[i], old.first()[i]);
            }
        }
        elements_.set(t, wider);
    }
    template <class V>
    void push_back(tx<H>& t, const V& value) {
        append(t).set(t, value);
    }
    /// Appends an element to be set by the caller: zero, or as pop_back() left it.
    E& append(tx<H>& t) {
        const std::size_t n = size();
        const std::size_t room = capacity();
        if (n == room) reserve(t, room == 0 ? first_capacity : 2 * room);
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
        const std::size_t n = size();
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
    // A removed element must not keep an object alive.
    void release(tx<H>& t, std::size_t i) {
        if constexpr (detail::is_ptr<E> || detail::is_weak<E>) {
            elements_.get().first()[i].set(t, nullptr);
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
        std::string s(size(), '\0');
        if (!s.empty()) bytes_.get().read(0, s.data(), s.size());
        return s;
    }
    operator std::string() const { return str(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] char operator[](std::size_t i) const {
        if (i >= size()) [[unlikely]]
            detail::misuse("an index is beyond the end of an nv::string");
        return bytes_.get().first()[i];
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
        const std::size_t n = size();
        const auto old = bytes_.get();
        if (n + s.size() > (old ? old.size() : 0)) {
            auto wider = t.template make_array<p<char>[]>(std::max(n + s.size(), 2 * n));
            if (n != 0) t.running().move_bytes(wider.first(), old.first(), n);
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
    p<std::size_t> size_;
    ptr<p<char>[], H> bytes_;

   public:
    static constexpr auto nv_members = std::tuple{&basic_string::size_, &basic_string::bytes_};
};
using string = basic_string<>;

}  // namespace hf::nv
