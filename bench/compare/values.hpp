// bench/compare/values.hpp: values that identify their write.
//
// A value contains its record's number, the stamp of its write, and filler bytes derived from both.
// So every get can be checked for the right record by one comparison, and a value that is damaged,
// mixed from two writes, or another record's is detected.
#pragma once

#include "base/bits.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace hf::bench {

inline constexpr u32 least_value_size = 16;  ///< number and stamp

class value_maker {
   public:
    explicit value_maker(u32 size) : bytes_(size, '\0') {}

    /// Valid until the next call.
    [[nodiscard]] std::string_view make(u64 record, u64 stamp) noexcept {
        char* at = bytes_.data();
        std::memcpy(at, &record, sizeof(record));
        std::memcpy(at + 8, &stamp, sizeof(stamp));
        u64 word = (record ^ stamp) * 0x9e3779b97f4a7c15U;
        for (std::size_t i = 16; i < bytes_.size(); i += 8) {
            word += stamp | 1;
            std::memcpy(at + i, &word, std::min<std::size_t>(8, bytes_.size() - i));
        }
        return bytes_;
    }

   private:
    std::string bytes_;
};

/// Whether the value is of the record and has the size; checked by every get.
[[nodiscard]] inline bool belongs_to(std::string_view value, u64 record, u32 size) noexcept {
    u64 number = 0;
    if (value.size() != size) return false;
    std::memcpy(&number, value.data(), sizeof(number));
    return number == record;
}

/// The stamp of a value whose bytes are all right; nullopt otherwise.
[[nodiscard]] inline std::optional<u64> stamp_of(std::string_view value, u64 record, u32 size) {
    if (!belongs_to(value, record, size)) return std::nullopt;
    u64 stamp = 0;
    std::memcpy(&stamp, value.data() + 8, sizeof(stamp));
    value_maker again(size);
    if (again.make(record, stamp) != value) return std::nullopt;
    return stamp;
}

}  // namespace hf::bench
