// holdfast/nv/layers.hpp: the layers of the NV-heaps paper, so that one program runs on each.
//
// Purpose. To measure the cost of each guarantee of a heap (Coburn et al., ASPLOS 2011, sections
// 5.2 and 5.4: table 1 and figure 6). A program written against on<Layer> compiles for all layers:
//
//     template <class Layer>
//     struct program {
//         using on = hf::nv::on<Layer>;
//         struct node {
//             typename on::template p<int> value;
//             typename on::template ptr<node> next;
//         };
//     };
//
//   layer   pointers               objects are freed          stores
//   base    offsets, unchecked     by on::dispose()           in place; durable with a checkpoint
//   safe    checked, weak, refs    when their count is 0      in place; durable with a checkpoint
//   tx      checked, weak, refs    when their count is 0      transactions: atomic and durable
//   c_tx    as tx                  as tx                      and isolated from other threads
//   nodur   as tx                  as tx                      as c_tx, in ordinary memory
//
// Each layer omits the same features as in the paper. base corresponds to the paper's Rio Vista:
// manual memory management and checkpoints, here at each epoch's end or by checkpoint(). A crash
// between two checkpoints may leave any mixture of stores; such a heap has to be created again.
// safe adds reference counts and checked pointers, both durable with the checkpoint too. tx adds a
// commit record and its fence, but no ownership and no validation, so it serves one thread. c_tx is
// the heap of heap.hpp itself, and nodur is that heap in ordinary memory; these two add no types.
//
// The three lower layers are policies of the templates in this file, over the same core, allocator
// and epochs. Their heaps serve the one thread that opened them (detail::isolation); atomic() in
// another thread returns errc::usage. On base and safe, abort() and exceptions undo nothing.
//
// For measurements, and for single-threaded programs; others use heap.hpp.
#pragma once

#include <holdfast/heap.hpp>

#include <cstring>
#include <exception>
#include <memory>
#include <new>

namespace hf::nv {

namespace layer {
struct base {
    static constexpr std::string_view name = "base";
    static constexpr bool counts = false;
    static constexpr detail::isolation kept = detail::isolation::in_place;
};
struct safe {
    static constexpr std::string_view name = "safe";
    static constexpr bool counts = true;
    static constexpr detail::isolation kept = detail::isolation::in_place;
};
struct tx {
    static constexpr std::string_view name = "tx";
    static constexpr bool counts = true;
    static constexpr detail::isolation kept = detail::isolation::alone;
};
struct c_tx {
    static constexpr std::string_view name = "c-tx";
};
struct nodur {
    static constexpr std::string_view name = "nodur";
};
}  // namespace layer

/// The heap type of the layers that are policies: base, safe and tx.
template <class L>
class layered_heap;

namespace detail {

/// Loads a word of an object with the layer's checks.
template <class L, class W>
[[nodiscard]] W load_as(const void* at) {
    const auto* const word = static_cast<const W*>(at);
    if constexpr (L::kept == isolation::in_place) {
        return __atomic_load_n(word, __ATOMIC_RELAXED);
    } else {
        transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]]
            misuse("a field was read outside of a transaction: read it in atomic() or read()");
        return t->load_alone(word);
    }
}

template <class L, class T>
class layered_field {
   public:
    using value_type = T;

    layered_field() = default;
    layered_field(const T& value) : value_(value) {}  // NOLINT(google-explicit-constructor)
    layered_field(const layered_field&) = delete;
    layered_field& operator=(const layered_field&) = delete;
    ~layered_field() = default;

    operator T() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] T get() const {
        static_assert(is_word<T>, "holdfast: what a layer's field holds has 1, 2, 4 or 8 bytes");
        return std::bit_cast<T>(load_as<L, hf::detail::bits_of<sizeof(T)>>(this));
    }
    void set(transaction& t, const T& value) { value_.set(t, value); }

   private:
    p<T> value_;

   public:
    static constexpr auto nv_members = std::tuple{&layered_field::value_};
};

/// A counted pointer: an nv::ptr accessed by the layer's rules.
template <class L, class T>
class layered_ptr {
   public:
    using cursor_type = cursor<T>;

    layered_ptr() = default;
    layered_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    // NOLINTNEXTLINE(google-explicit-constructor)
    layered_ptr(const cursor_type& to) : to_(to) {}
    layered_ptr(const layered_ptr&) = delete;
    layered_ptr& operator=(const layered_ptr&) = delete;
    ~layered_ptr() = default;

