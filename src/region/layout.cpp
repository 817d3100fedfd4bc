#include "region/layout.hpp"

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "base/os_error.hpp"

#include <algorithm>

namespace hf::layout {
namespace {

// Different seeds, so that a word of one kind is never valid as another.
constexpr u64 check_seed = 0x45504f4348;
constexpr u64 seal_seed = 0x5345414c;
constexpr u64 intent_seed = 0x494e54454e54;

constexpr unsigned segment_check_shift = 52;
constexpr u64 segment_body_mask = (u64{1} << segment_check_shift) - 1;

u64 check_of(u64 value, u64 seed) noexcept { return checksum64(&value, sizeof value, seed); }

// A CRC, since a hash truncated to 12 bits would miss one single flipped bit in 4,096.
// Polynomial x^12 + x^11 + x^3 + x^2 + x + 1; it detects every odd number of flipped bits, every
// pair, and every burst of up to 12. The position comes first, with a nonzero start value.
u64 segment_check(unsigned position, u64 body) noexcept {
    constexpr unsigned width = 12;
    constexpr u32 polynomial = 0x80F;
    u32 crc = 0xFFF;
    const auto feed = [&crc](u64 value, unsigned bits) {
        for (unsigned i = bits; i-- != 0;) {
            const u32 top = (crc >> (width - 1)) & 1U;
            crc = (crc << 1) & 0xFFFU;
            if ((top ^ (value >> i & 1U)) != 0) crc ^= polynomial;
        }
    };
    feed(position, width);
    feed(body, segment_check_shift);
    return crc;
}

}  // namespace

u64 superblock_checksum(const superblock& s) noexcept {
    return checksum64(&s, offsetof(superblock, checksum));
}

u64 root_checksum(const root& r, u64 value) noexcept {
    const u64 sum = checksum64(&r, offsetof(root, value), value);
    return sum != 0 ? sum : 1;
}

std::string_view name_of(const room_format& r) noexcept {
    return {r.name, ::strnlen(r.name, sizeof r.name)};
}

u32 version_of(const superblock& s, std::string_view room) noexcept {
    for (const room_format& r : s.rooms) {
        if (name_of(r) == room) return room.empty() ? 0 : r.version;
    }
    return 0;
}

void set_version(superblock& s, const room_format& room) noexcept {
    for (room_format& r : s.rooms) {
        if (r.name[0] != '\0' && name_of(r) != name_of(room)) continue;
        r = room;
        return;
    }
    HF_CHECK(false, "the table of rooms is full");
}

void epoch_record_init(epoch_record& record, u64 epoch) noexcept {
    record.check.store(check_of(epoch, check_seed), std::memory_order_release);
    record.epoch.store(epoch, std::memory_order_release);
    record.seal.store(check_of(epoch, seal_seed), std::memory_order_release);
}

void epoch_record_store(epoch_record& record, u64 epoch) noexcept {
    constexpr u64 farthest = u64{1} << 20;
    u64 reached = record.epoch.load(std::memory_order_relaxed);
    HF_CHECK(epoch - reached <= farthest, "the epoch goes forward, and not by a million");
    // An update that a crash interrupted is completed first. Otherwise the new one could leave an
    // epoch to which neither check nor seal belongs.
    record.check.store(check_of(reached, check_seed), std::memory_order_release);
    record.seal.store(check_of(reached, seal_seed), std::memory_order_release);
    while (reached != epoch) {
        reached += std::min(epoch - reached, max_epoch_step);
        epoch_record_init(record, reached);
    }
}

result<u64> epoch_record_load(const epoch_record& record) {
    const u64 seal = record.seal.load(std::memory_order_acquire);
    const u64 epoch = record.epoch.load(std::memory_order_acquire);
    const u64 check = record.check.load(std::memory_order_acquire);
    const bool checked = check == check_of(epoch, check_seed);
    const bool sealed = seal == check_of(epoch, seal_seed);
    if (checked && sealed) return epoch;
    for (u64 step = 1; step <= max_epoch_step; ++step) {
        if (checked && seal == check_of(epoch - step, seal_seed)) return epoch;
        if (sealed && check == check_of(epoch + step, check_seed)) return epoch;
    }
    return failure({errc::corrupt, "read the epoch record",
                    at_offset("header", offsetof(header, epoch)), "its checksum is wrong",
                    "restore the file from a backup"});
}

u64 pack_segment(unsigned position, segment_word word) noexcept {
    HF_CHECK(word.kind < 16, "a segment kind has four bits");
    const u64 body = u64{word.pages} | u64{word.owner} << 32 | u64{word.kind} << 48;
    return body | segment_check(position, body) << segment_check_shift;
}

std::optional<segment_word> unpack_segment(unsigned position, u64 word) noexcept {
    const u64 body = word & segment_body_mask;
    const segment_word read{static_cast<u32>(body), static_cast<u16>(body >> 32),
                            static_cast<u8>(body >> 48)};
    if (read.pages == 0 || pack_segment(position, read) != word) return std::nullopt;
    return read;
}

u64 growth_intent_check(u64 pages) noexcept { return check_of(pages, intent_seed); }

}  // namespace hf::layout
