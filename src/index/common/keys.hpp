// index/common/keys.hpp: key and value types of an eager index, chosen at compile time.
//
//   integer_keys   8-byte keys and 8-byte values, which are updated in place
//   byte_keys      keys of 0 to 4,096 arbitrary bytes, values of up to 256 MiB; an update replaces
//                  the record
//
// An index X<D, Keys> takes Keys::key and Keys::value, and makes records with the functions below.
// A record is in memory from op.allocate(), so small ones fit into one line.
//
// On the medium.
//   integer_record:  | key 8 | value 8 |
//   byte_record:     | key bytes 4 | value bytes 4 | checksum 8 | key | value |
// A byte_record is immutable once it is published. The checksum covers key and value. Audits verify
// it; reads verify it only if the value is long.
#pragma once

#include <holdfast/pointer.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "base/damage.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

namespace hf {

inline constexpr std::size_t most_key_bytes = 4096;
inline constexpr std::size_t most_value_bytes = std::size_t{256} << 20;

/// Ordered by number. hash() is a bijection, so an index can store it instead of the key.
struct integer_keys {
    using key = u64;
    using value = u64;
    static constexpr bool inline_values = true;

    struct record {
        u64 key;
        std::atomic<u64> value;
    };
    static_assert(sizeof(record) == 16);

    [[nodiscard]] static constexpr u64 hash(u64 k) noexcept {
        k ^= k >> 32;
        k *= 0xd6e8feb86659fd93U;
        k ^= k >> 32;
        k *= 0xd6e8feb86659fd93U;
        return k ^ (k >> 32);
    }
    /// Inverse of hash().
    [[nodiscard]] static constexpr u64 key_of_hash(u64 h) noexcept {
        constexpr u64 inverse = 0xcfee444d8b59a89bU;
        h ^= h >> 32;
        h *= inverse;
        h ^= h >> 32;
        h *= inverse;
        return h ^ (h >> 32);
    }
    [[nodiscard]] static result<void> check(u64, u64) { return {}; }

    /// Makes a record, unreachable, and records its line for flushing.
    template <class Operation>
    [[nodiscard]] static result<u64> make_record(Operation& op, u64 k, u64 v) {
        auto at = op.allocate(sizeof(record));
        if (!at) return at;
        auto* r = op.template at<record>(*at);
        r->key = k;
        r->value.store(v, std::memory_order_release);
        op.written_line(r);
        return at;
    }
    [[nodiscard]] static u64 key_of(const record& r) noexcept { return r.key; }
    [[nodiscard]] static u64 value_of(const record& r) noexcept {
        return r.value.load(std::memory_order_acquire);
    }
    /// The value as a reader takes it.
    [[nodiscard]] static u64 value_if_sound(const record& r) noexcept { return value_of(r); }
    /// The size to which the record should be allocated; nullopt means damage.
    [[nodiscard]] static u64 bytes_of(const record&) noexcept { return sizeof(record); }
    [[nodiscard]] static bool is_whole(const record&, u64 room) noexcept {
        return room >= sizeof(record);
    }
};
static_assert(integer_keys::key_of_hash(integer_keys::hash(0x0123456789abcdefU)) ==
              0x0123456789abcdefU);

/// Ordered by memcmp; a prefix precedes longer strings.
struct byte_keys {
    using key = std::string_view;
    using value = std::string_view;
    static constexpr bool inline_values = false;

    struct record {
        u32 key_bytes;
        u32 value_bytes;
        u64 checksum;
        [[nodiscard]] const char* bytes() const noexcept {
            return reinterpret_cast<const char*>(this + 1);
        }
        [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    };
    static_assert(sizeof(record) == 16);

    [[nodiscard]] static u64 hash(std::string_view k) noexcept {
        return checksum64(k.data(), k.size());
    }
    /// Fails with errc::too_large.
    [[nodiscard]] static result<void> check(std::string_view k, std::string_view v) {
        if (k.size() <= most_key_bytes && v.size() <= most_value_bytes) [[likely]] {
            return {};
        }
        const bool is_key = k.size() > most_key_bytes;
        return failure({errc::too_large, "write a record", "",
                        is_key ? "its key has " + std::to_string(k.size()) + " bytes"
                               : "its value has " + std::to_string(v.size()) + " bytes",
                        is_key ? "use keys of up to 4096 bytes" : "use values of up to 256 MiB"});
    }

    template <class Operation>
    [[nodiscard]] static result<u64> make_record(Operation& op, std::string_view k,
                                                 std::string_view v) {
        const u64 bytes = sizeof(record) + k.size() + v.size();
        auto at = op.allocate(bytes);
        if (!at) return at;
        auto* r = op.template at<record>(*at);
        r->key_bytes = static_cast<u32>(k.size());
        r->value_bytes = static_cast<u32>(v.size());
        if (!k.empty()) std::memcpy(r->bytes(), k.data(), k.size());
        if (!v.empty()) std::memcpy(r->bytes() + k.size(), v.data(), v.size());
        r->checksum = checksum_of(*r);
        op.written(r, bytes);
        return at;
    }
    [[nodiscard]] static std::string_view key_of(const record& r) noexcept {
        return {r.bytes(), std::min<std::size_t>(r.key_bytes, most_key_bytes)};
    }
    [[nodiscard]] static std::string_view value_of(const record& r) noexcept {
        return {r.bytes() + r.key_bytes, r.value_bytes};
    }
    /// The value as a reader takes it: its length is plausible, and the checksum of a long one is
    /// verified, so that no reader copies gigabytes because of a damaged length. Throws damage.
    [[nodiscard]] static std::string_view value_if_sound(const record& r) {
        if (r.value_bytes > short_value || r.key_bytes > most_key_bytes) [[unlikely]] {
            check_long(r);
        }
        return value_of(r);
    }
    [[nodiscard]] static u64 bytes_of(const record& r) noexcept {
        return sizeof(record) + u64{r.key_bytes} + r.value_bytes;
    }
    /// Whether the `room` bytes there can be a record. For audits.
    [[nodiscard]] static bool is_whole(const record& r, u64 room) noexcept {
        return r.key_bytes <= most_key_bytes && bytes_of(r) <= room && r.checksum == checksum_of(r);
    }

   private:
    static constexpr u32 short_value = 4096;

    [[gnu::cold, gnu::noinline]] static void check_long(const record& r) {
        if (r.key_bytes <= most_key_bytes && r.value_bytes <= most_value_bytes &&
            r.checksum == checksum_of(r)) {
            return;
        }
        throw damage(reinterpret_cast<u64>(&r) & window_mask, "a record is damaged");
    }
    [[nodiscard]] static u64 checksum_of(const record& r) noexcept {
        return checksum64(r.bytes(), std::size_t{r.key_bytes} + r.value_bytes, r.key_bytes);
    }
};

}  // namespace hf