    [[nodiscard]] cursor_type get() const {
        const transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]]
            misuse("a pointer was read outside of a transaction: read it in atomic()");
        const std::uint64_t offset = load_as<L, std::uint64_t>(this);
        return cursor_type::at(offset == 0 ? nullptr : t->base() + offset, t->serial());
    }
    operator cursor_type() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] auto operator->() const
        requires(!is_array_type<T>::value)
    {
        return get().operator->();
    }
    [[nodiscard]] explicit operator bool() const { return load_as<L, std::uint64_t>(this) != 0; }
    friend bool operator==(const layered_ptr& a, std::nullptr_t) { return !a; }
    friend bool operator==(const layered_ptr& a, const cursor_type& b) { return a.get() == b; }

    void set(tx<>& t, const cursor_type& to) {
        const std::uint64_t before = load_as<L, std::uint64_t>(this);
        const std::uint64_t after = reinterpret_cast<std::uint64_t>(to.address()) & window_mask;
        if (before == after) return;
        t.running().store(reinterpret_cast<std::uint64_t*>(this), after);
        if (after != 0) add_count(t.counts(), after, 1);
        if (before != 0) add_count(t.counts(), before, -1);
    }
    void set(tx<>& t, const layered_ptr& to) { set(t, to.get()); }
    void set(tx<>& t, std::nullptr_t) { set(t, cursor_type()); }

   private:
    ptr<T> to_;

   public:
    static constexpr auto nv_members = std::tuple{&layered_ptr::to_};
};

template <class L, class T>
class layered_weak {
   public:
    using cursor_type = cursor<T>;

    layered_weak() = default;
    layered_weak(const layered_weak&) = delete;
    layered_weak& operator=(const layered_weak&) = delete;
    ~layered_weak() = default;

    [[nodiscard]] cursor_type get() const {
        const transaction* const t = transaction::running();
        if (t == nullptr) [[unlikely]]
            misuse("a pointer was read outside of a transaction: read it in atomic()");
        const std::uint64_t proxy = load_as<L, std::uint64_t>(this);
        if (proxy == 0) return nullptr;
        const std::uint64_t offset = load_as<L, std::uint64_t>(t->base() + proxy);
        return cursor_type::at(offset == 0 ? nullptr : t->base() + offset, t->serial());
    }
    void set(tx<>& t, const cursor_type& to) { to_.set(t, to); }
    void set(tx<>& t, std::nullptr_t) { to_.set(t, nullptr); }

   private:
    weak<T> to_;

   public:
    static constexpr auto nv_members = std::tuple{&layered_weak::to_};
};

/// An array's elements, after their length; the same layout as nv::cursor<E[]>.
template <class E>
class raw_array {
   public:
    raw_array() = default;
    raw_array(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    explicit raw_array(std::byte* at) noexcept : at_(at) {}
    [[nodiscard]] explicit operator bool() const noexcept { return at_ != nullptr; }
    [[nodiscard]] std::size_t size() const noexcept {
        return *reinterpret_cast<const std::uint64_t*>(at_);
    }
    [[nodiscard]] E& operator[](std::size_t i) const noexcept { return first()[i]; }
    [[nodiscard]] E* first() const noexcept { return reinterpret_cast<E*>(at_ + array_head); }
    [[nodiscard]] std::byte* address() const noexcept { return at_; }

   private:
    std::byte* at_ = nullptr;
};
template <class T>
struct raw_cursor {
    using type = T*;
    static std::byte* address_of(T* to) noexcept { return reinterpret_cast<std::byte*>(to); }
    static T* at(std::byte* p) noexcept { return reinterpret_cast<T*>(p); }
};
template <class E>
struct raw_cursor<E[]> {
    using type = raw_array<E>;
    static std::byte* address_of(type to) noexcept { return to.address(); }
    static type at(std::byte* p) noexcept { return type(p); }
};

/// A pointer of the layer base: an unchecked, uncounted offset. Heap checks do not follow it.
template <class T>
class raw_ptr {
   public:
    using cursor_type = typename raw_cursor<T>::type;

    raw_ptr() = default;
    raw_ptr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
    // NOLINTNEXTLINE(google-explicit-constructor)
    raw_ptr(const cursor_type& to) : to_(offset_of(to)) {}
    raw_ptr(const raw_ptr&) = delete;
    raw_ptr& operator=(const raw_ptr&) = delete;
    ~raw_ptr() = default;

    [[nodiscard]] cursor_type get() const noexcept {
        const auto offset = load_as<layer::base, std::uint64_t>(this);
        const auto window = reinterpret_cast<std::uint64_t>(this) & ~window_mask;
        return raw_cursor<T>::at(offset == 0 ? nullptr
                                             : reinterpret_cast<std::byte*>(window + offset));
    }
    operator cursor_type() const { return get(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] auto operator->() const
        requires(!is_array_type<T>::value)
    {
        return get();
    }
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(get()); }
    friend bool operator==(const raw_ptr& a, std::nullptr_t) { return !a; }
    void set(transaction& t, const cursor_type& to) { to_.set(t, offset_of(to)); }
    void set(transaction& t, const raw_ptr& to) { set(t, to.get()); }
    void set(transaction& t, std::nullptr_t) { to_.set(t, 0); }

