#include "region/header.hpp"

#include "base/os_error.hpp"
#include "discipline/registry.hpp"
#include "region/arena.hpp"
#include "region/backing.hpp"
#include "region/file.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hf::detail {
namespace {

using layout::header;
using layout::superblock;

constexpr const char* reading_header = "open the region";
constexpr const char* restore = "restore the file from a backup";

tl::unexpected<error> corrupt(const std::string& path, u64 offset, std::string why) {
    return failure(
        {errc::corrupt, reading_header, at_offset(path, offset), std::move(why), restore});
}

tl::unexpected<error> incompatible(const std::string& path, u64 offset, std::string why,
                                   std::string next) {
    return failure({errc::incompatible, reading_header, at_offset(path, offset), std::move(why),
                    std::move(next)});
}

enum class verdict : u8 { valid, no_region, foreign_order, damaged, foreign_version };

constexpr u64 swapped(u64 v) noexcept { return __builtin_bswap64(v); }

verdict judge(const superblock& s) noexcept {
    if (std::memcmp(s.magic, layout::magic, sizeof s.magic) != 0) return verdict::no_region;
    if (s.byte_order == swapped(layout::byte_order_mark)) return verdict::foreign_order;
    if (s.checksum != layout::superblock_checksum(s)) return verdict::damaged;
    if (s.byte_order != layout::byte_order_mark || s.bytes != sizeof(superblock) ||
        s.page_bytes != layout::page_size || s.format != layout::current_format ||
        (s.features & ~layout::known_features) != 0) {
        return verdict::foreign_version;
    }
    return verdict::valid;
}

std::string describe(verdict v) {
    switch (v) {
        case verdict::valid:
            return "valid";
        case verdict::no_region:
            return "its magic number is wrong";
        case verdict::foreign_order:
            return "it has the other byte order";
        case verdict::damaged:
            return "its checksum is wrong";
        case verdict::foreign_version:
            return "it has another format version";
    }
    return "unknown";
}

/// A whole superblock that is not of our format.
tl::unexpected<error> of_another_format(const superblock& s, u64 offset, const std::string& path) {
    const bool first = s.format == 1;
    return incompatible(path, offset,
                        "it has format version " + std::to_string(s.format) + " and features " +
                            std::to_string(s.features) + ", this program knows version " +
                            std::to_string(layout::current_format) + " and features " +
                            std::to_string(layout::known_features),
                        first ? "dump it with the Holdfast that wrote it, load it with this one"
                              : "use the Holdfast that wrote it, or a newer one");
}

constexpr u64 offset_of_copy(unsigned copy) noexcept { return copy * u64{sizeof(superblock)}; }

/// Counters that grow by one an open or an update never reach it. Above it they could wrap.
constexpr u64 count_end = u64{1} << 56;

bool has_impossible_numbers(const superblock& s) noexcept {
    return s.sequence >= count_end || s.generation >= count_end;
}

// A valid checksum over values that no Holdfast writes.
result<void> check_values(const superblock& s, u64 offset, const std::string& path) {
    if (registry::find(s.kind) == nullptr) {
        return incompatible(path, offset,
                            "its discipline has the unknown number " +
                                std::to_string(static_cast<unsigned>(s.kind)),
                            "use the Holdfast that wrote it, or a newer one");
    }
    const bool rooms_are_whole =
        std::all_of(std::begin(s.rooms), std::end(s.rooms), [](const layout::room_format& r) {
            return r.name[sizeof r.name - 1] == '\0' && (r.name[0] == '\0') == (r.version == 0);
        });
    const bool keeps_address = (s.features & layout::feature_keeps_address) != 0;
    const bool is_misplaced = keeps_address && (s.address == 0 || s.address % window_size != 0);
    if (is_misplaced || s.clean > 1 || s.window_bits > layout::max_window_bits ||
        !rooms_are_whole || has_impossible_numbers(s)) {
        return corrupt(path, offset, "the superblock holds impossible values");
    }
    return {};
}

result<void> choose_superblock(const header& h, const std::string& path, header_facts& facts) {
    const verdict v[2] = {judge(h.super[0]), judge(h.super[1])};
    for (unsigned i = 0; i < 2; ++i) {
        const bool other_valid = v[1 - i] == verdict::valid;
        // A whole, newer superblock of another version: not damage, even beside a valid one of
        // ours.
        if (v[i] == verdict::foreign_version &&
            (!other_valid || h.super[i].sequence > h.super[1 - i].sequence)) {
            return of_another_format(h.super[i], offset_of_copy(i), path);
        }
        if (v[i] == verdict::foreign_order && !other_valid) {
            return incompatible(path, offset_of_copy(i),
                                "it was written on a machine with the other byte order",
                                "open it on such a machine");
        }
    }
    if (v[0] != verdict::valid && v[1] != verdict::valid) {
        if (v[0] == verdict::no_region && v[1] == verdict::no_region) {
            return corrupt(path, 0, "it is not a Holdfast region: its magic number is wrong");
        }
        return corrupt(path, 0,
                       "both superblocks are damaged: of the first, " + describe(v[0]) +
                           "; of the second, " + describe(v[1]));
    }
    facts.newest = v[0] != verdict::valid ||
                           (v[1] == verdict::valid && h.super[1].sequence > h.super[0].sequence)
                       ? 1
                       : 0;
    if (const unsigned other = 1 - facts.newest; v[other] != verdict::valid) {
        facts.damage = "superblock " + std::to_string(other + 1) + " at offset " +
                       std::to_string(offset_of_copy(other)) + ": " + describe(v[other]);
    }
    facts.super = h.super[facts.newest];
    return check_values(facts.super, offset_of_copy(facts.newest), path);
}

result<void> read_segments(const header& h, const std::string& path, header_facts& facts) {
    bool ended = false;
    for (unsigned i = 0; i < layout::max_segments; ++i) {
        const u64 offset = offsetof(header, segments) + i * sizeof(u64);
        const u64 word = h.segments[i].load(std::memory_order_acquire);
        if (word == 0) {
            ended = true;
            continue;
        }
        if (ended) {
            return corrupt(path, offset, "the segment directory has a hole before this entry");
        }
        const auto s = layout::unpack_segment(i, word);
        if (!s) {
            return corrupt(path, offset, "an entry of the segment directory is damaged");
        }
        if (!name_of(static_cast<segment_kind>(s->kind))) {
            return incompatible(path, offset,
                                "a segment is of the unknown kind " + std::to_string(s->kind),
                                "use the Holdfast that wrote it, or a newer one");
        }
        facts.segments.push_back({facts.pages * layout::page_size, s->pages,
                                  static_cast<segment_kind>(s->kind), s->owner});
        facts.pages += s->pages;
    }
    return {};
}

result<void> check_size(const header& h, u64 file_bytes, const std::string& path,
                        const header_facts& facts) {
    const u64 expected = facts.pages * layout::page_size;
    const std::string sizes = "the file has " + std::to_string(file_bytes) +
                              " bytes, its segments end at " + std::to_string(expected);
    if (facts.pages < facts.super.total_pages) {
        return corrupt(path, offsetof(header, segments),
                       "the segment directory has lost entries: it names " +
                           std::to_string(facts.pages) + " pages, the superblock knew of " +
                           std::to_string(facts.super.total_pages));
    }
    if (file_bytes < expected) return corrupt(path, file_bytes, "it is truncated: " + sizes);
    // With a journal a growth is durable with its epoch, the longer file may be so before,
    // and before the first session there are no epochs.
    const bool journalled = layout::is_journalled(facts.super) &&
                            (facts.super.clean == 0 || facts.super.generation == 0);
    if (file_bytes > expected && !journalled) {
        const u64 pages = h.intent.pages.load(std::memory_order_acquire);
        const bool growing =
            pages <= (u64{1} << 32) &&
            h.intent.check.load(std::memory_order_acquire) == layout::growth_intent_check(pages) &&
            file_bytes <= pages * layout::page_size;
        if (!growing)
            return corrupt(path, expected, "it was extended by another program: " + sizes);
    }
    if (expected > window_size) {
        return failure({errc::incompatible, reading_header, path,
                        "it needs " + std::to_string(expected) +
                            " bytes of address space, a window has " + std::to_string(window_size),
                        "use a build with larger windows"});
    }
    return {};
}

// Other rooms check the target of a root.
result<void> check_roots(const header& h, const std::string& path) {
    bool ended = false;
    for (unsigned i = 0; i < layout::max_roots; ++i) {
        const layout::root& r = h.roots[i];
        const u64 offset = offsetof(header, roots) + i * sizeof(layout::root);
        const u64 value = r.value.load(std::memory_order_acquire);
        if (value == 0) {
            ended = true;
            continue;
        }
        const bool is_whole = r.checksum == 0 || r.checksum == layout::root_checksum(r, value);
        const char* const end = std::find(r.name, r.name + sizeof r.name, '\0');
        const bool padded =
            r.name[0] != '\0' && end != r.name + sizeof r.name &&
            std::all_of(end, r.name + sizeof r.name, [](char c) { return c == '\0'; });
        if (ended || !padded || !is_whole) {
            return corrupt(path, offset, "an entry of the root directory is damaged");
        }
    }
    return {};
}

}  // namespace

