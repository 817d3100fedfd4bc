// holdfast/heap.hpp: persistent objects with pointers, changed by transactions.
//
// Purpose. A heap is a file that holds objects of your own types. They point to each other, and
// live as long as something leads to them; a transaction changes them, all of it or nothing,
// whatever crash comes. The design is that of NV-heaps (Coburn et al., ASPLOS 2011, sections 2
// and 3).
//
//     struct node {
//         hf::nv::p<int> value;
//         hf::nv::ptr<node> next;
//     };
//     auto heap = hf::nv::heap<>::open("list.hf").value();
//     auto head = heap.root<node>("head").value();
//     heap.atomic([&](auto& tx) {
//         head.set(tx, tx.template make<node>(42, head.get()));
//     }).value();
//
// What does not compile: types that would not survive (nv/describe.hpp), writing without a
// transaction, pointers into other heaps (brands), copies of persistent fields. What only run time
// can see is an error by one comparison (nv/pointer.hpp, nv/reference.hpp).
//
// On the medium, invariants, recovery: docs/heap.md and src/heap/core.hpp.
//
// Concurrency. Any number of threads up to 255 run transactions; conflicts are found by cache line
// (transaction.hpp). collect(), check() and close() need the heap for themselves.
#pragma once

#include <holdfast/nv/transaction.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

namespace hf::nv {

/// How commits become durable; of a heap that is made, others have theirs.
enum class engine : std::uint32_t {
    redo = 1,  ///< one fence
    undo = 2,  ///< the paper's log; three fences
};

struct heap_options {
    region_options region;
    nv::engine engine = nv::engine::redo;
    /// 1 ms to 10 s: how long the log of commits is kept, and, on a disk, how often what has
    /// committed is made durable where nobody waits. 0: only where somebody does.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
};

struct heap_testing;  ///< src/heap/testing.hpp

/// What check() has found.
struct heap_report {
    std::uint64_t objects = 0;      ///< proxies and arrays among them
    std::uint64_t proxies = 0;      ///< of these, what weak pointers lead to
    std::uint64_t bytes = 0;        ///< of their blocks
    std::uint64_t reachable = 0;    ///< from roots, refs and what waits to be destroyed
    std::uint64_t unreachable = 0;  ///< in cycles: what collect() would free
    std::uint64_t orphans = 0;      ///< held by refs alone
    std::uint64_t doomed = 0;       ///< dead, and waiting for their turn
    std::vector<std::string> violations;
    [[nodiscard]] bool ok() const noexcept { return violations.empty(); }
};

struct heap_statistics {
    std::uint64_t commits = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t log_records = 0;
    std::uint64_t log_bytes = 0;
    std::uint64_t recovered_records = 0;  ///< that the opening found
};

namespace detail {

using hf::detail::isolation;

/// An open heap, whatever its brand.
class heap_base {
   public:
    [[nodiscard]] static result<heap_base> open(const std::filesystem::path& path,
                                                std::string_view brand, const heap_options& options,
                                                isolation kept = isolation::threads);
    [[nodiscard]] static result<heap_base> make_volatile(std::uint64_t bytes,
                                                         std::string_view brand,
                                                         const heap_options& options);
    heap_base(heap_base&&) noexcept;
    heap_base& operator=(heap_base&&) noexcept;
    heap_base(const heap_base&) = delete;
    heap_base& operator=(const heap_base&) = delete;
    ~heap_base();

    [[nodiscard]] transactional& runner() const;
    [[nodiscard]] core& inner() const noexcept { return *core_; }
    /// {address of the pointer, what says that the heap is open}.
    [[nodiscard]] result<std::pair<std::byte*, held*>> root(std::string_view name,
                                                            const type_info& type);
    [[nodiscard]] result<void> learn(const type_info& type);
    [[nodiscard]] result<std::uint64_t> upgrade(const type_info& from, const type_info& to,
                                                const converter& f);
    [[nodiscard]] result<std::uint64_t> collect();
    [[nodiscard]] result<heap_report> check() const;
    [[nodiscard]] heap_statistics numbers() const;
    /// Ends the epoch, and waits until all that was stored in it is durable.
    [[nodiscard]] result<void> checkpoint();
    result<void> close();
    [[nodiscard]] bool is_read_only() const noexcept { return is_read_only_; }
    /// Ends the running transaction with errc::denied.
    [[noreturn]] static void refuse_writes();