   private:
    static std::uint64_t offset_of(const cursor_type& to) noexcept {
        return reinterpret_cast<std::uint64_t>(raw_cursor<T>::address_of(to)) & window_mask;
    }
    p<std::uint64_t> to_;

   public:
    static constexpr auto nv_members = std::tuple{&raw_ptr::to_};
};

/// The argument of atomic()'s function on the layer base.
class raw_tx {
   public:
    explicit raw_tx(attempt& a) noexcept : running_(transaction_of(a)) {}
    raw_tx(const raw_tx&) = delete;
    raw_tx& operator=(const raw_tx&) = delete;

    template <class T, class... A>
    [[nodiscard]] T* make(A&&... arguments) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
        return ::new (static_cast<void*>(running_.allocate(sizeof(T))))
            T{std::forward<A>(arguments)...};
#pragma GCC diagnostic pop
    }
    template <class A>
    [[nodiscard]] raw_array<std::remove_extent_t<A>> make_array(std::size_t length) {
        const std::size_t bytes = array_head + length * sizeof(std::remove_extent_t<A>);
        std::byte* const at = running_.allocate(bytes);
        std::memset(at, 0, bytes);
        std::memcpy(at, &length, sizeof length);
        return raw_array<std::remove_extent_t<A>>(at);
    }
    template <class T>
    void dispose(T* what) {
        running_.release(what, sizeof(T));
    }
    [[nodiscard]] transaction& running() noexcept { return running_; }
    operator transaction&() noexcept { return running_; }  // NOLINT(google-explicit-constructor)

   private:
    transaction& running_;
};

/// A root handle with the layer's pointer type.
template <class P>
class layered_root {
   public:
    using cursor_type = typename P::cursor_type;
    explicit layered_root(P* at) noexcept : at_(at) {}
    [[nodiscard]] P& operator*() const noexcept { return *at_; }
    [[nodiscard]] cursor_type get() const { return at_->get(); }
    [[nodiscard]] auto operator->() const { return at_->operator->(); }
    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(*at_); }
    template <class X, class To>
    void set(X& t, To&& to) const {
        at_->set(t, std::forward<To>(to));
    }

   private:
    P* at_;
};
/// The object in which the layer base stores a root's offset.
struct raw_anchor {
    static constexpr std::string_view nv_name = "hf::nv::raw_anchor";
    p<std::uint64_t> to;
};

}  // namespace detail

/// The types and functions of a layer, for programs that run on several.
template <class L>
struct on {
    using layer = L;
    static constexpr bool counts = L::counts;
    static constexpr bool has_threads = false;
    using heap = layered_heap<L>;
    using tx = std::conditional_t<L::counts, nv::tx<>, detail::raw_tx>;
    template <class T>
    using p = detail::layered_field<L, T>;
    template <class T>
    using ptr = std::conditional_t<L::counts, detail::layered_ptr<L, T>, detail::raw_ptr<T>>;
    /// Does not keep its object alive; on base the same as ptr.
    template <class T>
    using weak = std::conditional_t<L::counts, detail::layered_weak<L, T>, detail::raw_ptr<T>>;
    template <class T>
    using cursor = typename ptr<T>::cursor_type;
    template <class T>
    using ref = std::conditional_t<L::counts, nv::ref<T>, cursor<T>>;
    template <class T>
    using root = detail::layered_root<ptr<T>>;

    [[nodiscard]] static result<heap> open(const std::filesystem::path& path, std::uint64_t,
                                           const heap_options& options) {
        return heap::open(path, options);
    }
    /// Frees an unreachable object on base; call it once for each. On other layers it does nothing:
    /// the reference count has freed the object.
    template <class T>
    static void dispose(tx& t, const cursor<T>& what) {
        if constexpr (!L::counts) t.dispose(what);
    }
};

namespace detail {
struct on_transactions {
    static constexpr bool counts = true;
    static constexpr bool has_threads = true;
    using heap = nv::heap<>;
    using tx = nv::tx<>;
    template <class T>
    using p = nv::p<T>;
    template <class T>
    using ptr = nv::ptr<T>;
    template <class T>
    using weak = nv::weak<T>;
    template <class T>
    using cursor = nv::cursor<T>;
    template <class T>
    using ref = nv::ref<T>;
    template <class T>
    using root = nv::root<T>;
    template <class T>
    static void dispose(tx&, const cursor<T>&) {}
};
}  // namespace detail

