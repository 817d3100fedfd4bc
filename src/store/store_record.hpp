// store/store_record.hpp: the format of the store's records in the map.
//
// On the medium, little endian, as short as possible, because every record has it:
//
//     tag | cas unique 7 or 8 | flags 4, if not 0 | expires 8, if not 0 | data
//
//     tag:  | 1 0 0 0 | 0 | unique has 8 bytes | expires is there | flags are there |
//
// A cas unique has 8 bytes only from the 65,536th session on (store_unique.hpp).
//
// Version 1 had all fields in every record, and its own checksum. Such records are read; a change
// rewrites them in the new format:
//
//     offset  0      1        2     4      8        16          24             28     32
//             magic  version  zero  flags  expires  cas unique  size of data   check  data
//             0xd5   1
//
// The store's own record, under the empty key:
//
//     0       1         2                       8            16           24            32
//     +-------+---------+-----------------------+------------+------------+-------------+---------+
//     | magic | version | zero                  | flush mark | flush time | spent       | check   |
//     | 0xd6  | 1 or 2  |                       |            |            | blocks      |         |
//     +-------+---------+-----------------------+------------+------------+-------------+---------+
//
// R1  The map's checksum guarantees that a record's bytes, header and data, are what was written.
//     `check`, of version 1 and of the store's own record, covers the bytes before it (in a record:
//     the low half of their checksum).
// R2  A record is absent if its cas unique is at most the flush mark.
// R3  A short header looks like the beginning of many values. So it is recognised only if the
//     store's own record, of version 2, says that such headers exist. That is written before the
//     first of them, and epochs keep this order (store_impl.hpp, I4). Older programs then refuse
//     the store.
// Bad input: anything else decodes to nothing, whatever its length and contents.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hf::detail {

inline constexpr std::size_t master_record_bytes = 40;

struct record_header {
    u32 flags = 0;
    u64 expires = 0;
    u64 unique = 0;
};

/// A header as it is stored before the data.
struct encoded_header {
    static constexpr std::size_t most_bytes = 1 + 8 + 4 + 8;
    char bytes[most_bytes];
    std::size_t size = 0;
    [[nodiscard]] std::string_view view() const noexcept { return {bytes, size}; }
};
[[nodiscard]] encoded_header encode(const record_header& header) noexcept;

/// The format of version 1.
[[nodiscard]] std::string encode_version_1(const record_header& header, std::string_view data);

struct decoded_header {
    record_header header;
    std::size_t size;  ///< in bytes; the data begins after it
};
/// `may_be_short`: the flag in the store's own record (R3). nullopt: damaged, or of a later
/// version.
[[nodiscard]] std::optional<decoded_header> decode_record(std::string_view bytes,
                                                          bool may_be_short) noexcept;

/// The contents of the store's own record.
struct master_record {
    u64 flush_mark = 0;  ///< records up to this cas unique are absent
    u64 flush_at = 0;    ///< when to flush, seconds since 1970; 0: never
    /// blocks of unique numbers used in addition to one for each session
    u64 spent_blocks = 0;
    bool short_headers = false;  ///< records may have short headers (R3): version 2
};

/// Writes master_record_bytes bytes.
void encode(const master_record& master, char* to) noexcept;
[[nodiscard]] std::optional<master_record> decode_master(std::string_view bytes) noexcept;

}  // namespace hf::detail
