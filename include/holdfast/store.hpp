// holdfast/store.hpp: memcached's semantics over the durable map.
//
// Purpose. Records with client flags, an expiry time and a unique number ("cas unique") that
// changes with every write, and memcached's operations on them. Every write returns the ticket of
// its epoch.
//
// On the medium. A record is the map's value for its key: a header, usually of 8 bytes, then the
// data. The empty key is reserved for the store's own record, so keys have 1 to 4,096 bytes
// (docs/store.md has both layouts).
//
// Expiry. An expired or flushed record is treated as absent. Its space is freed when an operation
// reads it, by purge(), or when a write finds no room: such a write frees dead records first, and
// returns errc::no_space only if there are none.
//
// Concurrency. All member functions may be called from any number of threads at once; each
// operation on a record is atomic. A value is built before any lock is taken, so only the map's own
// locks are held during a large copy.
//
// Bad input. Operations that need a record's contents return errc::corrupt if it cannot be decoded.
// set() and remove() do not need them: they replace or remove the record.
#pragma once

#include <holdfast/map.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hf {

struct store_options {
    map_options map;
    /// Seconds since 1970, used for expiry; empty: the system's clock.
    std::function<std::uint64_t()> clock;
};

/// Attributes that a client stores with its data.
struct record_attributes {
    std::uint32_t flags = 0;    ///< stored for the client, not interpreted
    std::uint64_t expires = 0;  ///< seconds since 1970; 0: never
};

class store {
   public:
    /// Upper bound in bytes on the header of a record: 8, plus 4 for flags and 8 for an expiry
    /// time, where present.
    static constexpr std::size_t most_header_size = 32;
    /// Longest data of a record, in bytes.
    static constexpr std::size_t max_data_size = max_value_size - most_header_size;
    /// Longest data that incr() and decr() accept as a number, trailing blanks included.
    static constexpr std::size_t max_number_size = 1024;

    /// The result of an operation.
    enum class outcome : std::uint8_t {
        stored,        ///< also: counted (incr, decr)
        not_stored,    ///< the condition of add, replace, append or prepend did not hold
        exists,        ///< cas: the record has changed since
        not_found,     ///< no such record
        removed,       ///< remove
        touched,       ///< touch
        not_a_number,  ///< incr, decr: the data is not a decimal number of 64 bits
    };

    struct reply {
        outcome what = outcome::not_stored;
        ticket written_in = 0;  ///< epoch of the operation, also of one that changed nothing
        std::uint64_t number =
            0;  ///< incr, decr: the new number; other writes: the record's new cas unique
    };

    using attributes = record_attributes;

    /// A record returned by get(). Reusing one object saves its allocation.
    class record {
       public:
        [[nodiscard]] std::string_view data() const noexcept {
            return std::string_view(bytes_).substr(begin_ < bytes_.size() ? begin_ : bytes_.size());
        }
        /// Offset of the data within the string that take() returns.
        [[nodiscard]] std::size_t data_begin() const noexcept { return begin_; }
        /// Moves the underlying storage out; the record is empty afterwards.
        [[nodiscard]] std::string take() noexcept;

        /// Why a record that is still stored counts as absent.
        enum class end : std::uint8_t { none, expired, flushed };

        attributes about;
        std::uint64_t cas = 0;
        end ended = end::none;

       private:
        friend class store;
        std::string bytes_;
        std::size_t begin_ = 0;  ///< size of the header
    };

    /// Data to be stored. The buffer reserves room for the record's header before the data, so that
    /// a large value need not be copied again.
    class draft {
       public:
        draft() = default;
        explicit draft(std::string_view data) { append(data); }
        void append(std::string_view data);
        /// Reserves memory for `size` bytes of data in total.
        void reserve(std::size_t size) { bytes_.reserve(size + most_header_size); }
        /// Removes the data; keeps the storage if it has at most `keep` bytes.
        void clear(std::size_t keep) noexcept;
        [[nodiscard]] std::size_t size() const noexcept {
            return bytes_.empty() ? 0 : bytes_.size() - most_header_size;
        }
        [[nodiscard]] std::string_view data() const noexcept {
            return std::string_view(bytes_).substr(bytes_.empty() ? 0 : most_header_size);
        }

