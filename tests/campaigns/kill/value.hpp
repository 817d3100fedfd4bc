// tests/campaigns/kill/value.hpp: values that identify their write.
//
// The bytes of a value follow from the campaign's seed, its key, its size and the number of its
// write. So the judge can identify, to the last byte, the write of a value found after a crash,
// without a copy of it; and a reader that knows only the key can check any value of
// self_describing_size bytes or more.
//
//     byte  0         8               16        24
//          | tag     | key | size    | number  | stream made from the tag ...      cut off at
//          `size`
#pragma once

#include "base/random.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace hf::kill_test {

/// The value of a write.
struct value_id {
    u32 key = 0;
    u32 size = 0;
    u64 number = 0;  ///< unique for each region of a campaign

    friend bool operator==(const value_id&, const value_id&) = default;
};

inline constexpr u32 self_describing_size = 24;

class value_maker {
   public:
    explicit value_maker(u64 seed) noexcept : seed_(seed) {}

    /// The first eight bytes of the value, as a number.
    [[nodiscard]] u64 tag(const value_id& id) const noexcept {
        return splitmix64(splitmix64(seed_ ^ id.number)() + id.key)();
    }

    void write(const value_id& id, std::string& out) const {
        out.resize(id.size);
        const u64 t = tag(id);
        for (std::size_t at = 0; at < id.size; at += sizeof(u64)) {
            const u64 w = word(id, t, at / sizeof(u64));
            std::memcpy(out.data() + at, &w, std::min(sizeof(u64), id.size - at));
        }
    }

    [[nodiscard]] bool is_value_of(const value_id& id, std::string_view bytes) const noexcept {
        if (bytes.size() != id.size) return false;
        const u64 t = tag(id);
        u64 wrong = 0;
        std::size_t at = 0;
        for (; at + sizeof(u64) <= bytes.size(); at += sizeof(u64)) {
            u64 found = 0;
            std::memcpy(&found, bytes.data() + at, sizeof(u64));
            wrong |= found ^ word(id, t, at / sizeof(u64));
        }
        const u64 last = word(id, t, at / sizeof(u64));
        return wrong == 0 && std::memcmp(bytes.data() + at, &last, bytes.size() - at) == 0;
    }

    /// The identity that the value contains, if it is a complete value of this key.
    [[nodiscard]] std::optional<value_id> read(u32 key, std::string_view bytes) const noexcept {
        if (bytes.size() < self_describing_size) return std::nullopt;
        value_id id{key, static_cast<u32>(bytes.size()), 0};
        std::memcpy(&id.number, bytes.data() + 16, sizeof(u64));
        if (!is_value_of(id, bytes)) return std::nullopt;
        return id;
    }

   private:
    [[nodiscard]] static u64 word(const value_id& id, u64 tag, std::size_t index) noexcept {
        if (index == 0) return tag;
        if (id.size >= self_describing_size) {
            if (index == 1) return id.key | u64{id.size} << 32;
            if (index == 2) return id.number;
        }
        return splitmix64(tag + index)();
    }

    u64 seed_;
};

}  // namespace hf::kill_test
