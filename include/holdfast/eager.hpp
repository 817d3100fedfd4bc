// holdfast/eager.hpp: maps whose every operation is durable when it returns.
//
// Purpose. Strict durable linearizability, without epochs or tickets: an insert() that has returned
// survives a crash. The index is chosen by name when the region is created, and recorded there:
//
//   "clht"   a hash table; the fastest for single keys; unordered
//   "art"    an adaptive radix tree; ordered: scan()
//   "hot"    a height-optimized trie with compound nodes; ordered
//   "bwtree" a B-tree of immutable nodes and delta chains; ordered
//   "masstree"  a trie of B-link trees, one layer for each eight bytes of the key; ordered
//
// For media where a fence makes stores durable (dax, eadr), and for tmpfs (which survives the
// process only). On an ordinary disk nothing is durable before a sync, so operations become durable
// in groups: each belongs to an epoch, and is durable when that epoch is. sync() waits for all
// earlier operations; concurrent callers share one sync of the disk. A crash then loses the epochs
// that are not durable yet, each as a whole.
//
//   auto m = hf::eager_map::open("/mnt/pmem/m.hf");
//   m->insert("key", "value").value();        // true; durable
//
// After a crash. open() returns at once. Blocks that the crash left allocated but unreachable are
// found by a sweep in the background; until it ends, new records use space never used before.
//
// Concurrency. All member functions may be called by up to 256 threads; each is atomic. Readers
// never wait for writers. A walk (for_each, scan) is not a snapshot: it visits each record that is
// in the map throughout, exactly once. A visitor, or the callback of get_many(), must not call the
// map.
//
// Errors. result<T>; a failed write leaves the map unchanged. In a full region reads and removes
// still work. If a disk has no room for an epoch's changes, writes return errc::no_space.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/ticket.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hf {

struct eager_map_options {
    region_options region;
    /// Name of the index. Empty: the region's own, or "clht" for a new region.
    std::string index;
    /// True: the sweep for free blocks runs beside the operations. False: open() waits for it.
    bool sweep_in_background = true;
    unsigned sweep_threads = 1;
    /// Length of an epoch on a disk, 1 ms to 10 s. 0: only sync() and wait_durable() end one.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
    /// Volatile: no flushes, and nothing survives. A baseline for benchmarks. Needs a new region.
    bool transient = false;
};

/// The names that eager_map_options::index accepts.
[[nodiscard]] const std::vector<std::string>& eager_index_names();

namespace detail {
template <class Key, class Owned>
class eager_engine;
}

/// eager_map: keys are any 0 to 4,096 bytes, values up to 256 MiB. eager_integer_map: keys and
/// values are 8-byte integers, with code paths of their own.
template <class Key, class Owned>
class basic_eager_map {
   public:
    using visitor = std::function<void(Key, Key)>;

    [[nodiscard]] static result<basic_eager_map> open(const std::filesystem::path& path,
                                                      const eager_map_options& options = {});
    basic_eager_map(basic_eager_map&&) noexcept;
    basic_eager_map& operator=(basic_eager_map&&) noexcept;
    /// Closes the map if close() was not called; an error is then lost.
    ~basic_eager_map();

    /// Inserts a new key. Returns false, and changes nothing, if the key is present.
    [[nodiscard]] result<bool> insert(Key key, Key value);
    /// Inserts many entries and returns the number of new keys. Each entry is atomic by itself; of
    /// equal keys the first one's value stays. This is the fastest way to load a map, best in key
    /// order: 32 entries share two fences. All are durable when it returns (on a disk: with their
    /// epochs); a crash before leaves any subset of them. After an error some may be inserted.
    [[nodiscard]] result<std::uint64_t> insert_many(std::span<const std::pair<Key, Key>> entries);
    /// Inserts or replaces. Returns true if the key is new.
    [[nodiscard]] result<bool> put(Key key, Key value);
    /// Replaces the value of a key. Returns false, and changes nothing, if the key is absent.
    [[nodiscard]] result<bool> update(Key key, Key value);
    /// Removes a key. Returns true if it was present. Needs no space.
    bool remove(Key key);
    /// Copies the value into `value`, reusing its memory; false: no such key. This, remove() and
    /// for_each() throw std::runtime_error when they read corrupt data.
    [[nodiscard]] bool get(Key key, Owned& value) const;
    [[nodiscard]] std::optional<Owned> get(Key key) const;
    /// Looks up many keys: calls found(index, value) for each key that is present, in the order of
    /// `keys`, and returns how many are. clht, art and hot overlap the cache misses, which is
    /// faster than single get() calls. Each value was current at some moment of the call; it is
    /// valid only during the call of `found`. errc::corrupt: corrupt data was read; `found` may
    /// have been called for some keys.
    template <class Found>
        requires std::invocable<Found&, std::size_t, Key>
    [[nodiscard]] result<std::size_t> get_many(std::span<const Key> keys, Found&& found) const {
        return get_runs(keys, tell_run<std::remove_reference_t<Found>>,
                        const_cast<void*>(static_cast<const void*>(std::addressof(found))));
    }