result<header_facts> judge_header(const header& h, u64 file_bytes, const std::string& path) {
    header_facts facts;
    if (auto ok = choose_superblock(h, path, facts); !ok) return tl::unexpected(ok.error());
    if (auto epoch = layout::epoch_record_load(h.epoch); !epoch) {
        return corrupt(path, offsetof(header, epoch), "the checksum of the epoch record is wrong");
    }
    if (auto ok = check_roots(h, path); !ok) return tl::unexpected(ok.error());
    if (auto ok = read_segments(h, path, facts); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_size(h, file_bytes, path, facts); !ok) return tl::unexpected(ok.error());
    return facts;
}

u64 kept_address(const file_handle& file, const std::string& path) {
    const auto copies = std::make_unique<std::array<superblock, 2>>();
    const auto facts = facts_of(file, path);
    if (!facts || facts->bytes < sizeof *copies) return 0;
    if (!read_start(file, path, std::as_writable_bytes(std::span(*copies)))) return 0;
    for (const superblock& s : *copies) {
        const bool says_so = std::memcmp(s.magic, layout::magic, sizeof s.magic) == 0 &&
                             (s.features & layout::feature_keeps_address) != 0;
        if (says_so && s.address != 0 && s.address % window_size == 0) return s.address;
    }
    return 0;
}

