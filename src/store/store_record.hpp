// store/store_record.hpp: how a record of the store lies in the map.
//
// On the medium, little endian:
//
//     offset  0      1        2     4      8        16          24             28     32
//             magic  version  zero  flags  expires  cas unique  size of data   check  data
//             0xd5   1
//
// and the store's own record, under the empty key:
//
//     0       1         2                       8            16           24            32
//     +-------+---------+-----------------------+------------+------------+-------------+---------+
//     | magic | version | zero                  | flush mark | flush time | spent       | check   |
//     | 0xd6  | 1       |                       |            |            | blocks      |         |
//     +-------+---------+-----------------------+------------+------------+-------------+---------+
//
// I1  `check` covers the bytes before it (the low half of their checksum in a record). Data has no
//     checksum of its own: that its bytes are whole is the map's promise.
// I2  A record is absent if its cas unique is at most the flush mark.
// Bad input: anything else decodes to nothing, whatever its length and contents.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string_view>

namespace hf::detail {

inline constexpr std::size_t record_header_bytes = 32;
inline constexpr std::size_t master_record_bytes = 40;

struct record_header {
    u32 flags = 0;
    u64 expires = 0;
    u64 unique = 0;
    u32 data_size = 0;
};

/// Writes record_header_bytes bytes.
void encode(const record_header& header, char* to) noexcept;
/// nullopt: damaged, or of a later version.
[[nodiscard]] std::optional<record_header> decode_record(std::string_view bytes) noexcept;

/// What the store knows about itself.
struct master_record {
    u64 flush_mark = 0;    ///< records up to this cas unique are absent
    u64 flush_at = 0;      ///< when to flush, seconds since 1970; 0: never
    u64 spent_blocks = 0;  ///< blocks of unique numbers taken beyond one a session
};

/// Writes master_record_bytes bytes.
void encode(const master_record& master, char* to) noexcept;
[[nodiscard]] std::optional<master_record> decode_master(std::string_view bytes) noexcept;

}  // namespace hf::detail