   private:
    friend struct hf::nv::heap_testing;
    explicit heap_base(std::unique_ptr<core> c) noexcept;
    void check_not_in_use() const;
    std::unique_ptr<core> core_;
    transactional* runner_ = nullptr;
    bool is_read_only_ = false;
};

/// From the begin of a transaction's function to its end.
class attempt_scope {
   public:
    attempt_scope(core& c, transaction& t);
    attempt_scope(const attempt_scope&) = delete;
    attempt_scope& operator=(const attempt_scope&) = delete;
    ~attempt_scope() { current = before_; }
    [[nodiscard]] attempt& counts() const noexcept { return *current; }

   private:
    attempt* before_;
};

}  // namespace detail

/// For upgrades: what an old object's pointer leads to, as an object of the new type. Not to be
/// followed before the upgrade has ended.
template <class New, class Old, class H>
[[nodiscard]] cursor<New, H> upgraded(const ptr<Old, H>& from) {
    const cursor<Old, H> c = from.get();
    return cursor<New, H>::at(c.address(), transaction::running()->serial());
}
template <class New, class Old, class H>
[[nodiscard]] cursor<New, H> upgraded(const weak<Old, H>& from) {
    const cursor<Old, H> c = from.get();
    return cursor<New, H>::at(c.address(), transaction::running()->serial());
}

/// A pointer of a heap that is found by its name: where everything is reached from. In ordinary
/// memory; used in transactions, as a ptr is.
template <class T, class H = common>
class root {
   public:
    root(std::byte* at, detail::held* open) noexcept
        : at_(reinterpret_cast<ptr<T, H>*>(at)), open_(open) {}
    root(const root& other) noexcept : at_(other.at_), open_(other.open_) {
        open_->strong.fetch_add(1, std::memory_order_relaxed);
    }
    root& operator=(root other) noexcept {
        std::swap(at_, other.at_);
        std::swap(open_, other.open_);
        return *this;
    }
    ~root() { detail::drop(open_); }

    [[nodiscard]] ptr<T, H>& operator*() const {
        const transaction* const t = transaction::running();
        if (open_->state.load(std::memory_order_acquire) != detail::held::live || t == nullptr ||
            !t->covers(at_)) [[unlikely]] {
            detail::bad_reference(open_);
        }
        return *at_;
    }
    [[nodiscard]] cursor<T, H> get() const { return (**this).get(); }
    [[nodiscard]] auto operator->() const
        requires(!is_array_type<T>::value)
    {
        return get().operator->();
    }
    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(get()); }
    template <class To>
    void set(tx<H>& t, To&& to) const {
        (**this).set(t, std::forward<To>(to));
    }

   private:
    ptr<T, H>* at_;
    detail::held* open_;
};

template <class H = common>
class heap {
   public:
    /// Opens the heap in the file `path`, making it where options.region.mode allows that. After a
    /// crash it holds what has committed. errc::incompatible: the file is of another discipline,
    /// brand or version.
    [[nodiscard]] static result<heap> open(const std::filesystem::path& path,
                                           const heap_options& options = {}) {
        auto base =
            detail::heap_base::open(path, detail::common_name(detail::raw_type_name<H>()), options);
        if (!base) return tl::unexpected(base.error());
        return heap(std::move(*base));
    }
    /// One in ordinary memory, that ends with the process: transactions, but nothing durable.
    [[nodiscard]] static result<heap> make_volatile(std::uint64_t bytes,
                                                    const heap_options& options = {}) {
        auto base = detail::heap_base::make_volatile(
            bytes, detail::common_name(detail::raw_type_name<H>()), options);
        if (!base) return tl::unexpected(base.error());
        return heap(std::move(*base));
    }

