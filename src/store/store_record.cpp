#include "store/store_record.hpp"

#include "base/checksum.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace hf::detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr u8 format_version = 1;

struct record_on_medium {
    u8 magic = 0xd5;
    u8 version = format_version;
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
    u8 version = format_version;
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
        return magic == good.magic && version == good.version && check == sum();
    }
};

static_assert(std::has_unique_object_representations_v<record_on_medium> &&
              sizeof(record_on_medium) == record_header_bytes);
static_assert(std::has_unique_object_representations_v<master_on_medium> &&
              sizeof(master_on_medium) == master_record_bytes);

}  // namespace

void encode(const record_header& header, char* to) noexcept {
    record_on_medium r;
    r.flags = header.flags;
    r.expires = header.expires;
    r.unique = header.unique;
    r.data_size = header.data_size;
    r.check = r.sum();
    std::memcpy(to, &r, sizeof r);
}

std::optional<record_header> decode_record(std::string_view bytes) noexcept {
    record_on_medium r;
    if (bytes.size() < sizeof r) {
        return std::nullopt;
    }
    std::memcpy(&r, bytes.data(), sizeof r);
    if (!r.is_whole() || r.data_size != bytes.size() - sizeof r) {
        return std::nullopt;
    }
    return record_header{r.flags, r.expires, r.unique, r.data_size};
}

void encode(const master_record& master, char* to) noexcept {
    master_on_medium m;
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
    return master_record{m.flush_mark, m.flush_at, m.spent_blocks};
}

}  // namespace hf::detail
