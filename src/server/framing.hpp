// server/framing.hpp: cuts a stream of bytes into command lines and data blocks.
//
// Purpose. The framer is shown the bytes that have arrived and not been taken yet, and says what
// they begin with. The caller drops the bytes that were taken and shows what is left, with what has
// arrived since. So the outcome does not depend on where the stream was cut into packets; the tests
// cut it everywhere.
//
//     line ("set k 0 0 5")                     data block: 5 bytes, CR LF
//     +------------------+ expect_block(5)  +----------------------------+
//  -->|  reading a line  |----------------->|  handing the data out      |--> reading a line
//     |                  | expect_waste(n)  +----------------------------+
//     |                  |----------------->|  dropping n bytes          |--> reading a line
//     +------------------+                  +----------------------------+
//
// I1  Between two calls the untaken bytes stay as they are; more may follow them.
// I2  A line feed is looked for once in each byte.
//
// Bad input. A line longer than max_line, its end not counted, ends the conversation
// (part::overlong), as does a get line longer than max_get_line: it is the one command whose length
// a client cannot bound. A data block that does not end with CR LF is reported as not intact; the
// stream goes on behind the two bytes that stood there.
#pragma once

#include "base/bits.hpp"

#include <string_view>

namespace hf::detail {

class framer {
   public:
    static constexpr std::size_t max_line = 2048;
    static constexpr std::size_t max_get_line = std::size_t{1} << 20;

    enum class part : u8 {
        none,      ///< nothing whole yet; `taken` bytes are of no more use all the same
        line,      ///< `bytes` is a line without its line feed
        data,      ///< `bytes` belong to the data block
        data_end,  ///< the data block is through; `intact` says whether it ended as it must
        overlong,  ///< no line can be that long
    };

    struct piece {
        part what = part::none;
        std::string_view bytes;
        std::size_t taken = 0;
        bool intact = false;
    };

    [[nodiscard]] piece next(std::string_view input) noexcept;

    /// A data block of `size` bytes and its CR LF come next. Only after a line.
    void expect_block(u64 size) noexcept;
    /// `size` bytes come next that nobody wants. Only after a line.
    void expect_waste(u64 size) noexcept { waste_ = size; }

    /// Whether the stream could end here without cutting anything in two.
    [[nodiscard]] bool between_requests() const noexcept { return !in_block_ && waste_ == 0; }

   private:
    [[nodiscard]] piece next_line(std::string_view input) noexcept;
    [[nodiscard]] piece next_data(std::string_view input) noexcept;

    u64 data_left_ = 0;
    u64 waste_ = 0;
    std::size_t searched_ = 0;  ///< bytes of the untaken input that hold no line feed
    bool in_block_ = false;
    bool second_of_end_ = false;  ///< the first of the two bytes behind the data has been taken
    bool intact_ = false;
};

}  // namespace hf::detail