    /// Runs f(tx&) as a transaction and gives what it returns: transaction.hpp, transactional.
    /// errc::denied: the heap was opened with open_mode::inspect; use read().
    template <class F>
    [[nodiscard]] auto atomic(F&& f) {
        return base_.runner().atomic(in_heap(f, true));
    }
    template <class F>
    [[nodiscard]] auto later(F&& f, ticket& when) {
        return base_.runner().later(in_heap(f, true), when);
    }
    template <class F>
    [[nodiscard]] auto read(F&& f) {
        return base_.runner().read(in_heap(f, false));
    }
    result<void> wait_durable(ticket when) { return base_.runner().wait_durable(when); }
    [[nodiscard]] bool durable(ticket when) const { return base_.runner().durable(when); }

    /// The pointer of that name; null at first. Not in a transaction. errc::incompatible: it is one
    /// to another type, or a type that is met from it lies otherwise in the heap than in this
    /// program; the error names type and member.
    template <class T>
    [[nodiscard]] result<nv::root<T, H>> root(std::string_view name) {
        static_assert(check_persistent<T, H>());
        auto found = base_.root(name, detail::info_of<T>());
        if (!found) return tl::unexpected(found.error());
        return nv::root<T, H>(found->first, found->second);
    }
    /// Tells the heap a type before an object of it is met: so that nv_destroy() of objects that
    /// wait for it since a crash can run.
    template <class T>
    [[nodiscard]] result<void> learn() {
        static_assert(check_persistent<T, H>());
        return base_.learn(detail::info_of<T>());
    }
    /// Has all objects of the type Old become ones of New, which has the same nv_name and another
    /// layout, by f(tx, Old&, New&): New is zeros before. Gives how many; 0 where the heap has no
    /// Old. In transactions of a few objects each: cut short, the next call goes on, and until it
    /// has ended no root is given. f may be called twice for an object, of which the first then has
    /// not happened. Before root<New>(), without refs; no transaction may be running.
    template <class Old, class New, class F>
    [[nodiscard]] result<std::uint64_t> upgrade(F&& f) {
        static_assert(check_persistent<Old, H>() && check_persistent<New, H>());
        static_assert(!is_array_type<Old>::value && !is_array_type<New>::value,
                      "holdfast: objects are upgraded, not arrays");
        return base_.upgrade(detail::info_of<Old>(), detail::info_of<New>(),
                             [&f](detail::attempt& a, std::byte* from, std::byte* to) {
                                 tx<H> t(a);
                                 f(t, *reinterpret_cast<Old*>(from), *reinterpret_cast<New*>(to));
                             });
    }

    /// Frees what nothing leads to: cycles. Gives how many objects. No transaction may be running.
    [[nodiscard]] result<std::uint64_t> collect() { return base_.collect(); }
    /// Verifies counts, pointers, types and the allocator's books. No transaction may be running.
    [[nodiscard]] result<heap_report> check() const { return base_.check(); }
    [[nodiscard]] heap_statistics numbers() const { return base_.numbers(); }
    /// Leaves the file; volatile references are refused from here on. errc::usage: the calling
    /// thread is in a transaction; the heap stays open. No other thread may be in one.
    result<void> close() { return base_.close(); }

   private:
    friend struct heap_testing;
    explicit heap(detail::heap_base base) noexcept : base_(std::move(base)) {}
    template <class F>
    auto in_heap(F& f, bool writes) {
        static_assert(!std::is_nothrow_invocable_v<F&, tx<H>&>,
                      "holdfast: a transaction's function must not be noexcept: a conflict ends it "
                      "by an exception, after which it is run again");
        return [this, &f, writes](transaction& t) {
            if (writes && base_.is_read_only()) [[unlikely]] {
                detail::heap_base::refuse_writes();
            }
            const detail::attempt_scope scope(base_.inner(), t);
            tx<H> mine(scope.counts());
            return f(mine);
        };
    }
    detail::heap_base base_;
};

}  // namespace hf::nv
