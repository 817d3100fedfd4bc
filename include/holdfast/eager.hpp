// holdfast/eager.hpp: maps whose every operation is durable when it returns.
//
// Purpose. No epochs, no tickets: what insert() has returned survives. The index is chosen by its
// name when the region is made, and remembered in it:
//
//   "clht"   a hash table; the fastest for single keys; no order
//   "art"    a radix tree; ordered: scan()
//   "hot"    a trie of few, full nodes; ordered
//   "bwtree" a B-tree whose nodes never change; ordered
//   "masstree"  B-link trees over eight bytes of the key each; ordered
//
// For media where a fence makes durable (dax, eadr), and tmpfs (which survives the process). On an
// ordinary disk nothing can be durable before a sync, and operations are made so in groups: each
// belongs to an epoch, and is durable when that is. sync() waits for all that was done before it,
// and shares the disk's sync with all who wait. A crash takes what was not durable, whole epochs.
//
//   auto m = hf::eager_map::open("/mnt/pmem/m.hf");
//   m->insert("key", "value").value();        // true; durable
//
// After a crash. The map is there at once. What the crash left allocated and unreached is found by
// a sweep beside the operations; until it has ended new records take fresh space.
//
// Concurrency. All member functions may be called by up to 256 threads; each is atomic. Readers
// wait for nobody. A walk (for_each, scan) is no snapshot: a record that is there throughout is
// visited, once. What is visited, or found by get_many(), must not call the map.
//
// Errors. result<T>; a failed write leaves the map as it was. In a full region reads and removes go
// on. Where a disk has no room for what is to become durable, writes are errc::no_space.
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
    /// "": what the region has; "clht" for a new one.
    std::string index;
    /// Whether what is free is found beside the operations, or before the first.
    bool sweep_in_background = true;
    unsigned sweep_threads = 1;
    /// On a disk: how long an epoch lasts, 1 ms to 10 s; 0: only sync() ends it.
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);
    /// Nothing survives and nothing is flushed: the yardstick. The region must be new.
    bool transient = false;
};

/// Names that eager_map_options::index knows.
[[nodiscard]] const std::vector<std::string>& eager_index_names();

namespace detail {
template <class Key, class Owned>
class eager_engine;
}

/// eager_map: keys of 0 to 4,096 bytes, any bytes, and values of up to 256 MiB. eager_integer_map:
/// 8-byte keys and values, on a path of their own.
template <class Key, class Owned>
class basic_eager_map {
   public:
    using visitor = std::function<void(Key, Key)>;

    [[nodiscard]] static result<basic_eager_map> open(const std::filesystem::path& path,
                                                      const eager_map_options& options = {});
    basic_eager_map(basic_eager_map&&) noexcept;
    basic_eager_map& operator=(basic_eager_map&&) noexcept;
    /// Closes in order where close() was not called; errors are then lost.
    ~basic_eager_map();

    /// False, and nothing done: the key is there.
    [[nodiscard]] result<bool> insert(Key key, Key value);
    /// Inserts many, each for itself; how many keys were new. Of equal keys the first one's value
    /// stays. The way to load a map, best in the order of the keys: the medium is waited for twice
    /// for 32 of them, and not for each. All are durable when it returns (on a disk: with their
    /// epochs); a crash before leaves any of them, whole. On an error some may have been inserted.
    [[nodiscard]] result<std::uint64_t> insert_many(std::span<const std::pair<Key, Key>> entries);
    /// Whether the key is new.
    [[nodiscard]] result<bool> put(Key key, Key value);
    /// False, and nothing done: the key is not there.
    [[nodiscard]] result<bool> update(Key key, Key value);
    /// Whether it was there. Needs no space.
    bool remove(Key key);
    /// Into `value`, whose memory is used again; false: it is not there. This, remove() and
    /// for_each() throw std::runtime_error where they meet bytes that are damaged.
    [[nodiscard]] bool get(Key key, Owned& value) const;
    [[nodiscard]] std::optional<Owned> get(Key key) const;
    /// Gets many keys: found(number, value) for each that is there, in the order of `keys`; how
    /// many there were. Their waits for memory overlap in clht, art and hot, which is faster than
    /// as many get(). Each is as it was at some moment of the call. A value ends with the call of
    /// `found`. errc::corrupt: damaged bytes were met; what was found before may have been told.
    template <class Found>
        requires std::invocable<Found&, std::size_t, Key>
    [[nodiscard]] result<std::size_t> get_many(std::span<const Key> keys, Found&& found) const {
        return get_runs(keys, tell_run<std::remove_reference_t<Found>>,
                        const_cast<void*>(static_cast<const void*>(std::addressof(found))));
    }

