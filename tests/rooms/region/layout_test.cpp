// The small records of the header: what they notice, and that every prefix of a change is valid.
#include "region/layout.hpp"

#include "base/random.hpp"
#include "region/header.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace hf::layout {
namespace {

struct words {
    u64 check;
    u64 epoch;
    u64 seal;
};

words words_of(const epoch_record& r) { return {r.check.load(), r.epoch.load(), r.seal.load()}; }

result<u64> load(words w) {
    epoch_record r;
    r.check.store(w.check);
    r.epoch.store(w.epoch);
    r.seal.store(w.seal);
    return epoch_record_load(r);
}

words words_at(u64 epoch) {
    epoch_record r;
    epoch_record_init(r, epoch);
    return words_of(r);
}

TEST(epoch_record, is_either_epoch_after_every_prefix_of_an_advance) {
    for (const u64 e : {u64{1}, u64{2}, u64{0xFFFF}, u64{0x10000}, u64{1} << 33, u64{1} << 62}) {
        for (u64 step = 0; step <= max_epoch_step; ++step) {
            const words before = words_at(e);
            const words after = words_at(e + step);
            EXPECT_EQ(*load(before), e);
            EXPECT_EQ(*load({after.check, before.epoch, before.seal}), e);
            EXPECT_EQ(*load({after.check, after.epoch, before.seal}), e + step);
            EXPECT_EQ(*load(after), e + step);
        }
    }
}

// Found by the crash lab: --target leaf.update --seed 1, two crashes in a row.
TEST(epoch_record, is_valid_after_every_prefix_of_an_advance_that_follows_a_broken_one) {
    const words before = words_at(10);
    for (u64 step = 1; step <= max_epoch_step; ++step) {
        const words after = words_at(10 + step);
        for (const words broken : {words{after.check, before.epoch, before.seal},
                                   words{after.check, after.epoch, before.seal}}) {
            epoch_record r;
            r.check.store(broken.check);
            r.epoch.store(broken.epoch);
            r.seal.store(broken.seal);
            const words rest = words_at(broken.epoch);
            EXPECT_EQ(*load({rest.check, rest.epoch, broken.seal}), broken.epoch);
            epoch_record_store(r, broken.epoch);
            EXPECT_EQ(words_of(r).check, rest.check);
            EXPECT_EQ(words_of(r).seal, rest.seal);
        }
    }
}

TEST(epoch_record, jumps_after_many_crashes_during_recovery) {
    for (u64 jump = 0; jump <= 5000; jump += jump < 40 ? 1 : 310) {
        epoch_record r;
        epoch_record_init(r, 10);
        epoch_record_store(r, 10 + jump);
        EXPECT_EQ(*epoch_record_load(r), 10 + jump);
        const words expected = words_at(10 + jump);
        EXPECT_EQ(words_of(r).check, expected.check);
        EXPECT_EQ(words_of(r).seal, expected.seal);
    }
    epoch_record r;
    epoch_record_init(r, 10);
    epoch_record_store(r, 10 + (u64{1} << 20));
    EXPECT_EQ(*epoch_record_load(r), 10 + (u64{1} << 20));
}

TEST(epoch_record, accepts_no_check_or_seal_of_an_epoch_that_is_further_away) {
    const words now = words_at(1000);
    for (u64 other = 980; other <= 1020; ++other) {
        const words far = words_at(other);
        EXPECT_EQ(load({far.check, 1000, now.seal}).has_value(),
                  other >= 1000 && other <= 1000 + max_epoch_step)
            << other;
        EXPECT_EQ(load({now.check, 1000, far.seal}).has_value(),
                  other <= 1000 && other + max_epoch_step >= 1000)
            << other;
    }
}

TEST(epoch_record_death, never_goes_back) {
    epoch_record r;
    epoch_record_init(r, 10);
    EXPECT_DEATH(epoch_record_store(r, 9), "the epoch goes forward");
    EXPECT_DEATH(epoch_record_store(r, 11 + (u64{1} << 20)), "not by a million");
}

TEST(epoch_record, every_one_or_two_flipped_bits_are_noticed) {
    const words good = words_at(123456789);
    const auto flip = [](words w, unsigned bit) {
        u64& word = bit < 64 ? w.check : bit < 128 ? w.epoch : w.seal;
        word ^= u64{1} << bit % 64;
        return w;
    };
    for (unsigned a = 0; a < 192; ++a) {
        EXPECT_FALSE(load(flip(good, a))) << a;
        for (unsigned b = 0; b < a; ++b) EXPECT_FALSE(load(flip(flip(good, a), b)));
    }
    const auto zero = load({0, 0, 0});
    ASSERT_FALSE(zero);
    EXPECT_EQ(zero.error().code, errc::corrupt);
}

TEST(segment_word, holds_what_was_packed) {
    xoshiro256ss random(1);
    for (int i = 0; i < 1000; ++i) {
        const auto position = static_cast<unsigned>(random.below(max_segments));
        const segment_word w{static_cast<u32>(random()), static_cast<u16>(random()),
                             static_cast<u8>(1 + random.below(15))};
        const u64 packed = pack_segment(position, w);
        EXPECT_NE(packed, 0U);
        const auto back = unpack_segment(position, packed);
        ASSERT_TRUE(back);
        EXPECT_EQ(back->pages, w.pages);
        EXPECT_EQ(back->owner, w.owner);
        EXPECT_EQ(back->kind, w.kind);
    }
}

TEST(segment_word, every_one_or_two_flipped_bits_are_noticed) {
    for (const unsigned position : {0U, 1U, 4095U}) {
        const u64 good = pack_segment(position, {1234, 7, 2});
        for (unsigned a = 0; a < 64; ++a) {
            EXPECT_FALSE(unpack_segment(position, good ^ (u64{1} << a))) << a;
            for (unsigned b = 0; b < a; ++b) {
                EXPECT_FALSE(unpack_segment(position, good ^ (u64{1} << a) ^ (u64{1} << b)));
            }
        }
    }
}

// Files stay readable: these are the numbers that format 2 has on the medium.
TEST(layout, words_on_the_medium_are_those_of_this_format) {
    EXPECT_EQ(pack_segment(0, {15, 0, 1}), 0x0D6100000000000FU);
    EXPECT_EQ(pack_segment(1, {0xFFFFFFFF, 0xFFFF, 15}), 0xBD2FFFFFFFFFFFFFU);
    EXPECT_EQ(pack_segment(4095, {1, 2, 2}), 0xBC52000200000001U);
    const words w = words_at(1);
    EXPECT_EQ(w.check, 0x34BA613CA9701461U);
    EXPECT_EQ(w.epoch, 1U);
    EXPECT_EQ(w.seal, 0xF1340086D6C5BF7AU);
    EXPECT_EQ(growth_intent_check(17), 0x3B720E4997E8AE14U);
    superblock s{};
    s.magic[0] = 'H';
    EXPECT_EQ(superblock_checksum(s), 0x6CFA6E9FF1DEF835U);
    s.checksum = 1;
    EXPECT_EQ(superblock_checksum(s), 0x6CFA6E9FF1DEF835U);
}

TEST(segment_word, has_pages) {
    for (const unsigned position : {0U, 1U, 4095U}) {
        EXPECT_FALSE(unpack_segment(position, pack_segment(position, {0, 7, 2})));
        EXPECT_TRUE(unpack_segment(position, pack_segment(position, {1, 0, 0})));
    }
}

// The rooms' table against a map.
TEST(table_of_rooms, has_each_room_once_with_the_version_that_was_set_last) {
    superblock s{};
    std::map<std::string, u32> expected;
    xoshiro256ss random(6);
    for (int i = 0; i < 500; ++i) {
        // Names of every length, beginnings of each other too.
        const auto n = random.below(max_rooms);
        const std::string name = std::string(n % 11, 'n') + static_cast<char>('a' + n);
        room_format room{};
        name.copy(room.name, sizeof room.name);
        room.version = 1 + static_cast<u32>(random.below(1000));
        set_version(s, room);
        expected[name] = room.version;
        std::map<std::string, u32> found;
        for (const room_format& r : s.rooms) {
            if (r.version == 0) continue;
            EXPECT_TRUE(found.emplace(name_of(r), r.version).second) << "twice: " << name_of(r);
        }
        ASSERT_EQ(found, expected);
        ASSERT_EQ(version_of(s, name), room.version);
        ASSERT_EQ(version_of(s, name + "x"), 0U);
    }
    ASSERT_EQ(expected.size(), max_rooms);
    EXPECT_EQ(version_of(s, ""), 0U);
    EXPECT_DEATH(set_version(s, {"one more", 1}), "the table of rooms is full");
}

TEST(segment_word, another_position_s_word_is_not_accepted) {
    const u64 word = pack_segment(5, {16, 0, 1});
    for (unsigned position = 0; position < max_segments; ++position) {
        EXPECT_EQ(unpack_segment(position, word).has_value(), position == 5) << position;
    }
    EXPECT_FALSE(unpack_segment(0, 0));
}

// An update of the superblock that stopped anywhere, its 8-byte words arriving in any order: the
// old state or the new one, never an error and never a mixture.
TEST(superblock, whatever_part_of_an_update_arrives_the_state_is_the_old_or_the_new) {
    const auto header = detail::blank_header();
    ASSERT_TRUE(detail::format_header(*header, region_options{}, medium_kind::shm, 3));
    const superblock old = header->super[0];
    superblock next = old;
    next.sequence += 1;
    next.generation = 77;
    next.clean = 0;
    set_version(next, {"alloc", 2});
    for (u8 i = 0; i < 99; ++i) next.discipline_area[i] = i;
    next.checksum = superblock_checksum(next);
    constexpr std::size_t count = sizeof(superblock) / sizeof(u64);
    u64 old_words[count];
    u64 next_words[count];
    std::memcpy(old_words, &old, sizeof old);
    std::memcpy(next_words, &next, sizeof next);
    xoshiro256ss random(9);
    for (int round = 0; round < hf::test::effort(3000); ++round) {
        const unsigned torn = static_cast<unsigned>(random.below(2));
        const bool second_step = random.below(2) == 1;  // the other copy is new already
        u64 mixed[count];
        for (std::size_t i = 0; i < count; ++i) {
            mixed[i] = random.below(2) == 1 ? next_words[i] : old_words[i];
        }
        std::memcpy(&header->super[torn], mixed, sizeof mixed);
        header->super[1 - torn] = second_step ? next : old;
        const auto facts = detail::judge_header(*header, 4 * page_size, "torn.hf");
        ASSERT_TRUE(facts) << facts.error().to_string();
        const superblock& got = facts->super;
        const bool is_old = std::memcmp(&got, &old, sizeof old) == 0;
        const bool is_next = std::memcmp(&got, &next, sizeof next) == 0;
        ASSERT_TRUE(is_next || (is_old && !second_step));
    }
}

}  // namespace
}  // namespace hf::layout
