// store/store_impl.hpp: the implementation of hf::store.
//
// Every write follows one scheme. The record, with a new cas unique, is built without a lock; then
// the map stores it under the node's lock if the current record allows it. The condition also
// checks the flush mark: a flush_all may have drawn its mark after our number was drawn, and a
// number at or below the mark means "absent". Such a write retries with a new number (the outcome
// `overtaken`).
//
//  I1  A record is dead, and so absent, if its expiry has passed or its cas unique is at most the
//      flush mark.
//  I2  No write stores a record that the flush mark in memory already covers.
//  I3  The flush mark on the medium is at least the one in memory: flush_all writes first, then
//      publishes.
//  I4  No record with a short header is stored before the store's own record says that such records
//      may exist (store_record.hpp, R3): in the same epoch or an earlier one, so that no crash
//      leaves the record without it.
// I2 and I3 make flush_all atomic: a write that checks before the mark is published is ordered
// before the flush, and any later write of its key, which waits for the node's lock, is ordered
// after both.
//
// Full region. A write that finds no room frees expired and flushed records (make_room()), and is
// repeated as long as some are found. Where no record can be dead nothing is searched: `dead_from`
// is a lower bound of the time at which a record may be.
//
// Concurrency: master_mutex serialises changes of the store's own record; purge_mutex guards the
// cursors of purge() and make_room(). No condition called under a node's lock takes a mutex or
// calls the map.
#pragma once

#include <holdfast/store.hpp>

#include "base/steady_day.hpp"
#include "store/store_record.hpp"
#include "store/store_unique.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace hf {

static_assert(store::most_header_size >= detail::encoded_header::most_bytes);

namespace detail {

enum class sighting_state : u8 { absent, dead, live, damaged };

/// The record found under a key, as the store interprets it.
struct sighting {
    sighting_state state = sighting_state::absent;
    record_header header;
    std::string_view data;
};

}  // namespace detail

struct store::impl {
    impl(hf::map m, std::function<std::uint64_t()> c)
        : records(std::move(m)), clock(std::move(c)) {}

    /// The key of the store's own record.
    static constexpr std::string_view master_key{};

    hf::map records;
    std::function<std::uint64_t()> clock;
    steady_day day;  ///< the time where `clock` is empty
    detail::unique_numbers numbers;
    std::atomic<u64> flush_mark{0};
    std::atomic<u64> flush_at{0};
    std::atomic<bool> short_headers{false};  ///< same as in `master`
    std::mutex master_mutex;
    detail::master_record master;
    std::mutex purge_mutex;
    std::string purge_cursor;
    std::string room_cursor;
    std::atomic<u64> dead_from{0};  ///< no record is dead before this time

    [[nodiscard]] u64 now() const;

    /// Reads the store's own record and opens a block of unique numbers.
    result<void> load();

    /// Called before every operation: checks the key's size, and performs a flush that is due.
    result<void> begin(std::string_view key, const char* what);
    result<void> settle_flush();
    /// Flushes now. `due`: only if the flush scheduled for that time is still pending; 0:
    /// unconditionally.
    result<reply> flush_now(u64 due = 0);
    result<reply> flush_later(u64 when);
    /// Writes `next` as the store's own record; requires master_mutex.
    result<ticket> write_master(const detail::master_record& next);

    /// Called before a record is encoded (I4).
    result<void> say_short_headers();
    result<u64> draw_unique();

    [[nodiscard]] detail::sighting look(std::optional<std::string_view> bytes,
                                        u64 at) const noexcept;
    [[nodiscard]] record::end end_of(const detail::sighting& found) const noexcept;
    /// Frees a dead record's space. A failure is ignored: the record is absent anyway.
    void sweep(std::string_view key, u64 at);
    bool drop_flushed(std::string_view key, record& out);

    /// Records that a record with this expiry may be stored. Called before it is.
    void may_die(u64 expires) noexcept;
    /// Frees some dead records if `why` is a lack of space. True: it has, so a write may find room.
    [[nodiscard]] bool make_room(const error& why);
    struct walked {
        std::size_t visited = 0;
        std::size_t freed = 0;
        u64 next_expiry = ~u64{0};  ///< of the live records visited
    };
    /// Visits about `about` records from the cursor on, and frees the dead ones.
    result<walked> purge_from(std::string& cursor, std::size_t about);

    /// Decides what a write over `found` results in; outcome::stored allows the write. `expected`
    /// is the caller's argument. `replaces_any`: a record whose checksum is wrong, which no rule
    /// can be shown, is replaced, too.
    using rule = outcome (*)(const detail::sighting& found, const detail::record_header& expected);
    result<reply> write_if(std::string_view key, draft& value, attributes about, const char* what,
                           rule allowed, const detail::record_header& expected = {},
                           bool replaces_any = false);
    result<reply> extend(std::string_view key, std::string_view data, std::size_t limit,
                         bool at_end);
    result<reply> count(std::string_view key, u64 delta, bool up);
    result<reply> touch(std::string_view key, u64 expires, record* out);
    result<reply> touch_large(std::string_view key, u64 expires, record& out);
    /// Decodes the record in out.bytes_. Returns false if it is expired or flushed, and frees it.
    result<bool> accept(std::string_view key, record& out, u64 at);

    static error damaged(const char* what, std::string_view key);
};

}  // namespace hf
