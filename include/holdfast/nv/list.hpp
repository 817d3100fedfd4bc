// holdfast/nv/list.hpp: a singly linked list and a queue in a heap, written with the public
// interface alone.
//
// Value is a field: nv::p<T>, nv::ptr<T, H>, or a struct of these. Without a value, an insertion
// returns the new element, whose fields the caller sets: jobs.push(tx)->value.size.set(tx, 1). Cost
// in a transaction: an insertion makes one object and stores the words that point to it; it touches
// nothing else.
#pragma once

#include <holdfast/nv/transaction.hpp>

#include <cstddef>

namespace hf::nv {

namespace detail {

template <class V, class H, class U>
void set_element(tx<H>& t, V& element, const U& value) {
    static_assert(
        requires { element.set(t, value); },
        "the element is a struct: insert it without a value, and set its fields");
    if constexpr (requires { element.set(t, value); }) element.set(t, value);
}

}  // namespace detail

/// Singly linked. A back pointer would have to be weak, at the cost of a proxy for each element.
/// Elements are inserted and erased after a known one.
template <class V, class H = common>
class forward_list {
   public:
    struct entry {
        ptr<entry, H> next;
        V value;
    };
    using cursor_type = cursor<entry, H>;

    [[nodiscard]] bool empty() const { return !first_; }
    [[nodiscard]] cursor_type front() const { return first_; }
    cursor_type push_front(tx<H>& t) {
        auto made = t.template make<entry>(first_.get());
        first_.set(t, made);
        return made;
    }
    template <class U>
    cursor_type push_front(tx<H>& t, const U& value) {
        auto made = push_front(t);
        detail::set_element(t, made->value, value);
        return made;
    }
    void pop_front(tx<H>& t) {
        const auto e = first_.get();
        if (!e) [[unlikely]]
            detail::misuse("pop_front() of an empty list");
        first_.set(t, e->next);
    }
    cursor_type insert_after(tx<H>& t, const cursor_type& where) {
        auto made = t.template make<entry>(where->next.get());
        where->next.set(t, made);
        return made;
    }
    template <class U>
    cursor_type insert_after(tx<H>& t, const cursor_type& where, const U& value) {
        auto made = insert_after(t, where);
        detail::set_element(t, made->value, value);
        return made;
    }
    void erase_after(tx<H>& t, const cursor_type& where) {
        const auto e = where->next.get();
        if (!e) [[unlikely]]
            detail::misuse("erase_after() of the last element of a list");
        where->next.set(t, e->next);
    }
    void clear(tx<H>& t) { first_.set(t, nullptr); }
    template <class F>
    void for_each(F&& visit) const {
        for (cursor_type e = first_; e; e = e->next) visit(e->value);
    }

    forward_list() = default;
    forward_list(const forward_list&) = delete;
    forward_list& operator=(const forward_list&) = delete;
    ~forward_list() = default;

   private:
    ptr<entry, H> first_;

   public:
    static constexpr auto nv_members = std::tuple{&forward_list::first_};
};

/// First in, first out. The two ends are in different cache lines if possible, so that push() and
/// pop() conflict only when the queue is nearly empty.
template <class V, class H = common>
class queue {
   public:
    struct entry {
        ptr<entry, H> next;
        V value;
    };
    using cursor_type = cursor<entry, H>;

    [[nodiscard]] bool empty() const { return !first_; }
    [[nodiscard]] cursor_type front() const { return first_; }
    template <class U>
    void push(tx<H>& t, const U& value) {
        detail::set_element(t, push(t)->value, value);
    }
    cursor_type push(tx<H>& t) {
        auto made = t.template make<entry>(nullptr);
        if (const auto last = last_.get()) {
            last->next.set(t, made);
        } else {
            first_.set(t, made);
        }
        last_.set(t, made);
        return made;
    }
    void pop(tx<H>& t) {
        const auto e = first_.get();
        if (!e) [[unlikely]]
            detail::misuse("pop() of an empty queue");
        const auto next = e->next.get();
        first_.set(t, next);
        if (!next) last_.set(t, nullptr);
    }
    void clear(tx<H>& t) {
        first_.set(t, nullptr);
        last_.set(t, nullptr);
    }

    queue() = default;
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    ~queue() = default;

   private:
    ptr<entry, H> first_;
    bytes<56> between_;
    ptr<entry, H> last_;

   public:
    static constexpr auto nv_members = std::tuple{&queue::first_, &queue::between_, &queue::last_};
};

}  // namespace hf::nv