    /// Everything, in any order.
    void for_each(const visitor& visit) const;
    [[nodiscard]] bool is_ordered() const noexcept;
    /// At most so many, from the first key not below (or, backwards, not above); how many there
    /// were. errc::usage where the index has no order.
    [[nodiscard]] result<std::uint64_t> scan(Key from, std::uint64_t most, const visitor& visit,
                                             bool backwards = false) const;
    /// The same, and quicker: what is visited comes in runs, to code that the compiler sees.
    template <class Visit>
        requires(std::invocable<Visit&, Key, Key> && std::is_class_v<std::remove_cvref_t<Visit>> &&
                 !std::same_as<std::remove_cvref_t<Visit>, visitor>)
    [[nodiscard]] result<std::uint64_t> scan(Key from, std::uint64_t most, Visit&& visit,
                                             bool backwards = false) const {
        return scan_runs(from, most, backwards, visit_run<std::remove_reference_t<Visit>>,
                         const_cast<void*>(static_cast<const void*>(std::addressof(visit))));
    }

    /// The epoch that is running: what this thread has done belongs to it, or to one before. 0,
    /// which is durable, but on a disk.
    [[nodiscard]] ticket current_epoch() const noexcept;
    [[nodiscard]] ticket durable_epoch() const noexcept;
    /// Returns when that epoch is durable, which ends early for it. errc::no_space: the disk has no
    /// room; it may become durable later. Not from what is called by a walk.
    [[nodiscard]] result<void> wait_durable(ticket t);
    /// Everything that was done before the call is durable.
    [[nodiscard]] result<void> sync();

    [[nodiscard]] std::string_view index() const noexcept;
    /// Bytes of the region.
    [[nodiscard]] std::uint64_t size() const noexcept;
    /// Until it is known what is free.
    [[nodiscard]] result<void> wait_for_sweep();
    /// No other call may be running or follow, which ends the process; a second close() does
    /// nothing.
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
    /// `of` is a Found.
    template <class Found>
    static void tell_run(void* of, const hit* run, std::size_t count) {
        auto& found = *static_cast<Found*>(of);
        for (std::size_t i = 0; i < count; ++i) found(run[i].number, run[i].value);
    }
    [[nodiscard]] result<std::size_t> get_runs(std::span<const Key> keys, run_of_hits found,
                                               void* of) const;
    using run_visitor = void (*)(void* of, const entry* run, std::size_t count);
    /// `of` is a Visit.
    template <class Visit>
    static void visit_run(void* of, const entry* run, std::size_t count) {
        auto& visit = *static_cast<Visit*>(of);
        for (std::size_t i = 0; i < count; ++i) visit(run[i].key, run[i].value);
    }
    template <class Scan>
    [[nodiscard]] result<std::uint64_t> scan_by(Scan&& found) const;
    [[nodiscard]] result<std::uint64_t> scan_runs(Key from, std::uint64_t most, bool backwards,
                                                  run_visitor visit, void* of) const;

    /// Ends the process where the map was closed.
    [[nodiscard]] detail::eager_engine<Key, Owned>& engine() const;
    explicit basic_eager_map(std::unique_ptr<detail::eager_engine<Key, Owned>> e);
    std::unique_ptr<detail::eager_engine<Key, Owned>> engine_;
};

using eager_map = basic_eager_map<std::string_view, std::string>;
using eager_integer_map = basic_eager_map<std::uint64_t, std::uint64_t>;

extern template class basic_eager_map<std::string_view, std::string>;
extern template class basic_eager_map<std::uint64_t, std::uint64_t>;

}  // namespace hf
