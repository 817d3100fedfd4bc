// holdfast/map.hpp: a durable ordered map from byte strings to byte strings.
//
// Purpose. The map is stored in a file-backed region. After a crash it is restored to the end of
// the last completed epoch (64 ms long by default; paper "Fine-Grain Checkpointing with
// In-Cache-Line Logging", section 3). Every write returns a ticket; wait_durable(ticket) returns
// when the write is durable on the region's medium.
//
// With the discipline eager (map_options::kind) every write is durable when it returns, tickets are
// 0, and wait_durable() returns at once; only an ordinary disk has epochs. The hash table "clht" is
// unordered: it supports walk(), but scans return errc::usage.
//
// Concurrency. All member functions may be called by up to 255 threads; a further thread waits
// until one of them has ended. Each single operation is atomic. A scan is not a snapshot: every
// record that it visits was in the map at some moment during the scan.
//
// Errors. Functions return result<T>; a failed write leaves the map unchanged.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/statistics.hpp>
#include <holdfast/ticket.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf {

/// Longest key, in bytes. The empty key is a key.
inline constexpr std::size_t max_key_size = 4096;
/// Longest value, in bytes.
inline constexpr std::size_t max_value_size = std::size_t{64} << 20;

/// The effect of a write.
struct write_outcome {
    ticket written_in = 0;  ///< epoch of the operation, also of one that changed nothing
    bool changed = false;   ///< whether the map was changed
    bool existed = false;   ///< whether the key was present before
};

class map {
   public:
    /// Opens the map in the region file `path`, or creates the file if options.region.mode allows
    /// that. Recovery after a crash takes milliseconds, independent of the region's size.
    static result<map> open(const std::filesystem::path& path, const map_options& options = {});

    map(map&&) noexcept;
    map& operator=(map&&) noexcept;
    map(const map&) = delete;
    map& operator=(const map&) = delete;
    /// Closes the map if close() was not called; an error is then lost.
    ~map();

    /// Ends the running epoch, makes it durable, marks the region clean and closes the file. The
    /// file is closed, and free for other processes, even if this returns an error. No other call
    /// may be running. Later calls return errc::usage or 0; a further close() does nothing.
    result<void> close();

    /// Copies the value of `key` into `out`. False: no such key, `out` unchanged. errc::corrupt: a
    /// checksum is wrong; `out` is then undefined.
    result<bool> get(std::string_view key, std::string& out) const;

    /// Called with the index of a key in the caller's list, and its value. The view is valid during
    /// the call only. It may call the map.
    using finder = std::function<void(std::size_t number, std::string_view value)>;

    /// Looks up many keys with overlapping cache misses: faster than single get() calls. Calls
    /// `found` for each key that is present, in the order of `keys`, and returns how many are. Each
    /// value was current at some moment during the call.
    result<std::size_t> get_many(std::span<const std::string_view> keys, const finder& found) const;

    /// Prefetches the records of these keys, or the leaves where they would be, with overlapping
    /// cache misses. A hint for operations on these keys that follow at once; no other effect.
    void prefetch(std::span<const std::string_view> keys) const;

    /// Stores `value` under `key`, replacing an older value.
    result<write_outcome> put(std::string_view key, std::string_view value);

    /// Stores `value` if `condition(old)` holds for the current value (nullopt: key absent). The
    /// condition runs under the lock of the key's node: it must be short and must not call the map.
    /// If it throws, nothing is changed. If the region is full, the write is retried once in the
    /// next epoch, and the condition is evaluated again.
    result<write_outcome> put_if(
        std::string_view key, std::string_view value,
        const std::function<bool(std::optional<std::string_view>)>& condition);

    /// Removes `key`.
    result<write_outcome> remove(std::string_view key);

    /// Removes `key` if `condition(value)` holds. The condition runs as in put_if().
    result<write_outcome> remove_if(std::string_view key,
                                    const std::function<bool(std::string_view)>& condition);

    enum class edit { keep, replace, remove };
    /// Read-modify-write under the lock of the key's node. `change(old, fresh)` returns what to do;
    /// for edit::replace it stores the new value in `fresh`. Meant for small values (incr, flags,
    /// ...). It may run twice, as put_if()'s condition.
    result<write_outcome> modify(
        std::string_view key,
        const std::function<edit(std::optional<std::string_view> old, std::string& fresh)>& change);

    /// Called with key and value; returns false to stop. The views are valid during the call only.
    /// It may call the map.
    using visitor = std::function<bool(std::string_view key, std::string_view value)>;

    /// Visits records in ascending order of key, from the first key >= `from` (> `from` if
    /// `exclusive`). Returns the number of records visited.
    result<std::size_t> scan(std::string_view from, const visitor& visit,
                             bool exclusive = false) const;

    /// Visits records in descending order of key, from the last key <= `from` (< `from` if
    /// `exclusive`). nullopt: from the greatest key.
    result<std::size_t> scan_backward(std::optional<std::string_view> from, const visitor& visit,
                                      bool exclusive = false) const;

    /// Visits about `about` records, in the cheapest order, starting at `cursor`, and advances
    /// the cursor. An empty cursor starts a walk; the cursor is empty again at its end. A record
    /// that is in the map throughout the walk is visited exactly once. `visit` must not call the
    /// map; when it returns false the call ends, perhaps after a few more records.
    result<std::size_t> walk(std::string& cursor, std::size_t about, const visitor& visit) const;

    /// "masstree", or eager_map_options::index.
    [[nodiscard]] std::string_view index() const noexcept;
    [[nodiscard]] discipline kind() const noexcept;
    /// True if the index is ordered. Otherwise scans return errc::usage; walk() visits all records.
    [[nodiscard]] bool is_ordered() const noexcept;

    /// Waits until epoch `t` is durable; ends the running epoch early if possible.
    result<void> wait_durable(ticket t);

    /// Makes everything durable that was written before the call.
    result<void> sync();

    /// The newest durable epoch.
    [[nodiscard]] ticket durable_epoch() const noexcept;
    /// The running epoch.
    [[nodiscard]] ticket current_epoch() const noexcept;

    /// Checks that the region's file and its journal still have a name; two system calls. errc::io:
    /// one was removed while it is in use, so nothing of it is left when the process ends.
    [[nodiscard]] result<void> check_files() const;

    /// A number that increases with each open of the region; for unique ids.
    [[nodiscard]] std::uint64_t generation() const noexcept;

    [[nodiscard]] statistics stats() const;

    struct impl;

   private:
    friend struct map_inspection;  // src/map/inspect.hpp
    explicit map(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace hf