    /// Visits all records, in no particular order.
    void for_each(const visitor& visit) const;
    [[nodiscard]] bool is_ordered() const noexcept;
    /// Visits up to `most` records in key order, from the first key >= `from` (backwards: in
    /// descending order, from the last key <= `from`). Returns how many were visited. errc::usage:
    /// the index is unordered.
    [[nodiscard]] result<std::uint64_t> scan(Key from, std::uint64_t most, const visitor& visit,
                                             bool backwards = false) const;
    /// As scan() above, but faster: the visitor is inlined, and gets its records in batches.
    template <class Visit>
        requires(std::invocable<Visit&, Key, Key> && std::is_class_v<std::remove_cvref_t<Visit>> &&
                 !std::same_as<std::remove_cvref_t<Visit>, visitor>)
    [[nodiscard]] result<std::uint64_t> scan(Key from, std::uint64_t most, Visit&& visit,
                                             bool backwards = false) const {
        return scan_runs(from, most, backwards, visit_run<std::remove_reference_t<Visit>>,
                         const_cast<void*>(static_cast<const void*>(std::addressof(visit))));
    }

    /// The running epoch: earlier operations of this thread belong to it or to an earlier one. 0
    /// except on a disk; epoch 0 is always durable.
    [[nodiscard]] ticket current_epoch() const noexcept;
    [[nodiscard]] ticket durable_epoch() const noexcept;
    /// Returns when epoch `t` is durable; ends the running epoch early for that. errc::no_space:
    /// the disk is full; the epoch may become durable later. Must not be called by a visitor.
    [[nodiscard]] result<void> wait_durable(ticket t);
    /// Returns when everything done before the call is durable.
    [[nodiscard]] result<void> sync();

    [[nodiscard]] std::string_view index() const noexcept;
    /// Size of the region, in bytes.
    [[nodiscard]] std::uint64_t size() const noexcept;
    /// Waits until the sweep for free blocks has ended.
    [[nodiscard]] result<void> wait_for_sweep();
    /// Closes the map. No other call may be running. A later call ends the process, except that a
    /// second close() does nothing.
    [[nodiscard]] result<void> close();

   private:
    struct entry {
        Key key;
        Key value;
    };
    struct hit {
        std::size_t number;
        Key value;
    };
    friend class detail::eager_engine<Key, Owned>;
    using run_of_hits = void (*)(void* of, const hit* run, std::size_t count);
    /// `of` points to a Found.
    template <class Found>
    static void tell_run(void* of, const hit* run, std::size_t count) {
        auto& found = *static_cast<Found*>(of);
        for (std::size_t i = 0; i < count; ++i) found(run[i].number, run[i].value);
    }
    [[nodiscard]] result<std::size_t> get_runs(std::span<const Key> keys, run_of_hits found,
                                               void* of) const;
    using run_visitor = void (*)(void* of, const entry* run, std::size_t count);
    /// `of` points to a Visit.
    template <class Visit>
    static void visit_run(void* of, const entry* run, std::size_t count) {
        auto& visit = *static_cast<Visit*>(of);
        for (std::size_t i = 0; i < count; ++i) visit(run[i].key, run[i].value);
    }
    template <class Scan>
    [[nodiscard]] result<std::uint64_t> scan_by(Scan&& found) const;
    [[nodiscard]] result<std::uint64_t> scan_runs(Key from, std::uint64_t most, bool backwards,
                                                  run_visitor visit, void* of) const;

    /// Ends the process if the map is closed.
    [[nodiscard]] detail::eager_engine<Key, Owned>& engine() const;
    explicit basic_eager_map(std::unique_ptr<detail::eager_engine<Key, Owned>> e);
    std::unique_ptr<detail::eager_engine<Key, Owned>> engine_;
};

using eager_map = basic_eager_map<std::string_view, std::string>;
using eager_integer_map = basic_eager_map<std::uint64_t, std::uint64_t>;

extern template class basic_eager_map<std::string_view, std::string>;
extern template class basic_eager_map<std::uint64_t, std::uint64_t>;

}  // namespace hf
