// server/framing.hpp: splits a stream of bytes into command lines and data blocks.
//
// Purpose. The caller passes the bytes that have arrived and were not consumed yet; the framer
// returns the first piece of them. The caller drops the consumed bytes, and passes the rest
// together with new bytes next time. So the result does not depend on packet boundaries; the tests
// split the stream everywhere.
//
//     line ("set k 0 0 5")                     data block: 5 bytes, CR LF
//     +------------------+ expect_block(5)  +----------------------------+
//  -->|  reading a line  |----------------->|  passing the data on       |--> reading a line
//     |                  | expect_waste(n)  +----------------------------+
//     |                  |----------------->|  dropping n bytes          |--> reading a line
//     +------------------+                  +----------------------------+
//
// F1  Between two calls the unconsumed bytes do not change; more may be appended.
// F2  Each byte of a line is searched for a line feed once; of a long get, at most twice.
//
// Long gets. get is the one command whose length a client cannot bound. Up to max_get_line a get is
// a line like any other. A longer one is passed on in pieces, cut after a blank: its beginning
// (get_begin), pieces of at most long_piece bytes (get_more), and the rest (get_end).
//
// Bad input. A line longer than max_line that is no get, and a word longer than max_line where a
// long get is cut, terminate the conversation (part::overlong). A data block that does not end
// with CR LF is reported as not intact; the stream continues after the two bytes in that place.
#pragma once

#include "base/bits.hpp"

#include <string_view>

namespace hf::detail {

class framer {
   public:
    static constexpr std::size_t max_line = 2048;
    static constexpr std::size_t max_get_line = std::size_t{1} << 20;
    static constexpr std::size_t long_piece = std::size_t{1} << 16;

    enum class part : u8 {
        none,       ///< no complete piece yet; `taken` bytes can be dropped nevertheless
        line,       ///< `bytes` is a line without its line feed
        data,       ///< `bytes` are part of the data block
        data_end,   ///< end of the data block; `intact` tells whether CR LF followed it
        overlong,   ///< longer than any valid line
        get_begin,  ///< `bytes` is the beginning of a get line, which is longer than max_get_line
        get_more,   ///< `bytes` are further words of that line
        get_end,    ///< `bytes` are its last words, without the line feed; there may be none
    };

    struct piece {
        part what = part::none;
        std::string_view bytes;
        std::size_t taken = 0;
        bool intact = false;
    };

    [[nodiscard]] piece next(std::string_view input) noexcept;

    /// `size` bytes of a data block and CR LF follow. Only after a line.
    void expect_block(u64 size) noexcept;
    /// `size` bytes follow that are to be dropped. Only after a line.
    void expect_waste(u64 size) noexcept { waste_ = size; }

    /// The rest of the line is to be dropped. Only after get_begin or get_more.
    void skip_line() noexcept { line_ = line_state::skipped; }

    /// Whether the stream could end here without cutting a line or block in two.
    [[nodiscard]] bool between_requests() const noexcept {
        return !in_block_ && waste_ == 0 && line_ == line_state::begins;
    }

   private:
    enum class line_state : u8 { begins, in_long_get, skipped };

    [[nodiscard]] piece next_line(std::string_view input) noexcept;
    [[nodiscard]] piece next_of_long_get(std::string_view input) noexcept;
    [[nodiscard]] piece skipped_line(std::string_view input) noexcept;
    /// The first `most` bytes, or fewer: up to their last blank.
    [[nodiscard]] piece cut_get(part what, std::string_view input, std::size_t most) noexcept;
    [[nodiscard]] piece next_data(std::string_view input) noexcept;

    u64 data_left_ = 0;
    u64 waste_ = 0;
    std::size_t searched_ = 0;  ///< bytes of the unconsumed input that contain no line feed
    line_state line_ = line_state::begins;
    bool in_block_ = false;
    bool second_of_end_ = false;  ///< the first of the two bytes after the data was consumed
    bool intact_ = false;
};

}  // namespace hf::detail
