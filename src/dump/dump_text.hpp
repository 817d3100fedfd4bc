// dump/dump_text.hpp: records as text, for another machine, version or program.
//
// Purpose. Writer and reader of one format (docs/dump_format.md has the grammar). They know
//  nothing of regions: they convert records to lines and lines to records, one at a time.
//
//     holdfast-dump 1
//     flush <TAB> when                                            at most once
//     record <TAB> flags <TAB> expires <TAB> cas <TAB> key <TAB> data
//     value <TAB> key <TAB> data
//     end <TAB> lines between <TAB> checksum of all bytes before this line
//
// Invariants.
//  T1 Every record has exactly one text: printable ASCII as it is, other bytes with one escape
//     each, numbers without leading zeros. So the writer reproduces accepted text byte for byte.
//  T2 Keys ascend, so none occurs twice.
//  T3 The reader reports the end only if count and checksum match and nothing follows. Until then
//     the records delivered may be part of a damaged dump.
// Bad input. errc::corrupt with the line's number, incompatible for another version. Memory is
//  bounded by the longest possible line of a record.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"
#include "base/checksum.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf::detail {

inline constexpr unsigned dump_version = 1;
/// The beginning of a dump of any version.
inline constexpr std::string_view dump_start = "holdfast-dump ";

/// A line of a dump.
struct dump_line {
    bool is_record = true;  ///< false: a value that is not a record of a store; flags to cas are 0
    u32 flags = 0;
    u64 expires = 0;
    u64 cas = 0;
    std::string_view key;  ///< valid until the next call of the reader
    std::string_view data;
};

struct dump_totals {
    u64 records = 0;
    u64 values = 0;  ///< lines of values that are not records
    u64 bytes = 0;   ///< size of the text, end line included
    u64 checksum = 0;
};

class dump_writer {
   public:
    using sink = std::function<result<void>(std::string_view text)>;

    explicit dump_writer(sink to) : to_(std::move(to)) {}

    /// Call once, first. `flush_at`: time of a pending flush_all, 0: none.
    [[nodiscard]] result<void> begin(u64 flush_at);
    /// Call in ascending order of key.
    [[nodiscard]] result<void> add(const dump_line& line);
    /// Call once, last.
    [[nodiscard]] result<dump_totals> end();

   private:
    void put_number(u64 number);
    void put_escaped(std::string_view bytes);
    [[nodiscard]] result<void> pass_on(std::size_t keep_below);

    sink to_;
    std::string text_;
    running_checksum checksum_;
    dump_totals totals_;
};

class dump_reader {
   public:
    /// Fills the front of the span; returns the number of bytes, 0 at the end.
    using source = std::function<result<std::size_t>(std::span<char> into)>;

    /// `name` identifies the source in errors.
    dump_reader(source from, std::string name) : from_(std::move(from)), name_(std::move(name)) {}

    /// Reads the next record. False: the dump has ended and is complete (T3).
    [[nodiscard]] result<bool> next(dump_line& line);
    /// The time of a pending flush_all, 0: none; known after the first next().
    [[nodiscard]] u64 flush_at() const noexcept { return flush_at_; }
    /// Complete after next() has returned false.
    [[nodiscard]] const dump_totals& totals() const noexcept { return totals_; }

   private:
    [[nodiscard]] result<void> read_start();
    /// A line without its newline; an empty optional at the end of the input.
    [[nodiscard]] result<std::optional<std::string_view>> read_line();
    [[nodiscard]] result<bool> fill();
    [[nodiscard]] result<std::string_view> must_read_line();
    [[nodiscard]] result<void> parse(std::string_view text, dump_line& line);
    [[nodiscard]] result<void> check_limits(const dump_line& line);
    [[nodiscard]] result<void> finish(std::string_view text);
    [[nodiscard]] tl::unexpected<error> wrong(std::string why) const;

    source from_;
    std::string name_;
    std::string buffer_;
    std::size_t at_ = 0;  ///< start of the next line in buffer_
    u64 line_ = 0;
    u64 flush_at_ = 0;
    running_checksum checksum_;
    dump_totals totals_;
    bool begun_ = false;
    bool has_last_ = false;
    std::string key_;
    std::string last_key_;
    std::string data_;
};

}  // namespace hf::detail
