#include "transaction/commit_record.hpp"

#include "base/checksum.hpp"
#include "persist/ordered.hpp"

#include <bit>
#include <cstddef>
#include <optional>

namespace hf {
namespace {

using word = std::atomic<u64>;

u64 body_words(std::span<const written_line> lines, std::size_t changes) noexcept {
    u64 words = 3 * changes;
    for (const written_line& l : lines) words += 1 + static_cast<u64>(std::popcount(l.mask));
    return words;
}

u64 bytes_of(u64 words, record_kind kind) noexcept {
    const u64 end = sizeof(record_header) + 8 * words + (kind == record_kind::undo ? 8 : 0);
    return align_up(end, line_size);
}

u64 checksum_of(const record_header* record, u64 words, u64 seed) noexcept {
    const auto* bytes = reinterpret_cast<const std::byte*>(record);
    constexpr std::size_t from = offsetof(record_header, epoch);
    return checksum64(bytes + from, sizeof(record_header) - from + 8 * words, seed);
}

const u64* body_of(const region& r, u64 at) noexcept {
    return r.at<const u64>(at + sizeof(record_header));
}

word& done_of(const region& r, u64 at, u32 words) noexcept {
    return *r.at<word>(at + sizeof(record_header) + 8 * u64{words});
}

/// Whether the body is as its header says; calls on_line(line, mask, words) for each line.
template <class OnLine>
bool walk_lines(const region& r, const record_view& v, OnLine&& on_line) {
    const u64* const body = body_of(r, v.at);
    const u64 end = v.header.words - 3 * u64{v.header.changes};
    for (u64 i = 0; i < end;) {
        const u64 line = body[i] >> 8;
        const auto mask = static_cast<u8>(body[i] & 0xff);
        const auto n = static_cast<u64>(std::popcount(mask));
        if (mask == 0 || i + 1 + n > end) return false;
        if (line < layout::page_size / line_size || line >= r.size() / line_size) return false;
        on_line(line, mask, body + i + 1);
        i += 1 + n;
    }
    return true;
}

}  // namespace

u64 record_bytes(record_kind kind, std::span<const written_line> lines,
                 std::size_t changes) noexcept {
    return bytes_of(body_words(lines, changes), kind);
}

u64 record_seed(const region& r) noexcept {
    return checksum64(r.super().uuid, sizeof(r.super().uuid), 0x5458);
}

void write_record(const region& r, u64 at, const record_facts& facts,
                  std::span<const written_line> lines,
                  std::span<const committed::word_change> changes, u64 seed) noexcept {
    auto* const header = r.at<record_header>(at);
    u64* next = r.at<u64>(at + sizeof(record_header));
    const u64* const body = next;
    const u64 first_line = reinterpret_cast<u64>(r.base()) / line_size;
    for (const written_line& l : lines) {
        *next++ = (l.line - first_line) << 8 | l.mask;
        auto* const place = reinterpret_cast<word*>(l.line * line_size);
        for (unsigned i = 0; i < 8; ++i) {
            if ((l.mask >> i & 1) == 0) continue;
            *next++ = facts.kind == record_kind::redo ? l.words[i]
                                                      : place[i].load(std::memory_order_relaxed);
        }
    }
    for (const committed::word_change& c : changes) {
        *next++ = c.offset;
        *next++ = c.clear;
        *next++ = c.set;
    }
    header->epoch = facts.epoch;
    header->version = facts.version;
    header->words = static_cast<u32>(next - body);
    header->number = facts.number;
    header->changes = static_cast<u32>(changes.size());
    header->kind = facts.kind;
    if (facts.kind == record_kind::undo) *next = 0;
    header->checksum = checksum_of(header, header->words, seed);
}

std::atomic<u64>& mark_done(const region& r, u64 at) noexcept {
    word& done = done_of(r, at, r.at<record_header>(at)->words);
    done.store(r.at<record_header>(at)->checksum, std::memory_order_release);
    return done;
}

std::optional<record_view> read_record(const region& r, u64 at, u64 room, u64 epoch,
                                       u64 seed) noexcept {
    if (room < sizeof(record_header)) return std::nullopt;
    record_view v{at, 0, *r.at<record_header>(at)};
    const record_header& h = v.header;
    if (h.epoch != epoch) return std::nullopt;
    if (h.kind != record_kind::redo && h.kind != record_kind::undo) return std::nullopt;
    v.bytes = bytes_of(h.words, h.kind);
    if (v.bytes > room || 3 * u64{h.changes} > h.words) return std::nullopt;
    if (checksum_of(r.at<record_header>(at), h.words, seed) != h.checksum) return std::nullopt;
    return v;
}

result<void> check_record(const region& r, const record_view& record) {
    if (walk_lines(r, record, [](u64, u8, const u64*) {})) return {};
    return failure({errc::corrupt, "apply a commit record",
                    r.path().string() + " at offset " + std::to_string(record.at),
                    "it leads outside of the region", "restore the file from a backup"});
}

void apply_record(const region& r, const record_view& record,
                  std::vector<committed::word_change>& changes) {
    const record_header& h = record.header;
    const bool undo = h.kind == record_kind::undo;
    const bool has_committed =
        !undo || done_of(r, record.at, h.words).load(std::memory_order_acquire) == h.checksum;
    if (undo != has_committed) {  // else it is in place: U2
        static_cast<void>(walk_lines(r, record, [&](u64 line, u8 mask, const u64* words) {
            auto* const place = r.at<word>(line * line_size);
            for (unsigned i = 0; i < 8; ++i) {
                if ((mask >> i & 1) != 0) ordered_store(place[i], *words++);
            }
            r.med().flush_line(place);
        }));
    }
    if (!has_committed) return;
    const u64* c = body_of(r, record.at) + h.words - 3 * u64{h.changes};
    for (u32 i = 0; i < h.changes; ++i, c += 3) changes.push_back({c[0], c[1], c[2]});
}

}  // namespace hf