template <>
struct on<layer::c_tx> : detail::on_transactions {
    using layer = nv::layer::c_tx;
    [[nodiscard]] static result<heap> open(const std::filesystem::path& path, std::uint64_t,
                                           const heap_options& options) {
        return heap::open(path, options);
    }
};
/// `open` takes a size in bytes, and no file.
template <>
struct on<layer::nodur> : detail::on_transactions {
    using layer = nv::layer::nodur;
    [[nodiscard]] static result<heap> open(const std::filesystem::path&, std::uint64_t bytes,
                                           const heap_options& options) {
        return heap::make_volatile(bytes, options);
    }
};

template <class L>
class layered_heap {
   public:
    template <class T>
    using root_type = typename on<L>::template root<T>;
    using tx_type = typename on<L>::tx;

    [[nodiscard]] static result<layered_heap> open(const std::filesystem::path& path,
                                                   const heap_options& options) {
        auto base = detail::heap_base::open(path, L::name, options, L::kept);
        if (!base) return tl::unexpected(base.error());
        return layered_heap(std::move(*base));
    }

    /// As heap::atomic(); but on base and safe, stores before an error or exception remain.
    template <class F>
    auto atomic(F&& f) -> result<std::invoke_result_t<F&, tx_type&>> {
        if constexpr (L::kept == detail::isolation::in_place) {
            return run_in_place(f);
        } else {
            return base_.runner().atomic(in_heap(f));
        }
    }
    template <class F>
    auto read(F&& f) {
        return base_.runner().read(in_heap(f));
    }
    template <class T>
    [[nodiscard]] result<root_type<T>> root(std::string_view name) {
        using pointer = typename on<L>::template ptr<T>;
        if constexpr (L::counts) {
            static_assert(check_persistent<T>());
            static_assert(sizeof(pointer) == sizeof(ptr<T>));
            auto found = base_.root(name, detail::info_of<T>());
            if (!found) return tl::unexpected(found.error());
            detail::drop(found->second);
            return root_type<T>(reinterpret_cast<pointer*>(found->first));
        } else {
            return raw_root<T>(name);
        }
    }
    /// Returns when all earlier stores are durable.
    [[nodiscard]] result<void> checkpoint() { return base_.checkpoint(); }
    /// Not available on base, whose objects the heap does not know.
    [[nodiscard]] result<heap_report> check() const
        requires(L::counts)
    {
        return base_.check();
    }
    [[nodiscard]] heap_statistics numbers() const { return base_.numbers(); }
    result<void> close() { return base_.close(); }

   private:
    explicit layered_heap(detail::heap_base base) noexcept : base_(std::move(base)) {}
    template <class F>
    auto in_heap(F& f) {
        return [this, &f](transaction& t) {
            const detail::attempt_scope scope(base_.inner(), t);
            tx_type mine(scope.counts());
            return f(mine);
        };
    }
    /// Commits even after an error, so that counts and allocator agree with the stores in place.
    template <class F>
    auto run_in_place(F& f) -> result<std::invoke_result_t<F&, tx_type&>> {
        using value = std::invoke_result_t<F&, tx_type&>;
        result<value> found = tl::unexpected(error{});
        std::exception_ptr thrown;
        auto done = base_.runner().atomic([&](transaction& t) {
            try {
                if constexpr (std::is_void_v<value>) {
                    in_heap(f)(t);
                    found = result<void>{};
                } else {
                    found = in_heap(f)(t);
                }
            } catch (hf::detail::transaction_failure& e) {
                found = tl::unexpected(std::move(e.why));
            } catch (...) {
                thrown = std::current_exception();
            }
        });
        if (thrown) std::rethrow_exception(thrown);
        if (!done) return tl::unexpected(done.error());
        return found;
    }
    template <class T>
    result<root_type<T>> raw_root(std::string_view name) {
        using pointer = typename on<L>::template ptr<T>;
        auto found = base_.root(name, detail::info_of<detail::raw_anchor>());
        if (!found) return tl::unexpected(found.error());
        auto& anchor = *reinterpret_cast<ptr<detail::raw_anchor>*>(found->first);
        detail::drop(found->second);
        auto at = base_.runner().atomic([&](transaction& t) {
            const detail::attempt_scope scope(base_.inner(), t);
            tx<> mine(scope.counts());
            if (!anchor) anchor.set(mine, mine.make<detail::raw_anchor>(std::uint64_t{0}));
            return reinterpret_cast<pointer*>(anchor.get().address());
        });
        if (!at) return tl::unexpected(at.error());
        return root_type<T>(*at);
    }
    detail::heap_base base_;
};

}  // namespace hf::nv
