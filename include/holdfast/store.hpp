// holdfast/store.hpp: memcached's semantics over the durable map.
//
// Purpose. Records with client flags, an expiry time and a unique number ("cas unique") that
// changes with every write, and the operations that memcached has over them. Every write returns
// the ticket of its epoch.
//
// On the medium. A record is the map's value of its key: a header, mostly of 8 bytes, and then the
// data; the empty key holds the store's own record (docs/store.md has both layouts). So keys have 1
// to 4,096 bytes.
//
// Expiry. An expired or flushed record behaves as absent from that moment on. Its space is given
// back when an operation meets it.
//
// Concurrency. All member functions may be called from any number of threads at once; each
// operation on a record is atomic. Values of any size are built before a lock is taken: no lock is
// held over a large copy other than the map's own.
//
// Bad input. A record that cannot be decoded is errc::corrupt where its contents matter. set and
// remove do not need them: they replace or remove it.
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
    /// Seconds since 1970; empty: the system's clock. Expiry goes by it.
    std::function<std::uint64_t()> clock;
};

/// What a client says about its data.
struct record_attributes {
    std::uint32_t flags = 0;    ///< kept for the client, means nothing here
    std::uint64_t expires = 0;  ///< seconds since 1970; 0: never
};

class store {
   public:
    /// Bytes that a record takes beside its data, at most: 8, and 4 for flags and 8 for an expiry
    /// where it has them.
    static constexpr std::size_t most_header_size = 32;
    /// Longest data of a record, in bytes.
    static constexpr std::size_t max_data_size = max_value_size - most_header_size;
    /// Longest data that incr and decr take for a number, trailing blanks included.
    static constexpr std::size_t max_number_size = 1024;

    /// What an operation came to.
    enum class outcome : std::uint8_t {
        stored,        ///< also: counted (incr, decr)
        not_stored,    ///< the condition of add, replace, append or prepend did not hold
        exists,        ///< cas: the record was changed since
        not_found,     ///< no such record
        removed,       ///< remove
        touched,       ///< touch
        not_a_number,  ///< incr, decr: the data is no decimal number of 64 bits
    };

    struct reply {
        outcome what = outcome::not_stored;
        ticket written_in = 0;  ///< epoch of the operation, also of one that changed nothing
        std::uint64_t number =
            0;  ///< incr, decr: the new number; other writes: the record's new cas unique
    };

    using attributes = record_attributes;

    /// A record as get() delivers it. Reusing one saves its allocation.
    class record {
       public:
        [[nodiscard]] std::string_view data() const noexcept {
            return std::string_view(bytes_).substr(begin_ < bytes_.size() ? begin_ : bytes_.size());
        }
        /// Where in the storage that take() gives the data begins.
        [[nodiscard]] std::size_t data_begin() const noexcept { return begin_; }
        /// Gives the storage away. The record is empty then.
        [[nodiscard]] std::string take() noexcept;

        /// Why there is none, though there was one.
        enum class end : std::uint8_t { none, expired, flushed };

        attributes about;
        std::uint64_t cas = 0;
        end ended = end::none;

       private:
        friend class store;
        std::string bytes_;
        std::size_t begin_ = 0;  ///< size of the header
    };

    /// Data on its way into the store: bytes are collected behind room for the header, so that a
    /// large value is not copied once more.
    class draft {
       public:
        draft() = default;
        explicit draft(std::string_view data) { append(data); }
        void append(std::string_view data);
        /// Expects `size` bytes in total.
        void reserve(std::size_t size) { bytes_.reserve(size + most_header_size); }
        /// Forgets the data; keeps the storage if it has at most `keep` bytes.
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

    /// A record during a scan; the views end with the visitor's call.
    struct view {
        std::string_view data;
        attributes about;
        std::uint64_t cas = 0;
    };

    /// Opens the store in the region file `path` as map::open does.
    static result<store> open(const std::filesystem::path& path, const store_options& options = {});
    /// Makes a store of an open map.
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

    /// Reads a record. False: no such record; of `out`, `ended` alone is defined then.
    result<bool> get(std::string_view key, record& out);
    /// Reads a record and sets its expiry: touched or not_found, where `ended` alone is defined.
    result<reply> get_and_touch(std::string_view key, std::uint64_t expires, record& out);

    /// Stores: always.
    result<reply> set(std::string_view key, draft& value, attributes about = {});
    /// Stores if there is no such record.
    result<reply> add(std::string_view key, draft& value, attributes about = {});
    /// Stores if there is such a record.
    result<reply> replace(std::string_view key, draft& value, attributes about = {});
    /// Stores if the record is still the one whose cas unique is `unique`: stored, exists or
    /// not_found.
    result<reply> cas(std::string_view key, draft& value, attributes about, std::uint64_t unique);
    /// Lengthens the data of a record at its end. not_stored: none, or it would be longer than
    /// `limit`.
    result<reply> append(std::string_view key, std::string_view data,
                         std::size_t limit = max_data_size);
    /// Lengthens the data of a record at its front.
    result<reply> prepend(std::string_view key, std::string_view data,
                          std::size_t limit = max_data_size);

    result<reply> set(std::string_view key, std::string_view data, attributes about = {});
    result<reply> add(std::string_view key, std::string_view data, attributes about = {});
    result<reply> replace(std::string_view key, std::string_view data, attributes about = {});
    result<reply> cas(std::string_view key, std::string_view data, attributes about,
                      std::uint64_t unique);

    /// removed or not_found.
    result<reply> remove(std::string_view key);

    /// Adds to the decimal number that the data is, modulo 2^64. As in memcached, data never gets
    /// shorter by counting: blanks fill it up.
    result<reply> incr(std::string_view key, std::uint64_t delta);
    /// Subtracts; never below 0.
    result<reply> decr(std::string_view key, std::uint64_t delta);

    /// Sets the expiry; the cas unique stays. touched or not_found.
    result<reply> touch(std::string_view key, std::uint64_t expires);

    /// Makes every record absent that was written before `when` (seconds since 1970; 0 or past:
    /// now). A second call replaces one whose time has not come. Takes no longer for more records:
    /// their space is given back when they are met.
    result<reply> flush_all(std::uint64_t when = 0);

    /// Looks at up to `count` records (fewer where they are large) from where the last call left
    /// off, and gives back the space of the expired and flushed ones. Returns how many these were.
    result<std::size_t> purge(std::size_t count);

    /// Returns false to stop.
    using visitor = std::function<bool(std::string_view key, const view& record)>;
    /// Visits records in ascending order of key, as map::scan does. Returns the number of those
    /// visited.
    result<std::size_t> scan(std::string_view from, const visitor& visit, bool exclusive = false);

    /// As map::wait_durable(), map::sync(), map::durable_epoch().
    result<void> wait_durable(ticket t);
    result<void> sync();
    [[nodiscard]] ticket durable_epoch() const noexcept;

    /// As map::stats(); the store's own record is not one of `records`.
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