       private:
        friend class store;
        std::string bytes_;
    };

    /// A record during a scan; the views are valid during the visitor's call only.
    struct view {
        std::string_view data;
        attributes about;
        std::uint64_t cas = 0;
    };

    /// Opens the store in the region file `path` as map::open does.
    static result<store> open(const std::filesystem::path& path, const store_options& options = {});
    /// Makes a store of an open map. `clock` as in store_options.
    static result<store> over(hf::map records, std::function<std::uint64_t()> clock = {});

    store(store&&) noexcept;
    store& operator=(store&&) noexcept;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    ~store();

    /// As map::close().
    result<void> close();

    /// As map::prefetch().
    void prefetch(std::span<const std::string_view> keys) const;

    /// Reads a record. False: no such record; then only out.ended is defined.
    result<bool> get(std::string_view key, record& out);
    /// Reads a record and sets its expiry. Returns touched, or not_found: then only out.ended is
    /// defined.
    result<reply> get_and_touch(std::string_view key, std::uint64_t expires, record& out);

    /// Stores unconditionally.
    result<reply> set(std::string_view key, draft& value, attributes about = {});
    /// Stores if there is no such record.
    result<reply> add(std::string_view key, draft& value, attributes about = {});
    /// Stores if there is such a record.
    result<reply> replace(std::string_view key, draft& value, attributes about = {});
    /// Stores if the record is still the one whose cas unique is `unique`: stored, exists or
    /// not_found.
    result<reply> cas(std::string_view key, draft& value, attributes about, std::uint64_t unique);
    /// Appends to the data of a record. not_stored: no such record, or the data would exceed
    /// `limit` bytes.
    result<reply> append(std::string_view key, std::string_view data,
                         std::size_t limit = max_data_size);
    /// Prepends to the data of a record; errors as in append().
    result<reply> prepend(std::string_view key, std::string_view data,
                          std::size_t limit = max_data_size);

    result<reply> set(std::string_view key, std::string_view data, attributes about = {});
    result<reply> add(std::string_view key, std::string_view data, attributes about = {});
    result<reply> replace(std::string_view key, std::string_view data, attributes about = {});
    result<reply> cas(std::string_view key, std::string_view data, attributes about,
                      std::uint64_t unique);

    /// removed or not_found.
    result<reply> remove(std::string_view key);

    /// Adds to the data, read as a decimal number, modulo 2^64. As in memcached, the data never
    /// gets shorter: it is padded with blanks.
    result<reply> incr(std::string_view key, std::uint64_t delta);
    /// Subtracts; the result is at least 0.
    result<reply> decr(std::string_view key, std::uint64_t delta);

    /// Sets the expiry; the cas unique does not change. Returns touched or not_found.
    result<reply> touch(std::string_view key, std::uint64_t expires);

    /// Makes every record written before `when` absent (seconds since 1970; 0 or a past time:
    /// now). A second call replaces one whose time is still to come. Takes constant time; the
    /// records' space is freed when they are read, by purge(), or by writes that find no room.
    result<reply> flush_all(std::uint64_t when = 0);

    /// Checks up to `count` records (fewer if they are large), starting after the last one of the
    /// previous call, and frees the expired and flushed ones. Returns the number freed.
    result<std::size_t> purge(std::size_t count);

    /// Returns false to stop.
    using visitor = std::function<bool(std::string_view key, const view& record)>;
    /// Visits records in ascending order of key, as map::scan() does. Returns the number visited.
    result<std::size_t> scan(std::string_view from, const visitor& visit, bool exclusive = false);

    /// As map::wait_durable(), map::sync(), map::durable_epoch(), map::check_files().
    result<void> wait_durable(ticket t);
    result<void> sync();
    [[nodiscard]] ticket durable_epoch() const noexcept;
    [[nodiscard]] result<void> check_files() const;

    /// As map::stats(), but `records` does not count the store's own record.
    [[nodiscard]] statistics stats() const;
    /// Seconds since 1970 by the store's clock.
    [[nodiscard]] std::uint64_t now() const;

    struct impl;

   private:
    explicit store(std::unique_ptr<impl> p) noexcept;
    std::unique_ptr<impl> impl_;
};

[[nodiscard]] std::string_view to_string(store::outcome o) noexcept;

}  // namespace hf
