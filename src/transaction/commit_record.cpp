#include "transaction/commit_record.hpp"

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "persist/ordered.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>

namespace hf {
namespace {

using word = std::atomic<u64>;

/// Calls on_line(address of the line, first, last) for each line that a block has words in: those
/// from `first` to just before `last`.
template <class OnLine>
void each_line(const fresh_block& b, OnLine&& on_line) {
    const u64 end = align_up(b.address + b.bytes, 8);
    for (u64 at = b.address; at < end;) {
        const u64 line = at / line_size * line_size;
        const auto first = static_cast<unsigned>((at - line) / 8);
        const auto last = static_cast<unsigned>((std::min(end, line + line_size) - line) / 8);
        on_line(line, first, last);
        at = line + line_size;
    }
}

// Of kind shadow: the words that say which pages change slots.
constexpr unsigned place_bits = 28;
constexpr u64 place_mask = (u64{1} << place_bits) - 1;
constexpr unsigned line_bits = 6;
constexpr u64 is_one_line = u64{1} << 63;
constexpr u64 value_of_all = u64{1} << 62;
constexpr u64 line_mask = shadow::lines_per_page - 1;
/// In place of a line's number: the page's lines change to one slot.
constexpr u64 have_one_value = 1;
static_assert(HF_WINDOW_BITS - 12 <= place_bits, "a page's number fits");

u64 page_words(const record_header& h) noexcept { return h.kind >> 8; }

bool has_known_kind(const record_header& h) noexcept {
    const record_kind kind = kind_of(h);
    if (kind < record_kind::redo || kind > record_kind::shadow) return false;
    return kind == record_kind::shadow || page_words(h) == 0;
}

bool has_one_value(const shadow::page_change& c) noexcept {
    return c.value == 0 || c.value == c.mask;
}

/// Words that put_page() writes.
u64 words_of(const shadow::page_change& c) noexcept {
    if (std::has_single_bit(c.mask)) return 1;
    return has_one_value(c) ? 2 : 3;
}

u64* put_page(u64* next, const record_page& p) noexcept {
    const shadow::page_change& c = p.change;
    u64 first = c.page << (place_bits + line_bits) | p.slot << line_bits;
    if (has_one_value(c) && c.value != 0) first |= value_of_all;
    if (std::has_single_bit(c.mask)) {
        *next++ = is_one_line | first | static_cast<u64>(std::countr_zero(c.mask));
        return next;
    }
    const bool have_one = has_one_value(c);
    *next++ = have_one ? first | have_one_value : first;
    *next++ = c.mask;
    if (!have_one) *next++ = c.value;
    return next;
}

/// Reads the page that begins at `next`; the words to after it. nullptr: `end` cuts it off.
const u64* take_page(const u64* next, const u64* end, record_page& p) noexcept {
    const u64 first = *next++;
    p.change.page = first >> (place_bits + line_bits) & place_mask;
    p.slot = first >> line_bits & place_mask;
    const u64 all = (first & value_of_all) != 0 ? ~u64{0} : 0;
    if ((first & is_one_line) != 0) {
        p.change.mask = shadow::only(first & line_mask);
        p.change.value = p.change.mask & all;
        return next;
    }
    const bool have_one = (first & line_mask) == have_one_value;
    if (end - next < (have_one ? 1 : 2)) return nullptr;
    p.change.mask = *next++;
    p.change.value = have_one ? p.change.mask & all : *next++;
    return next;
}

/// Words before the first line.
u64 words_of_pages(const record_header& h) noexcept {
    return kind_of(h) == record_kind::shadow ? 1 + page_words(h) : 0;
}

u64 body_words(const record_body& body) noexcept {
    u64 words = 3 * body.changes.size();
    if (body.kind == record_kind::shadow) ++words;
    for (const record_page& p : body.pages) words += words_of(p.change);
    for (const written_line& l : body.lines) words += 1 + static_cast<u64>(std::popcount(l.mask));
    for (const fresh_block& b : body.fresh) {
        each_line(b, [&](u64, unsigned first, unsigned last) { words += 1 + last - first; });
    }
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

/// The pieces that `bytes` take in these segments, from `skip` bytes after the start of the first
/// on; empty: they are longer than that.
std::vector<log_piece> pieces_of(std::span<const segment> log, u64 skip, u64 bytes) {
    std::vector<log_piece> parts;
    for (const segment& s : log) {
        const u64 here = std::min(bytes, s.bytes() - skip);
        if (here != 0) parts.push_back({s.offset + skip, here});
        bytes -= here;
        skip = 0;
        if (bytes == 0) return parts;
    }
    return {};
}

/// The offset of byte number `distance` of all pieces.
u64 offset_in(std::span<const log_piece> parts, u64 distance) noexcept {
    for (const log_piece& p : parts) {
        if (distance < p.bytes) return p.at + distance;
        distance -= p.bytes;
    }
    fatal("a byte past the end of a commit record");
}

u64 done_at(u64 words) noexcept { return sizeof(record_header) + 8 * words; }

bool has_committed(const record_view& v) noexcept {
    if (kind_of(v.header) != record_kind::undo) return true;
    return v.done->load(std::memory_order_acquire) == v.header.checksum;
}

/// The log segments of the lane that the one at `at` belongs to, from that one on.
std::vector<segment> log_from(const region& r, u64 at) {
    std::vector<segment> log;
    for (const segment& s : r.segments()) {
        const bool has_it = at >= s.offset && at < s.offset + s.bytes();
        const bool follows =
            !log.empty() && s.kind == segment_kind::log && s.owner == log.front().owner;
        if (has_it || follows) log.push_back(s);
    }
    return log;
}

/// Whether the body is as its header says; calls on_line(line, mask, words) for each line.
template <class OnLine>
bool walk_lines(const region& r, const record_view& v, OnLine&& on_line) {
    const u64* const body = v.body;
    const u64 end = v.header.words - 3 * u64{v.header.changes};
    if (words_of_pages(v.header) > end) return false;
    for (u64 i = words_of_pages(v.header); i < end;) {
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

bool pages_are_inside(const region& r, const record_view& v) {
    const u64 end = r.size() / shadow::page_size;
    const u64 begin = layout::page_size / shadow::page_size;
    const auto is_inside = [&](u64 page) { return page >= begin && page < end; };
    return std::ranges::all_of(pages_of(v), [&](const record_page& p) {
        return is_inside(p.change.page) && is_inside(p.slot);
    });
}

}  // namespace

std::vector<record_page> pages_of(const record_view& record) {
    std::vector<record_page> found;
    if (kind_of(record.header) != record_kind::shadow) return found;
    const u64* next = record.body + 1;
    const u64* const end = next + page_words(record.header);
    while (next != end) {
        record_page p{};
        next = take_page(next, end, p);
        if (next == nullptr) break;
        found.push_back(p);
    }
    return found;
}

u64 lines_sum_of(const record_view& record) noexcept { return *record.body; }

void each_line_of(const region& r, const record_view& record,
                  const std::function<void(u64, u8, const u64*)>& f) {
    static_cast<void>(walk_lines(r, record, f));
}

u64 record_bytes(const record_body& body) noexcept { return bytes_of(body_words(body), body.kind); }

u64 most_record_bytes(const record_body& body, u64 pages) noexcept {
    u64 words = 3 * body.changes.size() + (1 + line_size / 8) * body.lines.size();
    if (body.kind == record_kind::shadow) words += 1 + 3 * pages;
    // A block that begins and ends within lines has words in one line more than it would fill.
    for (const fresh_block& b : body.fresh) words += b.bytes / 8 + b.bytes / line_size + 3;
    return bytes_of(words, body.kind);
}

u64 record_seed(const region& r) noexcept {
    return checksum64(r.super().uuid, sizeof(r.super().uuid), 0x5458);
}

u64 write_record(const region& r, record_header* header, const record_facts& facts,
                 const record_body& body, u64 seed) noexcept {
    u64* const begin = reinterpret_cast<u64*>(header + 1);
    u64* next = begin;
    const u64 first_line = reinterpret_cast<u64>(r.base()) / line_size;
    const auto put_head = [&](u64 line, unsigned mask) {
        *next++ = (line - first_line) << 8 | mask;
    };
    const auto in_place = [](u64 line) { return reinterpret_cast<const word*>(line * line_size); };
    if (body.kind == record_kind::shadow) {
        *next++ = body.lines_sum;
        for (const record_page& p : body.pages) next = put_page(next, p);
    }
    const auto kind = static_cast<u32>(body.kind);
    header->kind = kind | (next == begin ? 0 : static_cast<u32>(next - begin - 1) << 8);
    if (facts.in_pieces) header->kind |= in_pieces_flag;
    // R3: what was stored to a fresh block later lies in a private copy, and is in place last.
    for (const fresh_block& b : body.fresh) {
        each_line(b, [&](u64 address, unsigned first, unsigned last) {
            const u64 line = address / line_size;
            put_head(line, (1U << last) - (1U << first));
            for (unsigned i = first; i < last; ++i) {
                *next++ = in_place(line)[i].load(std::memory_order_relaxed);
            }
        });
    }
    for (const written_line& l : body.lines) {
        put_head(l.line, l.mask);
        if (body.kind == record_kind::redo) {
            each_word(l.mask, [&](unsigned i) { *next++ = l.words[i]; });
        } else {
            each_word(l.mask, [&](unsigned i) {
                *next++ = in_place(l.line)[i].load(std::memory_order_relaxed);
            });
        }
    }
    for (const committed::word_change& c : body.changes) {
        *next++ = c.offset;
        *next++ = c.clear;
        *next++ = c.set;
    }
    header->epoch = facts.epoch;
    header->version = facts.version;
    header->words = static_cast<u32>(next - begin);
    header->number = facts.number;
    header->changes = static_cast<u32>(body.changes.size());
    if (body.kind == record_kind::undo) *next = 0;
    header->checksum = checksum_of(header, header->words, seed);
    return bytes_of(header->words, body.kind);
}

std::atomic<u64>& mark_done(const region& r, u64 at) noexcept {
    const auto* const header = r.at<record_header>(at);
    u64 place = at + done_at(header->words);
    if (is_in_pieces(*header)) {
        const std::vector<segment> log = log_from(r, at);
        const u64 bytes = bytes_of(header->words, kind_of(*header));
        place = offset_in(pieces_of(log, at - log.front().offset, bytes), done_at(header->words));
    }
    word& done = *r.at<word>(place);
    done.store(header->checksum, std::memory_order_release);
    return done;
}

std::optional<record_view> read_record(const region& r, u64 at, u64 room, u64 epoch,
                                       u64 seed) noexcept {
    if (room < sizeof(record_header)) return std::nullopt;
    record_view v{at, 0, *r.at<record_header>(at)};
    const record_header& h = v.header;
    if (h.epoch != epoch || is_in_pieces(h) || !has_known_kind(h)) return std::nullopt;
    v.bytes = bytes_of(h.words, kind_of(h));
    if (v.bytes > room || 3 * u64{h.changes} > h.words) return std::nullopt;
    if (checksum_of(r.at<record_header>(at), h.words, seed) != h.checksum) return std::nullopt;
    v.body = r.at<const u64>(at + sizeof(record_header));
    if (kind_of(h) == record_kind::undo) v.done = r.at<const word>(at + done_at(h.words));
    return v;
}

std::optional<record_view> read_record_in_pieces(const region& r, std::span<const segment> log,
                                                 u64 skip, u64 epoch, u64 seed) {
    while (!log.empty() && skip >= log.front().bytes()) {
        skip -= log.front().bytes();
        log = log.subspan(1);
    }
    if (log.empty()) return std::nullopt;
    const u64 at = log.front().offset + skip;
    // Segments and records are whole lines, so a header is in one piece.
    record_view v{at, 0, *r.at<record_header>(at)};
    const record_header& h = v.header;
    if (h.epoch != epoch || !is_in_pieces(h) || !has_known_kind(h)) return std::nullopt;
    v.bytes = bytes_of(h.words, kind_of(h));
    if (3 * u64{h.changes} > h.words) return std::nullopt;
    auto copy = std::make_shared<record_view::pieces>();
    copy->parts = pieces_of(log, skip, v.bytes);
    if (copy->parts.empty()) return std::nullopt;
    copy->words.reserve(v.bytes / 8);
    for (const log_piece& p : copy->parts) {
        const auto* const from = r.at<const u64>(p.at);
        copy->words.insert(copy->words.end(), from, from + p.bytes / 8);
    }
    const auto* const whole = reinterpret_cast<const record_header*>(copy->words.data());
    if (checksum_of(whole, h.words, seed) != h.checksum) return std::nullopt;
    v.body = reinterpret_cast<const u64*>(whole + 1);
    if (kind_of(h) == record_kind::undo) {
        v.done = r.at<const word>(offset_in(copy->parts, done_at(h.words)));
    }
    v.parts = std::move(copy);
    return v;
}

result<void> check_record(const region& r, const record_view& record) {
    if (walk_lines(r, record, [](u64, u8, const u64*) {}) && pages_are_inside(r, record)) return {};
    return failure({errc::corrupt, "apply a commit record",
                    r.path().string() + " at offset " + std::to_string(record.at),
                    "it leads outside of the region", "restore the file from a backup"});
}

void read_changes(const record_view& record, std::vector<committed::word_change>& into) {
    if (!has_committed(record)) return;
    const record_header& h = record.header;
    const u64* c = record.body + h.words - 3 * u64{h.changes};
    for (u32 i = 0; i < h.changes; ++i, c += 3) into.push_back({c[0], c[1], c[2]});
}

void apply_words(const region& r, const record_view& record, late_flushes& flushes) {
    const bool undo = kind_of(record.header) == record_kind::undo;
    if (undo == has_committed(record)) return;  // they are: U2
    static_cast<void>(walk_lines(r, record, [&](u64 line, u8 mask, const u64* words) {
        auto* const place = r.at<word>(line * line_size);
        each_word(mask, [&](unsigned i) { ordered_store(place[i], *words++); });
        flushes.add(line);
    }));
}

}  // namespace hf
