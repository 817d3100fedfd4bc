// holdfast/nv/reference.hpp: references from ordinary memory into a heap, ref and weak_ref.
//
// A ref keeps its object alive beyond transactions, whatever its durable reference count, until its
// last copy is destroyed or the heap is closed. Then, or at the next open after a crash, objects
// that only refs kept alive are reclaimed. Make a ref from a cursor, in a transaction; dereference
// it in transactions; keep and copy it anywhere. A ref to an object that was made by an aborted
// transaction is refused.
//
// Concurrency. Copies of one ref may be used by several threads, as a shared_ptr's may.
#pragma once

#include <holdfast/nv/pointer.hpp>

#include <utility>

namespace hf::nv {

template <class T, class H>
class ref {
   public:
    using cursor_type = cursor<T, H>;

    ref() = default;
    ref(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    ref(const cursor_type& c) {      // NOLINT(google-explicit-constructor)
        std::byte* const p = c.address();
        if (p == nullptr) return;
        held_ =
            detail::hold(detail::attempt_for(p), reinterpret_cast<std::uint64_t>(p) & window_mask);
        at_ = p;
    }
    ref(const ref& other) noexcept : at_(other.at_), held_(other.held_) {
        if (held_ != nullptr) held_->strong.fetch_add(1, std::memory_order_relaxed);
    }
    ref(ref&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), held_(std::exchange(other.held_, nullptr)) {}
    ref& operator=(ref other) noexcept {
        std::swap(at_, other.at_);
        std::swap(held_, other.held_);
        return *this;
    }
    ~ref() {
        if (held_ != nullptr) detail::drop(held_);
    }

    /// The object. Must be called in a transaction of its heap.
    [[nodiscard]] cursor_type get() const {
        if (held_ == nullptr) return nullptr;
        check();
        return cursor_type::at(at_, transaction::running()->serial());
    }
    operator cursor_type() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] T* operator->() const
        requires(!is_array_type<T>::value)
    {
        check();
        return reinterpret_cast<T*>(at_);
    }
    [[nodiscard]] auto& operator*() const
        requires(!is_array_type<T>::value)
    {
        check();
        return *reinterpret_cast<T*>(at_);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
    friend bool operator==(const ref& a, const ref& b) noexcept { return a.at_ == b.at_; }
    friend bool operator==(const ref& a, std::nullptr_t) noexcept { return a.at_ == nullptr; }

   private:
    void check() const {
        const transaction* const t = transaction::running();
        if (held_ == nullptr ||
            held_->state.load(std::memory_order_acquire) != detail::held::live || t == nullptr ||
            !t->covers(at_)) [[unlikely]] {
            detail::bad_reference(held_);
        }
    }
    std::byte* at_ = nullptr;
    detail::held* held_ = nullptr;
};

/// A reference from ordinary memory that does not keep its object alive.
template <class T, class H>
class weak_ref {
   public:
    using cursor_type = cursor<T, H>;

    weak_ref() = default;
    weak_ref(const cursor_type& c) {  // NOLINT(google-explicit-constructor)
        std::byte* const p = c.address();
        if (p == nullptr) return;
        held_ = detail::hold_weakly(detail::attempt_for(p),
                                    reinterpret_cast<std::uint64_t>(p) & window_mask);
        at_ = p;
    }
    weak_ref(const weak_ref& other) noexcept : at_(other.at_), held_(other.held_) {
        if (held_ != nullptr) detail::retain_weakly(held_);
    }
    weak_ref(weak_ref&& other) noexcept
        : at_(std::exchange(other.at_, nullptr)), held_(std::exchange(other.held_, nullptr)) {}
    weak_ref& operator=(weak_ref other) noexcept {
        std::swap(at_, other.at_);
        std::swap(held_, other.held_);
        return *this;
    }
    ~weak_ref() {
        if (held_ != nullptr) detail::drop_weakly(held_);
    }

    /// The object, or null if it has died. Must be called in a transaction of its heap.
    [[nodiscard]] cursor_type get() const {
        if (held_ == nullptr) return nullptr;
        const transaction* const t = transaction::running();
        if (t == nullptr || detail::current == nullptr || !t->covers(at_) ||
            held_->state.load(std::memory_order_acquire) == detail::held::closed) [[unlikely]] {
            detail::bad_reference(held_);
        }
        return detail::is_alive(*detail::current, held_) ? cursor_type::at(at_, t->serial())
                                                         : nullptr;
    }

   private:
    std::byte* at_ = nullptr;
    detail::held* held_ = nullptr;
};

}  // namespace hf::nv