result<void> renew_uuid(superblock& s) {
    if (::getrandom(s.uuid, sizeof s.uuid, 0) != static_cast<ssize_t>(sizeof s.uuid)) {
        return failure(
            os_error(errc::io, "create the region", "", "check the kernel's random source"));
    }
    s.uuid[6] = static_cast<u8>((s.uuid[6] & 0x0FU) | 0x40U);  // RFC 9562, version 4
    s.uuid[8] = static_cast<u8>((s.uuid[8] & 0x3FU) | 0x80U);
    return {};
}

result<void> format_header(header& h, const region_options& options, medium_kind medium,
                           u64 segment_pages, std::span<const layout::room_format> rooms,
                           u64 address) {
    superblock& s = h.super[0];
    std::memcpy(s.magic, layout::magic, sizeof s.magic);
    s.byte_order = layout::byte_order_mark;
    s.bytes = sizeof(superblock);
    s.page_bytes = static_cast<u32>(layout::page_size);
    s.format = layout::current_format;
    s.kind = options.kind;
    s.window_bits = static_cast<u8>(window_bits);
    s.clean = 1;
    s.features = address == 0 ? 0 : layout::feature_keeps_address;
    layout::set_storage(s, medium, is_journalled(medium, options));
    s.address = address;
    if (auto ok = renew_uuid(s); !ok) return ok;
    s.total_pages = 1 + segment_pages;
    s.generation = 0;
    s.sequence = 1;
    for (const layout::room_format& room : rooms) layout::set_version(s, room);
    s.checksum = layout::superblock_checksum(s);
    h.super[1] = s;
    layout::epoch_record_init(h.epoch, options.first_epoch);
    if (segment_pages != 0) {
        h.segments[0].store(layout::pack_segment(0, {static_cast<u32>(segment_pages), 0,
                                                     static_cast<u8>(segment_kind::heap)}),
                            std::memory_order_release);
    }
    return {};
}

std::unique_ptr<header> blank_header() {
    auto h = std::make_unique<header>();
    std::memset(static_cast<void*>(h.get()), 0, sizeof(header));
    return h;
}

std::optional<discipline> discipline_in(const std::filesystem::path& path) {
    const auto file = open_unlocked(path);
    if (!file) return std::nullopt;
    superblock copies[2];
    static_assert(offsetof(header, super) == 0);
    if (::pread(file->get(), copies, sizeof copies, 0) != sizeof copies) return std::nullopt;
    const superblock* newest = nullptr;
    for (const superblock& s : copies) {
        if (judge(s) != verdict::valid) continue;
        if (newest == nullptr || s.sequence > newest->sequence) newest = &s;
    }
    return newest != nullptr ? std::optional(newest->kind) : std::nullopt;
}

}  // namespace hf::detail
