// holdfast/map.hpp: a durable ordered map from byte strings to byte strings.
//
// Purpose. The map lives in a file-backed region. After a crash it is there again as it stood at
// the end of the last completed epoch (an epoch is 64 ms unless told otherwise; paper "Fine-Grain
// Checkpointing with In-Cache-Line Logging", section 3). Every write returns a ticket;
// wait_durable(ticket) returns once that write survives what the region's medium promises to
// survive.
//
// Of the discipline eager (map_options::kind) there are no epochs but on an ordinary disk: what a
// write has returned is durable, tickets are 0, and wait_durable() has nothing to wait for. A hash
// table ("clht") has no order: scans of it are refused (errc::usage), walk() is not.
//
// Concurrency. All member functions may be called by up to 255 threads (a further one waits until
// one of them has ended). Each single operation is atomic. A scan is not a snapshot: every record
// it delivers was in the map at some moment during the scan.
//
// Errors. Functions return result<T>; a failed write leaves the map as it was.
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

/// What a write did.
struct write_outcome {
    ticket written_in = 0;  ///< epoch of the operation, also of one that changed nothing
    bool changed = false;   ///< whether the map was changed
    bool existed = false;   ///< whether the key was present before
};

class map {
   public:
    /// Opens the map in the region file `path`, creating the file where `options.create` allows it,
    /// and recovers it after a crash: milliseconds, independent of the region's size.
    static result<map> open(const std::filesystem::path& path, const map_options& options = {});

    map(map&&) noexcept;
    map& operator=(map&&) noexcept;
    map(const map&) = delete;
    map& operator=(const map&) = delete;
    /// Closes cleanly where close() was not called; errors are then lost.
    ~map();

    /// Ends the running epoch, makes it durable, marks the region clean and leaves the file: others
    /// may open it, whatever this returns. No other call may be running. Those that follow are
    /// errc::usage, and numbers are 0; a further close() does nothing.
    result<void> close();

    /// Copies the value of `key` into `out`. False: no such key, `out` unchanged. errc::corrupt:
    /// what is there is not what was written; `out` is then anything.
    result<bool> get(std::string_view key, std::string& out) const;

    /// Called with the number of a key, in the order of the caller's, and its value. The view ends
    /// with the call. It may call the map.
    using finder = std::function<void(std::size_t number, std::string_view value)>;

    /// Gets many keys, whose waits for memory overlap: faster than as many get(). `found` is called
    /// for those that are there, in their order; each is as it was at some moment during the call.
    /// Returns their number.
    result<std::size_t> get_many(std::span<const std::string_view> keys, const finder& found) const;

    /// Starts loading where these keys' records are, or would be: their waits for memory overlap,
    /// and operations of any kind that follow at once find it loaded. Changes nothing else.
    void prefetch(std::span<const std::string_view> keys) const;

    /// Stores `value` under `key`, replacing an older value.
    result<write_outcome> put(std::string_view key, std::string_view value);

    /// Stores `value` if `condition(old)` holds for the current value (nullopt: key absent). The
    /// condition is called under the lock of the key's node: it must be short and must not call the
    /// map. If it throws, nothing has changed. In a full region the write is tried once more in the
    /// next epoch, and the condition asked again.
    result<write_outcome> put_if(
        std::string_view key, std::string_view value,
        const std::function<bool(std::optional<std::string_view>)>& condition);

    /// Removes `key`.
    result<write_outcome> remove(std::string_view key);

    /// Removes `key` if `condition(value)` holds. Called as in put_if.
    result<write_outcome> remove_if(std::string_view key,
                                    const std::function<bool(std::string_view)>& condition);

    enum class edit { keep, replace, remove };
    /// Read-modify-write under the lock of the key's node. `change(old, fresh)` returns what to do;
    /// for edit::replace it has put the new value into `fresh`. Meant for small values (incr,
    /// flags, ...). Asked again as put_if's condition is.
    result<write_outcome> modify(
        std::string_view key,
        const std::function<edit(std::optional<std::string_view> old, std::string& fresh)>& change);

    /// Called with key and value; returns false to stop. The views end with the call. It may call
    /// the map.
    using visitor = std::function<bool(std::string_view key, std::string_view value)>;

    /// Visits records in ascending order of key, from the first key >= `from` (> `from` if
    /// `exclusive`). Returns the number of records visited.
    result<std::size_t> scan(std::string_view from, const visitor& visit,
                             bool exclusive = false) const;

    /// Visits records in descending order of key, from the last key <= `from` (< `from` if
    /// `exclusive`). nullopt: from the greatest key.
    result<std::size_t> scan_backward(std::optional<std::string_view> from, const visitor& visit,
                                      bool exclusive = false) const;

    /// Visits about `about` records, in whatever order is the cheapest, from where the last call of
    /// a walk left its cursor; empty: from the beginning; it is empty again at the end. What is
    /// there throughout a walk is visited, once. `visit` must not call the map; false: it ends
    /// here, or soon.
    result<std::size_t> walk(std::string& cursor, std::size_t about, const visitor& visit) const;

    /// "masstree", or eager_map_options::index.
    [[nodiscard]] std::string_view index() const noexcept;
    [[nodiscard]] discipline kind() const noexcept;
    /// Whether its index has an order: else scans are errc::usage, and walk() goes over all of it.
    [[nodiscard]] bool is_ordered() const noexcept;

    /// Waits until everything written in epoch `t` is durable. Ends the epoch early when it can.
    result<void> wait_durable(ticket t);

    /// Makes everything written before the call durable.
    result<void> sync();

    /// The newest epoch that is durable.
    [[nodiscard]] ticket durable_epoch() const noexcept;
    /// The epoch that is running now.
    [[nodiscard]] ticket current_epoch() const noexcept;

    /// A number that differs at each open of the region and never falls; for unique ids.
    [[nodiscard]] std::uint64_t generation() const noexcept;

    [[nodiscard]] statistics stats() const;

    struct impl;

   private:
    friend struct map_inspection;  // src/map/inspect.hpp
    explicit map(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

}  // namespace hf
