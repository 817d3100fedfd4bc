// dump/dump_text.hpp: records as text, to be carried to another machine, version or program.
//
// Purpose. Writer and reader of one format (docs/dump_format.md has the grammar), which know
//  nothing of regions: they turn records into lines and lines into records, one at a time.
//
//     holdfast-dump 1
//     flush <TAB> when                                            at most once
//     record <TAB> flags <TAB> expires <TAB> cas <TAB> key <TAB> data
//     value <TAB> key <TAB> data
//     end <TAB> lines between <TAB> checksum of all bytes before this line
//
// Invariants.
//  T1 Every record has exactly one text: printable ASCII as it is, all else escaped in one way,
//     numbers without leading zeros. So what the reader accepts the writer writes again, byte for
//     byte.
//  T2 Keys ascend, so none occurs twice.
//  T3 The reader says that it has reached the end only when count and checksum fit and nothing
//     follows. Until then whatever it has delivered may be part of a damaged dump.
// Bad input. errc::corrupt with the line's number, incompatible for another version. Memory is
//  bounded by the longest line that a record can have.
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
/// What a dump of any version begins with.
inline constexpr std::string_view dump_start = "holdfast-dump ";

/// A line of a dump.
struct dump_line {
    bool is_record = true;  ///< false: a value that is no record of a store, flags to cas are 0
    u32 flags = 0;
    u64 expires = 0;
    u64 cas = 0;
    std::string_view key;  ///< end with the next call of whoever delivered them
    std::string_view data;
};

struct dump_totals {
    u64 records = 0;
    u64 values = 0;  ///< lines of values that are no records
    u64 bytes = 0;   ///< of text, the end line included
    u64 checksum = 0;
};

class dump_writer {
   public:
    using sink = std::function<result<void>(std::string_view text)>;

    explicit dump_writer(sink to) : to_(std::move(to)) {}

    /// First, once. `flush_at`: when the store is going to flush itself, 0: never.
    [[nodiscard]] result<void> begin(u64 flush_at);
    /// In ascending order of key.
    [[nodiscard]] result<void> add(const dump_line& line);
    /// Last, once.
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
    /// Fills the front of the span; returns how many bytes, 0 at the end.
    using source = std::function<result<std::size_t>(std::span<char> into)>;

    /// `name` is what errors call it.
    dump_reader(source from, std::string name) : from_(std::move(from)), name_(std::move(name)) {}

    /// The next record. False: that was all, and it is whole (T3).
    [[nodiscard]] result<bool> next(dump_line& line);
    /// When the store is going to flush itself; known after the first next().
    [[nodiscard]] u64 flush_at() const noexcept { return flush_at_; }
    /// Complete once next() has returned false.
    [[nodiscard]] const dump_totals& totals() const noexcept { return totals_; }

   private:
    [[nodiscard]] result<void> read_start();
    /// Without its newline; an empty optional at the end of the input.
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
