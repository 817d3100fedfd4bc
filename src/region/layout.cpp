#include "region/layout.hpp"

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "base/os_error.hpp"

namespace hf::layout {
namespace {

// Different seeds, so that a word of one kind is never valid as another.
constexpr u64 epoch_seed = 0x45504f4348;
constexpr u64 segment_seed = 0x5345474d;
constexpr u64 intent_seed = 0x494e54454e54;

constexpr unsigned segment_check_shift = 52;
constexpr u64 segment_body_mask = (u64{1} << segment_check_shift) - 1;

u64 check_of(u64 value, u64 seed) noexcept { return checksum64(&value, sizeof value, seed); }

u64 segment_check(unsigned position, u64 body) noexcept {
    return check_of(body, segment_seed + position) >> segment_check_shift;
}

}  // namespace

u64 superblock_checksum(const superblock& s) noexcept {
    return checksum64(&s, offsetof(superblock, checksum));
}

void epoch_record_init(epoch_record& record, u64 epoch) noexcept {
    record.check.store(check_of(epoch, epoch_seed), std::memory_order_release);
    record.epoch.store(epoch, std::memory_order_release);
}

void epoch_record_store(epoch_record& record, u64 epoch) noexcept {
    constexpr u64 farthest = u64{1} << 20;
    u64 reached = record.epoch.load(std::memory_order_relaxed);
    HF_CHECK(epoch - reached <= farthest, "the epoch goes forward, and not by a million");
    while (epoch - reached > max_epoch_step) {
        reached += max_epoch_step;
        epoch_record_init(record, reached);
    }
    epoch_record_init(record, epoch);
}

result<u64> epoch_record_load(const epoch_record& record) {
    // check is written first, so a reader beside a writer has to load it last.
    const u64 epoch = record.epoch.load(std::memory_order_acquire);
    const u64 check = record.check.load(std::memory_order_acquire);
    for (u64 step = 0; step <= max_epoch_step; ++step) {
        if (check == check_of(epoch + step, epoch_seed)) return epoch;
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
    if (word >> segment_check_shift != segment_check(position, body)) return std::nullopt;
    return segment_word{static_cast<u32>(body), static_cast<u16>(body >> 32),
                        static_cast<u8>(body >> 48)};
}

u64 growth_intent_check(u64 pages) noexcept { return check_of(pages, intent_seed); }

}  // namespace hf::layout
