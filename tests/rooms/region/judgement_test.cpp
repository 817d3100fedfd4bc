// The judgement of all values that can be in a header, against predicates that compute it in
// another way.
#include "base/random.hpp"
#include "region/header.hpp"
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace hf::test {
namespace {

using layout::page_size;
using layout::superblock;

class judgement : public ::testing::Test {
   protected:
    static constexpr u64 pages = 16;

    void SetUp() override {
        ASSERT_TRUE(detail::format_header(*header, small_options(), medium_kind::shm, pages - 1));
        std::memcpy(&good, &header->super[0], sizeof good);
    }
    [[nodiscard]] auto judged(u64 bytes = pages * page_size) const {
        return detail::judge_header(*header, bytes, "f");
    }
    /// The code of the error; nullopt: there was none.
    [[nodiscard]] std::optional<errc> code(u64 bytes = pages * page_size) const {
        const auto facts = judged(bytes);
        return facts ? std::nullopt : std::optional(facts.error().code);
    }
    /// Both superblocks become as they were made, but for this.
    template <class Change>
    void both(Change change) {
        superblock s = good;
        change(s);
        s.checksum = layout::superblock_checksum(s);
        header->super[0] = header->super[1] = s;
    }
    void put_segment(unsigned at, u32 segment_pages, u8 kind = 1, u16 owner = 0) {
        header->segments[at].store(layout::pack_segment(at, {segment_pages, owner, kind}));
    }

    std::unique_ptr<layout::header> header = detail::blank_header();
    superblock good{};
};

std::string offset(u64 at) { return "f at offset " + std::to_string(at); }

// ---------------------------------------------------------------- which superblock counts

enum class state : u8 { whole, foreign_version, no_region, foreign_order, damaged };
constexpr state states[] = {state::whole, state::foreign_version, state::no_region,
                            state::foreign_order, state::damaged};

superblock in_state(superblock s, state what, u64 sequence) {
    s.sequence = sequence;
    if (what == state::foreign_version) ++s.format;
    if (what == state::no_region) s.magic[7] = 'U';
    if (what == state::foreign_order) s.byte_order = __builtin_bswap64(s.byte_order);
    s.checksum = layout::superblock_checksum(s) + (what == state::damaged ? 1 : 0);
    return s;
}

constexpr const char* description(state what) {
    switch (what) {
        case state::whole:
            return "valid";
        case state::foreign_version:
            return "it has another format version";
        case state::no_region:
            return "its magic number is wrong";
        case state::foreign_order:
            return "it has the other byte order";
        case state::damaged:
            return "its checksum is wrong";
    }
    return "";
}

// A whole one counts, of two whole ones the newer, and of two that are as old one of ours.
TEST_F(judgement, of_every_pair_of_superblocks_is_for_the_newest_whole_one) {
    for (const state a : states) {
        for (const state b : states) {
            for (const auto& [a_sequence, b_sequence] :
                 {std::pair<u64, u64>{5, 5}, {5, 6}, {6, 5}, {(u64{1} << 56) - 1, 1}}) {
                SCOPED_TRACE(std::string(description(a)) + " " + std::to_string(a_sequence) + "; " +
                             description(b) + " " + std::to_string(b_sequence));
                header->super[0] = in_state(good, a, a_sequence);
                header->super[1] = in_state(good, b, b_sequence);
                const auto is_whole = [](state s) {
                    return s == state::whole || s == state::foreign_version;
                };
                std::optional<unsigned> winner;
                if (is_whole(a)) winner = 0;
                if (is_whole(b) &&
                    (!is_whole(a) || b_sequence > a_sequence ||
                     (b_sequence == a_sequence && a != state::whole && b == state::whole))) {
                    winner = 1;
                }
                const auto facts = judged();
                const state won = winner ? (*winner == 0 ? a : b) : state::damaged;
                if (winner && won == state::whole) {
                    ASSERT_TRUE(facts) << facts.error().to_string();
                    EXPECT_EQ(facts->newest, *winner);
                    EXPECT_EQ(std::memcmp(&facts->super, &header->super[*winner], sizeof good), 0);
                    const state other = *winner == 0 ? b : a;
                    EXPECT_EQ(facts->damage, other == state::whole
                                                 ? ""
                                                 : "superblock " + std::to_string(2 - *winner) +
                                                       " at offset " +
                                                       std::to_string((1 - *winner) * sizeof good) +
                                                       ": " + description(other));
                    continue;
                }
                ASSERT_FALSE(facts);
                const error& e = facts.error();
                if (winner) {
                    EXPECT_EQ(e.code, errc::incompatible);
                    if (a != state::foreign_order && a != b) {
                        EXPECT_EQ(e.where, offset(*winner * sizeof good));
                    }
                } else if (a == state::foreign_order || b == state::foreign_order) {
                    EXPECT_EQ(e.code, errc::incompatible);
                    EXPECT_EQ(e.where, offset(a == state::foreign_order ? 0 : sizeof good));
                    EXPECT_NE(e.why.find("the other byte order"), std::string::npos);
                } else {
                    EXPECT_EQ(e.code, errc::corrupt);
                    EXPECT_EQ(e.where, offset(0));
                    const bool nothing = a == state::no_region && b == state::no_region;
                    EXPECT_EQ(e.why, nothing ? "it is not a Holdfast region: its magic number is "
                                               "wrong"
                                             : "both superblocks are damaged: of the first, " +
                                                   std::string(description(a)) +
                                                   "; of the second, " + description(b));
                }
            }
        }
    }
}

TEST_F(judgement, of_a_whole_superblock_whose_layout_is_not_ours_is_incompatible) {
    const std::function<void(superblock&)> changes[] = {
        [](superblock& s) { s.byte_order ^= 1; },
        [](superblock& s) { s.bytes = 8192; },
        [](superblock& s) { s.bytes = 0; },
        [](superblock& s) { s.page_bytes = 4096; },
        [](superblock& s) { s.page_bytes = 2 * 65536; },
        [](superblock& s) { s.format = 1; },
        [](superblock& s) { s.format = layout::current_format + 1; },
        [](superblock& s) { s.features = 4; },
        [](superblock& s) { s.features = u64{1} << 63; }};
    for (const auto& change : changes) {
        both(change);
        EXPECT_EQ(code(), errc::incompatible) << &change - changes;
        header->super[1] = good;
        header->super[1].sequence = 0;
        header->super[1].checksum = layout::superblock_checksum(header->super[1]);
        EXPECT_EQ(code(), errc::incompatible) << "beside an older one " << &change - changes;
    }
}

TEST_F(judgement, of_every_number_of_a_byte_in_the_superblock_is_what_its_range_says) {
    for (unsigned n = 0; n < 256; ++n) {
        const u8 value = static_cast<u8>(n);
        both([&](superblock& s) { s.kind = static_cast<discipline>(value); });
        EXPECT_EQ(code(), n >= 1 && n <= 8 ? std::nullopt : std::optional(errc::incompatible)) << n;
        both([&](superblock& s) { s.clean = value; });
        EXPECT_EQ(code(), n <= 1 ? std::nullopt : std::optional(errc::corrupt)) << n;
        both([&](superblock& s) { s.window_bits = value; });
        EXPECT_EQ(code(), n <= 48 ? std::nullopt : std::optional(errc::corrupt)) << n;
    }
}

TEST_F(judgement, of_the_table_of_rooms_wants_each_entry_whole_or_free) {
    for (unsigned entry = 0; entry < layout::max_rooms; ++entry) {
        for (std::size_t length = 0; length <= sizeof(layout::room_format::name); ++length) {
            for (const u32 version : {0U, 1U, ~0U}) {
                both([&](superblock& s) {
                    std::memset(s.rooms[entry].name, 'x', length);
                    s.rooms[entry].version = version;
                });
                const bool is_free = length == 0 && version == 0;
                const bool is_whole = length != 0 && length <= 11 && version != 0;
                EXPECT_EQ(code(), is_free || is_whole ? std::nullopt : std::optional(errc::corrupt))
                    << entry << ", " << length << " bytes, version " << version;
            }
        }
    }
}

// ---------------------------------------------------------------- segments

TEST_F(judgement, of_segments_gives_them_in_their_order_up_to_a_full_directory) {
    xoshiro256ss random(7);
    std::vector<segment> expected;
    u64 end = 1;
    for (unsigned i = 0; i < layout::max_segments; ++i) {
        const u32 n = 1 + static_cast<u32>(random.below(3));
        const u8 kind = static_cast<u8>(1 + random.below(2));
        const u16 owner = static_cast<u16>(random());
        put_segment(i, n, kind, owner);
        expected.push_back({end * page_size, n, static_cast<segment_kind>(kind), owner});
        end += n;
        if (i > 3 && i + 3 < layout::max_segments) continue;
        both([&](superblock& s) { s.total_pages = end; });
        const auto facts = judged(end * page_size);
        ASSERT_TRUE(facts) << facts.error().to_string();
        EXPECT_EQ(facts->segments, expected);
        EXPECT_EQ(facts->pages, end);
    }
    std::memset(header->reserved2, 0xFF, sizeof header->reserved2);
    EXPECT_EQ(code(end * page_size), std::nullopt) << "bytes after the directory are not of it";
}

TEST_F(judgement, of_a_hole_in_the_directory_is_corrupt_wherever_it_is) {
    for (const unsigned at : {2U, 3U, 100U, layout::max_segments - 1}) {
        put_segment(at, 1);
        for (const u64 size : {pages, pages + 1}) {
            const auto facts = judged(size * page_size);
            ASSERT_FALSE(facts) << at;
            EXPECT_EQ(facts.error().code, errc::corrupt);
            EXPECT_EQ(facts.error().where, offset(0x5000 + at * 8));
            EXPECT_NE(facts.error().why.find("hole"), std::string::npos);
        }
        header->segments[at].store(0);
    }
}

TEST_F(judgement, of_a_segment_without_pages_or_of_a_kind_that_nobody_has_is_told_by_its_offset) {
    for (const unsigned at : {0U, 1U}) {
        for (unsigned kind = 0; kind < 16; ++kind) {
            for (const u32 n : {0U, 15U}) {
                put_segment(1, 1);
                put_segment(at, n, static_cast<u8>(kind));
                const auto facts = judged((pages + (at == 0 ? 1 : 15)) * page_size);
                if (n != 0 && kind >= 1 && kind <= std::size(segment_kinds)) {
                    EXPECT_TRUE(facts) << facts.error().to_string();
                    continue;
                }
                ASSERT_FALSE(facts) << n << " pages of kind " << kind;
                EXPECT_EQ(facts.error().code, n == 0 ? errc::corrupt : errc::incompatible);
                EXPECT_EQ(facts.error().where, offset(0x5000 + at * 8));
            }
        }
        put_segment(0, 15);
    }
}

TEST_F(judgement, of_segments_beyond_a_window_is_incompatible) {
    const u64 most = window_size / page_size;
    for (const u64 all : {most - 1, most, most + 1, 2 * most}) {
        put_segment(0, static_cast<u32>(all - 1));
        EXPECT_EQ(code(all * page_size),
                  all <= most ? std::nullopt : std::optional(errc::incompatible))
            << all;
    }
}

// ---------------------------------------------------------------- length

TEST_F(judgement, of_a_directory_that_names_less_than_the_superblock_knew_is_corrupt) {
    for (const u64 known : {u64{0}, pages - 1, pages, pages + 1, ~u64{0}}) {
        both([&](superblock& s) { s.total_pages = known; });
        EXPECT_EQ(code(), known <= pages ? std::nullopt : std::optional(errc::corrupt)) << known;
    }
}

// A file is as long as its segments say, or longer where a growth is the reason: one that the
// intent tells, or on the medium `file` one of an epoch that did not end.
TEST_F(judgement, of_every_length_is_what_the_intent_and_the_medium_allow) {
    constexpr u64 end = pages * page_size;
    const u64 lengths[] = {0,
                           page_size,
                           end - page_size,
                           end - 1,
                           end,
                           end + 1,
                           end + page_size,
                           20 * page_size - 1,
                           20 * page_size,
                           20 * page_size + 1,
                           u64{1} << 40,
                           ~u64{0}};
    const u64 intents[] = {
        0, 1, pages, 20, u64{1} << 32, (u64{1} << 32) + 1, (u64{1} << 48) + 20, ~u64{0}};
    for (const auto medium :
         {medium_kind::dax, medium_kind::eadr, medium_kind::shm, medium_kind::file}) {
        for (const unsigned is_clean_or_journalled : {0U, 1U, 2U, 3U}) {
            const u8 clean = is_clean_or_journalled & 1U;
            const bool journalled =
                medium == medium_kind::file || (is_clean_or_journalled & 2U) != 0;
            for (const u64 generation : {u64{0}, u64{1}}) {
                both([&](superblock& s) {
                    layout::set_storage(s, medium, journalled);
                    s.clean = clean;
                    s.generation = generation;
                });
                for (const u64 intent : intents) {
                    for (const bool checked : {true, false}) {
                        header->intent.pages = intent;
                        header->intent.check =
                            layout::growth_intent_check(intent) + (checked ? 0 : 1);
                        for (const u64 length : lengths) {
                            const bool told =
                                checked && intent <= (u64{1} << 32) && length <= intent * page_size;
                            const bool untold = journalled && (clean == 0 || generation == 0);
                            const bool right = length == end || (length > end && (told || untold));
                            EXPECT_EQ(code(length),
                                      right ? std::nullopt : std::optional(errc::corrupt))
                                << to_string(medium) << (clean != 0 ? ", clean" : "")
                                << ", generation " << generation << ", intent " << intent
                                << (checked ? "" : " with a wrong check") << ", length " << length;
                        }
                    }
                }
            }
        }
    }
}

// ---------------------------------------------------------------- roots

TEST_F(judgement, of_roots_wants_padded_names_and_no_hole) {
    xoshiro256ss random(8);
    for (int round = 0; round < effort(3000); ++round) {
        bool ended = false;
        std::optional<unsigned> wrong;
        const u64 used = random.below(layout::max_roots + 1);
        for (unsigned i = 0; i < layout::max_roots; ++i) {
            layout::root& r = header->roots[i];
            std::memset(r.name, 0, sizeof r.name);
            const u64 length = 1 + random.below(23);
            for (u64 c = 0; c < length; ++c) r.name[c] = static_cast<char>(1 + random.below(255));
            r.value = i < used ? 1 + random.below(3) : 0;
            bool is_good = true;
            switch (random.below(400)) {
                case 0:
                    r.name[random.below(length)] = '\0';
                    is_good = r.name[0] != '\0' && r.name[length - 1] == '\0';
                    break;
                case 1:
                    r.name[0] = '\0';
                    is_good = false;
                    break;
                case 2:
                    std::memset(r.name, 'x', sizeof r.name);
                    is_good = false;
                    break;
                case 3:
                    r.name[sizeof r.name - 1] = 'x';
                    is_good = false;
                    break;
                case 4:
                    r.value = r.value.load() == 0 ? 1 : 0;
                    break;
                default:
                    break;
            }
            if (r.value.load() == 0) {
                ended = true;
            } else if ((!is_good || ended) && !wrong) {
                wrong = i;
            }
        }
        const auto facts = judged();
        ASSERT_EQ(facts.has_value(), !wrong) << "round " << round;
        if (!wrong) continue;
        ASSERT_EQ(facts.error().code, errc::corrupt);
        ASSERT_EQ(facts.error().where, offset(0x3000 + *wrong * 64)) << "round " << round;
    }
}

TEST_F(judgement, of_a_root_that_is_not_what_was_published) {
    layout::root& r = header->roots[0];
    std::memcpy(r.name, "name", 5);
    r.type = 7;
    r.format = 1;
    r.value = 4096 + 64;
    EXPECT_EQ(code(), std::nullopt) << "of a version that had no checksums";
    r.checksum = layout::root_checksum(r, r.value);
    EXPECT_EQ(code(), std::nullopt);
    auto* const bytes = reinterpret_cast<unsigned char*>(&r);
    for (unsigned bit = 0; bit < 8 * offsetof(layout::root, reserved1); ++bit) {
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
        EXPECT_EQ(code(), errc::corrupt) << bit;
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1U << bit % 8);
    }
    EXPECT_EQ(code(), std::nullopt);
}

TEST_F(judgement, of_what_is_reserved_is_none) {
    std::memset(header->reserved0, 0xFF, sizeof header->reserved0);
    std::memset(static_cast<void*>(&header->intent), 0xFF, sizeof header->intent);
    std::memset(header->reserved1, 0xFF, sizeof header->reserved1);
    std::memset(header->reserved2, 0xFF, sizeof header->reserved2);
    both([](superblock& s) {
        s.reserved0 = 0xFFFF;
        std::memset(s.reserved1, 0xFF, sizeof s.reserved1);
        std::memset(s.epoch_area, 0xFF, sizeof s.epoch_area);
        std::memset(s.discipline_area, 0xFF, sizeof s.discipline_area);
        s.generation = (u64{1} << 56) - 1;
        s.sequence = (u64{1} << 56) - 1;
    });
    for (auto& r : header->roots) r.value = 1, r.name[0] = 'x';
    EXPECT_EQ(code(), std::nullopt);
}

// ---------------------------------------------------------------- making one

TEST_F(judgement, of_what_was_just_made_is_what_it_was_made_of) {
    for (const auto medium :
         {medium_kind::dax, medium_kind::eadr, medium_kind::shm, medium_kind::file}) {
        for (const u64 segment_pages : {u64{0}, u64{1}, u64{1000}}) {
            const auto h = detail::blank_header();
            region_options o = small_options();
            o.kind = discipline::snapshot;
            o.first_epoch = 77;
            const layout::room_format rooms[] = {{"one", 3}, {"two", 4}};
            ASSERT_TRUE(detail::format_header(*h, o, medium, segment_pages, rooms));
            const auto facts = detail::judge_header(*h, (1 + segment_pages) * page_size, "f");
            ASSERT_TRUE(facts) << facts.error().to_string();
            const superblock& s = facts->super;
            EXPECT_EQ(std::memcmp(&h->super[0], &h->super[1], sizeof s), 0);
            EXPECT_TRUE(facts->damage.empty());
            EXPECT_EQ(s.kind, discipline::snapshot);
            EXPECT_EQ(s.medium, medium);
            EXPECT_EQ(s.window_bits, window_bits);
            EXPECT_EQ(s.clean, 1U);
            EXPECT_EQ(s.features, 0U);
            EXPECT_EQ(s.total_pages, 1 + segment_pages);
            EXPECT_EQ(s.generation, 0U);
            EXPECT_EQ(s.sequence, 1U);
            EXPECT_EQ(layout::version_of(s, "one"), 3U);
            EXPECT_EQ(layout::version_of(s, "two"), 4U);
            EXPECT_EQ(s.uuid[6] >> 4, 4) << "RFC 9562, version 4";
            EXPECT_EQ(s.uuid[8] >> 6, 2) << "RFC 9562, variant";
            EXPECT_EQ(*layout::epoch_record_load(h->epoch), 77U);
            EXPECT_EQ(facts->pages, 1 + segment_pages);
            EXPECT_EQ(facts->segments.size(), segment_pages == 0 ? 0U : 1U);
            for (const segment& one : facts->segments) {
                EXPECT_EQ(one, (segment{page_size, segment_pages, segment_kind::heap, 0}));
            }
        }
    }
}

TEST_F(judgement, of_uuids_finds_each_bit_both_ways_but_for_the_six_that_are_fixed) {
    std::array<u8, 16> ever{};
    std::array<u8, 16> always{};
    always.fill(0xFF);
    for (int i = 0; i < 200; ++i) {
        superblock s = good;
        ASSERT_TRUE(detail::renew_uuid(s));
        for (std::size_t b = 0; b < 16; ++b) {
            ever[b] |= s.uuid[b];
            always[b] &= s.uuid[b];
        }
    }
    for (std::size_t b = 0; b < 16; ++b) {
        const u8 fixed = b == 6 ? 0xF0 : b == 8 ? 0xC0 : 0;
        EXPECT_EQ((ever[b] ^ always[b]) | fixed, 0xFF) << "byte " << b;
    }
}

}  // namespace
}  // namespace hf::test
