// holdfast/heap.hpp: persistent objects with pointers, changed by transactions.
//
// Purpose. A heap is a file with objects of the program's own types. Objects point to each other,
// and live as long as they are reachable. Transactions change them: a crash leaves all changes of a
// transaction or none. The design is that of NV-heaps (Coburn et al., ASPLOS 2011, sections 2 and
// 3).
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
// The compiler rejects types that would not survive (nv/describe.hpp), writes without a
// transaction, pointers into other heaps (brands), and copies of persistent fields. Mistakes that
// only show at run time are detected by one comparison (nv/pointer.hpp, nv/reference.hpp).
//
// On the medium, invariants, recovery: docs/heap.md and src/heap/core.hpp.
//
// Concurrency. Up to 255 threads run transactions; conflicts are detected by cache line
// (transaction.hpp). During collect(), check() and close() no transaction may run.
#pragma once

#include <holdfast/nv/transaction.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

namespace hf::nv {

/// How commits become durable. Applies to new heaps; an existing heap keeps its engine.
enum class engine : std::uint32_t {
    redo = 1,  ///< redo log: one fence a commit
    undo = 2,  ///< undo log, as in the paper: three fences a commit
    /// Shadow paging: one fence or two, and no logged data. Each line has two places, so it takes
    /// up to twice the space.
    shadow = 3,
};

struct heap_options {
    region_options region;
    nv::engine engine = nv::engine::redo;
    /// 1 ms to 10 s. How long commit log records are kept; on a disk also how often commits become
    /// durable if no thread waits for one. 0: only when a thread waits.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
};

struct heap_testing;  ///< src/heap/testing.hpp

/// The findings of check().
struct heap_report {
    std::uint64_t objects = 0;      ///< including proxies and arrays
    std::uint64_t proxies = 0;      ///< proxies alone: the targets of weak pointers
    std::uint64_t bytes = 0;        ///< in the objects' blocks
    std::uint64_t reachable = 0;    ///< from roots, refs and objects that wait for destruction
    std::uint64_t unreachable = 0;  ///< in cycles; collect() frees them
    std::uint64_t orphans = 0;      ///< reachable from refs only
    std::uint64_t doomed = 0;       ///< dead, and queued for destruction
    std::vector<std::string> violations;
    [[nodiscard]] bool ok() const noexcept { return violations.empty(); }
};

struct heap_statistics {
    std::uint64_t commits = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t log_records = 0;
    std::uint64_t log_bytes = 0;
    std::uint64_t recovered_records = 0;  ///< commit records found by recovery
    /// Of engine::shadow: second slots of pages, of 4 KiB each; the free ones among them; bytes
    /// beyond these that the heap leaves free for more; pages and lines that this session has
    /// consolidated to one slot.
    std::uint64_t slots = 0;
    std::uint64_t free_slots = 0;
    std::uint64_t kept_for_slots = 0;
    std::uint64_t consolidated_pages = 0;
    std::uint64_t consolidated_lines = 0;
};

namespace detail {

using hf::detail::isolation;

/// An open heap; the brand is a run-time value here.
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
    /// The address of the root pointer, and the handle that tells whether the heap is open.
    [[nodiscard]] result<std::pair<std::byte*, held*>> root(std::string_view name,
                                                            const type_info& type);
    [[nodiscard]] result<void> learn(const type_info& type);
    [[nodiscard]] result<std::uint64_t> upgrade(const type_info& from, const type_info& to,
                                                const converter& f);
    [[nodiscard]] result<std::uint64_t> collect();
    [[nodiscard]] result<heap_report> check() const;
    [[nodiscard]] heap_statistics numbers() const;
    /// Ends the epoch, and waits until everything stored in it is durable.
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

/// Sets the thread's current attempt while the user's function runs.
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

/// For upgrade(): the target of an old object's pointer, as an object of the new type. Do not
/// dereference it before the upgrade has ended.
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

/// A named root pointer of a heap. The handle is in ordinary memory; it is used in transactions
/// like a ptr.
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
    /// Opens the heap in the file `path`, or creates it if options.region.mode allows that. After a
    /// crash the heap contains exactly the committed transactions. errc::incompatible: the file has
    /// another discipline, brand or version.
    [[nodiscard]] static result<heap> open(const std::filesystem::path& path,
                                           const heap_options& options = {}) {
        auto base =
            detail::heap_base::open(path, detail::common_name(detail::raw_type_name<H>()), options);
        if (!base) return tl::unexpected(base.error());
        return heap(std::move(*base));
    }
    /// Creates a heap in ordinary memory, with transactions but without durability.
    [[nodiscard]] static result<heap> make_volatile(std::uint64_t bytes,
                                                    const heap_options& options = {}) {
        auto base = detail::heap_base::make_volatile(
            bytes, detail::common_name(detail::raw_type_name<H>()), options);
        if (!base) return tl::unexpected(base.error());
        return heap(std::move(*base));
    }

    /// Runs f(tx&) as a transaction and returns its result: see transactional in transaction.hpp.
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

    /// The root pointer `name`, created as null if there is none. Must not be called within a
    /// transaction. errc::incompatible: the root points to another type, or a type reachable from
    /// it has another layout in the file than in this program; the error names type and member.
    template <class T>
    [[nodiscard]] result<nv::root<T, H>> root(std::string_view name) {
        static_assert(check_persistent<T, H>());
        auto found = base_.root(name, detail::info_of<T>());
        if (!found) return tl::unexpected(found.error());
        return nv::root<T, H>(found->first, found->second);
    }
    /// Registers a type before an object of it is used. After a crash this lets nv_destroy() run
    /// for objects of the type that are queued for destruction.
    template <class T>
    [[nodiscard]] result<void> learn() {
        static_assert(check_persistent<T, H>());
        return base_.learn(detail::info_of<T>());
    }
    /// Converts all objects of type Old to New (same nv_name, another layout) by calling
    /// f(tx, Old&, New&); New is zero-initialised. Returns how many objects were converted; 0 if
    /// the heap has none. Each transaction converts a few objects: after a crash the next call
    /// continues, and root() fails until the upgrade is complete. f may run twice for an object;
    /// the effects of the first run are then undone. Call it before root<New>(), without refs or
    /// running transactions.
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

    /// Frees unreachable cycles and returns how many objects were freed. No transaction may run.
    [[nodiscard]] result<std::uint64_t> collect() { return base_.collect(); }
    /// Verifies counts, pointers, types and the allocator's data. No transaction may run.
    [[nodiscard]] result<heap_report> check() const { return base_.check(); }
    [[nodiscard]] heap_statistics numbers() const { return base_.numbers(); }
    /// Closes the file; later uses of volatile references fail. errc::usage: the calling thread is
    /// in a transaction; the heap stays open. No other thread may be in one.
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
