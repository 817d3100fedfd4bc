// dump/dump_text.hpp: records as text, for transfer to another machine, version or program.
//
// Purpose. Writer and reader of one format (grammar: docs/dump_format.md). They do not access
// regions: they convert records to lines and lines to records, one at a time.
//
//     holdfast-dump 1
//     flush <TAB> when                                            at most once
//     record <TAB> flags <TAB> expires <TAB> cas <TAB> key <TAB> data
//     value <TAB> key <TAB> data
//     end <TAB> lines between <TAB> checksum of all bytes before this line
//
// Invariants.
//  T1 Every record has exactly one text: printable ASCII unchanged, all else escaped in one way,
//     numbers without leading zeros. So the writer reproduces, byte for byte, what the reader
//     accepts.
//  T2 Keys ascend, so none occurs twice.
//  T3 The reader reports the end only if count and checksum match and nothing follows. Until then
//     the lines it has delivered may be part of a damaged dump.
// Bad input. errc::corrupt with the line's number, errc::incompatible for another version. Memory
// is bounded by the longest line that a record can have.
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
/// The first bytes of a dump of any version.
inline constexpr std::string_view dump_start = "holdfast-dump ";

/// A line of a dump.
struct dump_line {
    bool is_record = true;  ///< false: a value that is not a store's record; flags to cas are 0
    u32 flags = 0;
    u64 expires = 0;
    u64 cas = 0;
    std::string_view key;  ///< views, valid until the next call of the reader
    std::string_view data;
};

struct dump_totals {
    u64 records = 0;
    u64 values = 0;  ///< lines of values that are not records
    u64 bytes = 0;   ///< of text, the end line included
    u64 checksum = 0;
};

class dump_writer {
   public:
    using sink = std::function<result<void>(std::string_view text)>;

    explicit dump_writer(sink to) : to_(std::move(to)) {}

    /// Must be called first, once. `flush_at`: when the store's scheduled flush is due; 0: never.
    [[nodiscard]] result<void> begin(u64 flush_at);
    /// In ascending order of keys.
    [[nodiscard]] result<void> add(const dump_line& line);
    /// Must be called last, once.
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

    /// `name`: the input's name in error messages.
    dump_reader(source from, std::string name) : from_(std::move(from)), name_(std::move(name)) {}

    /// Reads the next record. False: the end was reached, and the dump is complete (T3).
    [[nodiscard]] result<bool> next(dump_line& line);
    /// When the store's scheduled flush is due; known after the first next().
    [[nodiscard]] u64 flush_at() const noexcept { return flush_at_; }
    /// Complete after next() has returned false.
    [[nodiscard]] const dump_totals& totals() const noexcept { return totals_; }

   private:
    [[nodiscard]] result<void> read_start();
    /// The line without its newline; nullopt at the end of the input.
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
    std::size_t at_ = 0;  ///< in buffer_: the next line
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
