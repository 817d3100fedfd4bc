// holdfast/nv/transaction.hpp: tx<H>, a program's handle to change a heap of brand H.
#pragma once

#include <holdfast/nv/describe.hpp>

#include <new>

namespace hf::nv {

namespace detail {
[[nodiscard]] transaction& transaction_of(attempt& a) noexcept;

/// Passes on arguments of make(); a persistent field is replaced by its value.
template <class A>
A&& value_of(A&& a) noexcept {
    return static_cast<A&&>(a);
}
template <class T>
T value_of(p<T>& a) {
    return a.get();
}
template <class T, class H>
cursor<T, H> value_of(ptr<T, H>& a) {
    return a.get();
}
}  // namespace detail

/// The argument of atomic()'s function. Do not keep it, or use it in another thread.
template <class H>
class tx {
   public:
    explicit tx(detail::attempt& a) noexcept : running_(detail::transaction_of(a)), counts_(a) {}
    tx(const tx&) = delete;
    tx& operator=(const tx&) = delete;

    /// Makes an object T{arguments...}. It is freed at the commit unless a pointer or a ref points
    /// to it.
    template <class T, class... A>
    [[nodiscard]] cursor<T, H> make(A&&... arguments) {
        static_assert(!is_array_type<T>::value, "holdfast: use make_array<T[]>(length)");
        static_assert(check_persistent<T, H>());
        static_assert(std::is_trivially_destructible_v<T>,
                      "holdfast: no C++ destructor runs in a heap: what has to happen before an "
                      "object goes belongs into nv_destroy(tx)");
        std::byte* const at = detail::make_object(counts_, detail::info_of<T>(), 0);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
        ::new (static_cast<void*>(at)) T{detail::value_of(std::forward<A>(arguments))...};
#pragma GCC diagnostic pop
        return cursor<T, H>::at(at, running_.serial());
    }
    /// Makes an array of `length` zeros or null pointers: make_array<p<int>[]>(100).
    template <class A>
    [[nodiscard]] cursor<A, H> make_array(std::size_t length) {
        static_assert(is_array_type<A>::value, "holdfast: use make_array<T[]>(length)");
        static_assert(check_persistent<A, H>());
        return cursor<A, H>::at(detail::make_object(counts_, detail::info_of<A>(), length),
                                running_.serial());
    }

    /// As make_array(), but null if the heap has no room for it: the transaction goes on.
    template <class A>
    [[nodiscard]] cursor<A, H> try_make_array(std::size_t length) {
        static_assert(is_array_type<A>::value, "holdfast: an array has a type T[]");
        static_assert(check_persistent<A, H>());
        return cursor<A, H>::at(detail::try_make_object(counts_, detail::info_of<A>(), length),
                                running_.serial());
    }

    /// Aborts the transaction: it has no effect, and atomic() returns errc::aborted.
    [[noreturn]] static void abort() { transaction::abort(); }
    /// Aborts this attempt and runs the transaction again after a delay that grows.
    [[noreturn]] static void retry() { transaction::retry(); }
    /// Aborts the transaction: it has no effect, and atomic() returns `why`.
    [[noreturn]] static void fail(error why) { transaction::fail(std::move(why)); }

    [[nodiscard]] transaction& running() noexcept { return running_; }
    operator transaction&() noexcept { return running_; }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] detail::attempt& counts() noexcept { return counts_; }

   private:
    transaction& running_;
    detail::attempt& counts_;
};

}  // namespace hf::nv
