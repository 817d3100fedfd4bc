#include "store/store_record.hpp"

#include "base/checksum.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace hf::detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr u8 first_version = 1;
constexpr u8 version_with_short_headers = 2;

namespace tag {
constexpr u8 fixed = 0x80;
constexpr u8 has_flags = 1;
constexpr u8 has_expires = 2;
constexpr u8 has_wide_unique = 4;
constexpr u8 options = has_flags | has_expires | has_wide_unique;
}  // namespace tag

constexpr std::size_t narrow_unique = 7;

/// Writes fields consecutively.
class field_writer {
   public:
    explicit field_writer(encoded_header& to) noexcept : to_(to) {}
    template <class T>
    void put(const T& value, std::size_t bytes = sizeof(T)) noexcept {
        std::memcpy(to_.bytes + to_.size, &value, bytes);
        to_.size += bytes;
    }

   private:
    encoded_header& to_;
};

/// Reads fields consecutively, and records whether enough bytes were there.
class field_reader {
   public:
    explicit field_reader(std::string_view from) noexcept : from_(from) {}
    template <class T>
    [[nodiscard]] T get(std::size_t bytes = sizeof(T)) noexcept {
        T value{};
        complete_ = complete_ && from_.size() - size_ >= bytes;
        if (!complete_) return value;
        std::memcpy(&value, from_.data() + size_, bytes);
        size_ += bytes;
        return value;
    }
    [[nodiscard]] bool is_complete() const noexcept { return complete_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

   private:
    std::string_view from_;
    std::size_t size_ = 0;
    bool complete_ = true;
};

/// The header of version 1.
struct record_on_medium {
    u8 magic = 0xd5;
    u8 version = first_version;
    u16 zero = 0;
    u32 flags = 0;
    u64 expires = 0;
    u64 unique = 0;
    u32 data_size = 0;
    u32 check = 0;

    [[nodiscard]] u32 sum() const noexcept {
        return static_cast<u32>(checksum64(this, offsetof(record_on_medium, check)));
    }
    [[nodiscard]] bool is_whole() const noexcept {
        constexpr record_on_medium good;
        return magic == good.magic && version == good.version && zero == 0 && check == sum();
    }
};

struct master_on_medium {
    u8 magic = 0xd6;
    u8 version = first_version;
    u8 zero[6] = {};
    u64 flush_mark = 0;
    u64 flush_at = 0;
    u64 spent_blocks = 0;
    u64 check = 0;

    [[nodiscard]] u64 sum() const noexcept {
        return checksum64(this, offsetof(master_on_medium, check));
    }
    [[nodiscard]] bool is_whole() const noexcept {
        constexpr master_on_medium good;
        const bool known = version == first_version || version == version_with_short_headers;
        return magic == good.magic && known && check == sum();
    }
};

static_assert(std::has_unique_object_representations_v<record_on_medium> &&
              sizeof(record_on_medium) == 32);
static_assert(std::has_unique_object_representations_v<master_on_medium> &&
              sizeof(master_on_medium) == master_record_bytes);

}  // namespace

namespace {

std::optional<decoded_header> decode_version_1(std::string_view bytes) noexcept {
    record_on_medium r;
    if (bytes.size() < sizeof r) {
        return std::nullopt;
    }
    std::memcpy(&r, bytes.data(), sizeof r);
    if (!r.is_whole() || r.data_size != bytes.size() - sizeof r) {
        return std::nullopt;
    }
    return decoded_header{{r.flags, r.expires, r.unique}, sizeof r};
}

}  // namespace

encoded_header encode(const record_header& header) noexcept {
    const bool wide = header.unique >> (8 * narrow_unique) != 0;
    const u8 options = (header.flags != 0 ? tag::has_flags : 0) |
                       (header.expires != 0 ? tag::has_expires : 0) |
                       (wide ? tag::has_wide_unique : 0);
    encoded_header out;
    field_writer to(out);
    to.put(static_cast<u8>(tag::fixed | options));
    to.put(header.unique, wide ? sizeof(u64) : narrow_unique);
    if (header.flags != 0) to.put(header.flags);
    if (header.expires != 0) to.put(header.expires);
    return out;
}

std::string encode_version_1(const record_header& header, std::string_view data) {
    record_on_medium r;
    r.flags = header.flags;
    r.expires = header.expires;
    r.unique = header.unique;
    r.data_size = static_cast<u32>(data.size());
    r.check = r.sum();
    return std::string(reinterpret_cast<const char*>(&r), sizeof r).append(data);
}

std::optional<decoded_header> decode_record(std::string_view bytes, bool may_be_short) noexcept {
    field_reader from(bytes);
    const u8 first = from.get<u8>();
    if (!may_be_short || (first & ~tag::options) != tag::fixed) {
        return decode_version_1(bytes);
    }
    record_header h;
    h.unique = from.get<u64>((first & tag::has_wide_unique) != 0 ? sizeof(u64) : narrow_unique);
    if ((first & tag::has_flags) != 0) h.flags = from.get<u32>();
    if ((first & tag::has_expires) != 0) h.expires = from.get<u64>();
    if (!from.is_complete()) return std::nullopt;
    return decoded_header{h, from.size()};
}

void encode(const master_record& master, char* to) noexcept {
    master_on_medium m;
    if (master.short_headers) m.version = version_with_short_headers;
    m.flush_mark = master.flush_mark;
    m.flush_at = master.flush_at;
    m.spent_blocks = master.spent_blocks;
    m.check = m.sum();
    std::memcpy(to, &m, sizeof m);
}

std::optional<master_record> decode_master(std::string_view bytes) noexcept {
    master_on_medium m;
    if (bytes.size() != sizeof m) {
        return std::nullopt;
    }
    std::memcpy(&m, bytes.data(), sizeof m);
    if (!m.is_whole()) {
        return std::nullopt;
    }
    return master_record{m.flush_mark, m.flush_at, m.spent_blocks,
                         m.version == version_with_short_headers};
}

}  // namespace hf::detail
