#include "store/store_record.hpp"

#include "base/checksum.hpp"

#include <bit>
#include <cstring>

namespace hf::detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr u8 record_magic = 0xd5;
constexpr u8 master_magic = 0xd6;
constexpr u8 format_version = 1;

template <class T>
void put(char* to, std::size_t at, T value) noexcept {
    std::memcpy(to + at, &value, sizeof value);
}

template <class T>
T take(std::string_view from, std::size_t at) noexcept {
    T value;
    std::memcpy(&value, from.data() + at, sizeof value);
    return value;
}

}  // namespace

void encode(const record_header& header, char* to) noexcept {
    put(to, 0, record_magic);
    put(to, 1, format_version);
    put(to, 2, u16{0});
    put(to, 4, header.flags);
    put(to, 8, header.expires);
    put(to, 16, header.unique);
    put(to, 24, header.data_size);
    put(to, 28, static_cast<u32>(checksum64(to, 28)));
}

std::optional<record_header> decode_record(std::string_view bytes) noexcept {
    if (bytes.size() < record_header_bytes || take<u8>(bytes, 0) != record_magic ||
        take<u8>(bytes, 1) != format_version || take<u16>(bytes, 2) != 0) {
        return std::nullopt;
    }
    if (take<u32>(bytes, 28) != static_cast<u32>(checksum64(bytes.data(), 28))) {
        return std::nullopt;
    }
    const record_header header{take<u32>(bytes, 4), take<u64>(bytes, 8), take<u64>(bytes, 16),
                               take<u32>(bytes, 24)};
    if (header.data_size != bytes.size() - record_header_bytes) {
        return std::nullopt;
    }
    return header;
}

void encode(const master_record& master, char* to) noexcept {
    put(to, 0, master_magic);
    put(to, 1, format_version);
    put(to, 2, u16{0});
    put(to, 4, u32{0});
    put(to, 8, master.flush_mark);
    put(to, 16, master.flush_at);
    put(to, 24, master.spent_blocks);
    put(to, 32, checksum64(to, 32));
}

std::optional<master_record> decode_master(std::string_view bytes) noexcept {
    if (bytes.size() != master_record_bytes || take<u8>(bytes, 0) != master_magic ||
        take<u8>(bytes, 1) != format_version ||
        take<u64>(bytes, 32) != checksum64(bytes.data(), 32)) {
        return std::nullopt;
    }
    return master_record{take<u64>(bytes, 8), take<u64>(bytes, 16), take<u64>(bytes, 24)};
}

}  // namespace hf::detail
