// Files that are no good regions. Each gives one clear error, and nothing on the medium changes.
#include "base/random.hpp"
#include "region/header.hpp"
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using layout::page_size;
using layout::superblock;

class bad_input : public on_tmpfs {
   protected:
    nothing_lost check;
    // Every mode that takes an existing file must refuse it, and leave it alone.
    error refused(const region_options& base = small_options()) {
        const fingerprint before = fingerprint_of(file);
        const auto names = dir.names();
        error first;
        for (const open_mode mode :
             {open_mode::open_or_create, open_mode::open_existing, open_mode::inspect}) {
            region_options o = base;
            o.mode = mode;
            const error e = must_fail(file, o);
            if (mode == open_mode::open_or_create) first = e;
            EXPECT_EQ(e.code, first.code);
        }
        EXPECT_EQ(fingerprint_of(file), before);
        EXPECT_EQ(dir.names(), names);
        return first;
    }
};

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_F(bad_input, an_empty_file) {
    write_file(file, {});
    const error e = refused();
    EXPECT_EQ(e.code, errc::corrupt);
    EXPECT_TRUE(mentions(e.why, "empty")) << e.to_string();
}

TEST_F(bad_input, a_file_shorter_than_the_header) {
    make_region(file);
    for (const u64 bytes : {1U, 8U, 4095U, 4096U, 8192U, 65535U}) {
        fs::resize_file(file, bytes);
        const error e = refused();
        EXPECT_EQ(e.code, errc::corrupt);
        EXPECT_TRUE(mentions(e.where, "at offset " + std::to_string(bytes))) << e.to_string();
    }
}

TEST_F(bad_input, a_truncated_file) {
    make_region(file);
    for (const u64 bytes : {(u64{1} << 20) - 1, (u64{1} << 20) - page_size, page_size}) {
        fs::resize_file(file, bytes);
        const error e = refused();
        EXPECT_EQ(e.code, errc::corrupt);
        EXPECT_TRUE(mentions(e.why, "truncated")) << e.to_string();
        EXPECT_TRUE(mentions(e.why, std::to_string(bytes)));
        EXPECT_TRUE(mentions(e.why, std::to_string(u64{1} << 20)));
    }
}

TEST_F(bad_input, a_grown_file) {
    make_region(file);
    for (const u64 more : {u64{1}, u64{4096}, page_size, u64{1} << 24}) {
        fs::resize_file(file, (u64{1} << 20) + more);
        const error e = refused();
        EXPECT_EQ(e.code, errc::corrupt);
        EXPECT_TRUE(mentions(e.why, "extended")) << e.to_string();
        EXPECT_TRUE(mentions(e.where, "at offset 1048576")) << e.to_string();
    }
}

TEST_F(bad_input, a_file_grown_beyond_what_a_broken_growth_explains) {
    make_region(file);
    layout::growth_intent intent;
    intent.pages.store(20);
    intent.check.store(layout::growth_intent_check(20));
    patch(file, offsetof(layout::header, intent), &intent, 16);
    fs::resize_file(file, 20 * page_size + 1);
    EXPECT_EQ(refused().code, errc::corrupt);
    intent.check.store(0);
    patch(file, offsetof(layout::header, intent), &intent, 16);
    fs::resize_file(file, 20 * page_size);
    EXPECT_EQ(refused().code, errc::corrupt);
}

TEST_F(bad_input, random_bytes) {
    xoshiro256ss random(1);
    for (const std::size_t size :
         {std::size_t{65536}, std::size_t{1} << 20, std::size_t{100'001}}) {
        std::vector<std::byte> bytes(size);
        for (auto& b : bytes) b = static_cast<std::byte>(random());
        write_file(file, bytes);
        const error e = refused();
        EXPECT_EQ(e.code, errc::corrupt);
        EXPECT_TRUE(mentions(e.why, "not a Holdfast region")) << e.to_string();
        EXPECT_TRUE(mentions(e.where, "at offset 0"));
    }
}

TEST_F(bad_input, a_file_of_zeros) {
    write_file(file, std::vector<std::byte>(std::size_t{1} << 20));
    EXPECT_EQ(refused().code, errc::corrupt);
}

TEST_F(bad_input, another_format_is_incompatible) {
    make_region(file);
    const auto good = read_file(file);
    for (const int format : {0, layout::current_format + 1, 0xFFFF}) {
        write_file(file, good);
        change_superblocks(file, [format](superblock& s) { s.format = static_cast<u16>(format); });
        const error e = refused();
        EXPECT_EQ(e.code, errc::incompatible);
        EXPECT_TRUE(mentions(e.why, "version " + std::to_string(format))) << e.to_string();
    }
}

// As format 1 wrote it: five versions of rooms where ours has its format, discipline and medium.
TEST_F(bad_input, the_format_before_the_first_release_is_to_be_dumped_and_loaded) {
    make_region(file);
    change_superblocks(file, [](superblock& s) {
        const u16 versions[5] = {1, 1, 1, 1, 1};
        std::memcpy(&s.format, versions, sizeof versions);
    });
    const error e = refused();
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_TRUE(mentions(e.why, "format version 1 ")) << e.to_string();
    EXPECT_TRUE(mentions(e.next, "dump it with the Holdfast that wrote it")) << e.to_string();
}

TEST_F(bad_input, a_segment_of_an_unregistered_kind_is_incompatible_and_told_by_its_number) {
    make_region(file);
    const u64 word = layout::pack_segment(0, {15, 0, 9});
    patch(file, offsetof(layout::header, segments), &word, sizeof word);
    const error e = refused();
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_TRUE(mentions(e.why, "unknown kind 9")) << e.to_string();
}

TEST_F(bad_input, an_unknown_feature_is_incompatible) {
    make_region(file);
    change_superblocks(file, [](superblock& s) { s.features = u64{1} << 17; });
    EXPECT_EQ(refused().code, errc::incompatible);
}

// Half-way through an upgrade by a newer program: its copy is newer, ours still valid.
TEST_F(bad_input, a_newer_copy_of_another_version_beside_a_valid_one_is_incompatible) {
    make_region(file);
    const auto bytes = read_file(file);
    superblock s{};
    std::memcpy(&s, bytes.data() + sizeof s, sizeof s);
    ++s.format;
    ++s.sequence;
    s.checksum = layout::superblock_checksum(s);
    patch(file, sizeof s, &s, sizeof s);
    const error e = refused();
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_TRUE(mentions(e.where, "at offset 4096"));
}

TEST_F(bad_input, the_other_byte_order_is_incompatible) {
    make_region(file);
    const auto good = read_file(file);
    static constexpr u64 swapped = __builtin_bswap64(layout::byte_order_mark);
    for (const u64 copy : {0U, 4096U}) patch(file, copy + 8, &swapped, sizeof swapped);
    error e = refused();
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_TRUE(mentions(e.why, "byte order")) << e.to_string();
    // With checksums that are right in our order, too.
    write_file(file, good);
    change_superblocks(file, [](superblock& s) { s.byte_order = swapped; });
    e = refused();
    EXPECT_EQ(e.code, errc::incompatible);
}

TEST_F(bad_input, another_discipline_is_incompatible_for_all_but_inspection) {
    make_region(file);
    const fingerprint before = fingerprint_of(file);
    for (const discipline d : {discipline::transient, discipline::logged}) {
        region_options o = small_options();
        o.kind = d;
        const error e = must_fail(file, o);
        EXPECT_EQ(e.code, errc::incompatible);
        EXPECT_TRUE(mentions(e.why, "incll")) << e.to_string();
        EXPECT_TRUE(mentions(e.why, std::string(to_string(d))));
    }
    EXPECT_EQ(fingerprint_of(file), before);
    change_superblocks(file, [](superblock& s) { s.kind = static_cast<discipline>(9); });
    EXPECT_EQ(refused().code, errc::incompatible);
}

TEST_F(bad_input, impossible_values_under_a_right_checksum) {
    make_region(file);
    const auto good = read_file(file);
    const std::function<void(superblock&)> changes[] = {
        [](superblock& s) { s.rooms[0].version = 1; },
        [](superblock& s) { s.rooms[3].name[0] = 'x'; },
        [](superblock& s) {
            std::memset(s.rooms[0].name, 'x', sizeof s.rooms[0].name);
            s.rooms[0].version = 1;
        },
        [](superblock& s) { s.clean = 2; }, [](superblock& s) { s.window_bits = 64; },
        [](superblock& s) { s.total_pages = 17; }, [](superblock& s) { s.total_pages = ~u64{0}; },
        // The next session, or change of the superblock, would wrap it.
        [](superblock& s) { s.generation = ~u64{0}; },
        [](superblock& s) { s.generation = u64{1} << 56; },
        [](superblock& s) { s.sequence = ~u64{0}; },
        [](superblock& s) { s.sequence = u64{1} << 56; }};
    for (const auto& change : changes) {
        write_file(file, good);
        change_superblocks(file, change);
        EXPECT_EQ(refused().code, errc::corrupt);
    }
}

TEST_F(bad_input, a_superblock_with_a_flipped_bit_is_replaced_by_the_other) {
    make_region(file, 2);
    const auto good = read_file(file);
    // Each field's bits in files; all bits below, in memory.
    for (const u64 copy : {0U, 1U}) {
        for (u64 bit = 0; bit < 130 * 8; bit += 3) {
            flip_bit(file, copy * 4096 * 8 + bit);
            const fingerprint before = fingerprint_of(file);
            {
                const auto r = must_open(file);
                ASSERT_NE(r, nullptr) << copy << " " << bit;
                EXPECT_EQ(r->super().total_pages, 2U);
                EXPECT_TRUE(mentions(r->damage(), "at offset " + std::to_string(copy * 4096)));
            }
            EXPECT_EQ(fingerprint_of(file), before);
            flip_bit(file, copy * 4096 * 8 + bit);
        }
    }
    EXPECT_EQ(read_file(file), good);
}

TEST_F(bad_input, the_discipline_of_a_file_is_that_of_its_newest_whole_superblock) {
    EXPECT_EQ(detail::discipline_in(file), std::nullopt) << "no file";
    make_region(file);
    const auto good = read_file(file);
    superblock s{};
    std::memcpy(&s, good.data(), sizeof s);
    const discipline made_for = s.kind;
    ASSERT_NE(made_for, discipline::eager);
    EXPECT_EQ(detail::discipline_in(file), made_for);
    for (const u64 copy : {0U, 1U}) {
        for (const int newer : {-1, 1}) {
            superblock other = s;
            other.kind = discipline::eager;
            other.sequence += static_cast<u64>(newer);
            other.checksum = layout::superblock_checksum(other);
            patch(file, copy * sizeof other, &other, sizeof other);
            EXPECT_EQ(detail::discipline_in(file), newer > 0 ? discipline::eager : made_for);
            flip_bit(file, copy * 4096 * 8 + 700);
            EXPECT_EQ(detail::discipline_in(file), made_for) << "that one is damaged";
            flip_bit(file, copy * 4096 * 8 + 700);
            flip_bit(file, (1 - copy) * 4096 * 8 + 700);
            EXPECT_EQ(detail::discipline_in(file), discipline::eager) << "the other one is";
            flip_bit(file, (1 - copy) * 4096 * 8 + 700);
        }
        patch(file, copy * sizeof s, good.data() + copy * sizeof s, sizeof s);
    }
    std::filesystem::resize_file(file, 2 * sizeof s - 1);
    EXPECT_EQ(detail::discipline_in(file), std::nullopt) << "shorter than two of them";
}

TEST_F(bad_input, the_next_update_mends_a_damaged_superblock) {
    make_region(file);
    flip_bit(file, 4096 * 8 + 700);
    {
        const auto r = must_open(file);
        EXPECT_FALSE(r->damage().empty());
        ASSERT_TRUE(r->update_super([](superblock& s) { s.generation = 3; }));
    }
    flip_bit(file, 700);  // now the first one: the second must be good again
    const auto r = must_open(file);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(r->super().generation, 3U);
}

TEST_F(bad_input, the_same_bit_flipped_in_both_superblocks) {
    make_region(file, 2);
    for (u64 bit = 0; bit < 130 * 8; bit += 7) {
        flip_bit(file, bit);
        flip_bit(file, 4096 * 8 + bit);
        const error e = refused();
        EXPECT_TRUE(e.code == errc::corrupt || e.code == errc::incompatible) << e.to_string();
        EXPECT_TRUE(mentions(e.where, "at offset 0")) << e.to_string();
        flip_bit(file, bit);
        flip_bit(file, 4096 * 8 + bit);
    }
    must_open(file);
}

class flipped_bits : public ::testing::Test {
   protected:
    void SetUp() override {
        ASSERT_TRUE(detail::format_header(*header, small_options(), medium_kind::shm, 15));
        good = header->super[0];
    }
    void flip(u64 bit) {
        auto* const bytes = reinterpret_cast<unsigned char*>(header.get());
        bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << bit % 8));
    }
    [[nodiscard]] auto judged() const { return detail::judge_header(*header, 16 * page_size, "f"); }

    std::unique_ptr<layout::header> header = detail::blank_header();
    superblock good{};
};

TEST_F(flipped_bits, each_single_one_in_a_superblock_leaves_the_other_copy) {
    for (u64 bit = 0; bit < u64{2} * 4096 * 8; ++bit) {
        flip(bit);
        const auto facts = judged();
        ASSERT_TRUE(facts) << bit << ": " << facts.error().to_string();
        ASSERT_EQ(std::memcmp(&facts->super, &good, sizeof good), 0) << bit;
        ASSERT_FALSE(facts->damage.empty()) << bit;
        flip(bit);
    }
}

TEST_F(flipped_bits, the_same_one_in_both_superblocks_is_an_error) {
    for (u64 bit = 0; bit < u64{4096} * 8; ++bit) {
        flip(bit);
        flip(bit + u64{4096} * 8);
        const auto facts = judged();
        ASSERT_FALSE(facts) << bit;
        ASSERT_TRUE(facts.error().code == errc::corrupt) << facts.error().to_string();
        flip(bit);
        flip(bit + u64{4096} * 8);
    }
}

TEST_F(flipped_bits, in_the_epoch_record_and_the_segment_directory_are_errors_with_their_offset) {
    for (const u64 offset : {u64{0x2000}, u64{0x2008}, u64{0x2010}, u64{0x5000}}) {
        for (u64 bit = 0; bit < 64; ++bit) {
            flip(offset * 8 + bit);
            const auto facts = judged();
            ASSERT_FALSE(facts) << offset << " " << bit;
            EXPECT_EQ(facts.error().code, errc::corrupt);
            EXPECT_EQ(facts.error().where, "f at offset " + std::to_string(offset & ~u64{0xFFF}));
            flip(offset * 8 + bit);
        }
    }
    // A bit in the words after the directory's end looks like an entry, or like a hole.
    for (u64 word = 1; word < layout::max_segments; word += 13) {
        flip((0x5000 + word * 8) * 8 + word % 64);
        EXPECT_EQ(judged().error().code, errc::corrupt) << word;
        flip((0x5000 + word * 8) * 8 + word % 64);
    }
    EXPECT_TRUE(judged());
}

TEST_F(flipped_bits, a_lost_directory_is_noticed_though_the_file_was_cut_with_it) {
    header->segments[0].store(0);
    const auto facts = detail::judge_header(*header, page_size, "f");
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().code, errc::corrupt);
    EXPECT_TRUE(mentions(facts.error().why, "lost entries"));
}

TEST_F(flipped_bits, damaged_names_of_roots_are_errors) {
    header->roots[0].value = 1;
    std::memset(header->roots[0].name, 'x', sizeof header->roots[0].name);
    EXPECT_EQ(judged().error().code, errc::corrupt);
    std::memset(header->roots[0].name, 0, sizeof header->roots[0].name);
    EXPECT_EQ(judged().error().where, "f at offset " + std::to_string(0x3000));
    header->roots[0].value = 0;
    header->roots[3].name[0] = 'x';
    EXPECT_TRUE(judged()) << "a name without a value is what a crash may leave";
    header->roots[3].value = 1;
    EXPECT_EQ(judged().error().where, "f at offset " + std::to_string(0x3000 + 3 * 64));
    header->roots[3].value = 0;
    header->roots[3].name[0] = 0;
    header->roots[0].value = 1;
    header->roots[0].name[0] = 'x';
    header->roots[0].name[9] = 'y';
    EXPECT_EQ(judged().error().code, errc::corrupt);
}

TEST_F(flipped_bits, random_damage_anywhere_never_ends_badly) {
    xoshiro256ss random(4);
    auto* const bytes = reinterpret_cast<unsigned char*>(header.get());
    const std::vector<unsigned char> pristine(bytes, bytes + sizeof(layout::header));
    for (int round = 0; round < hf::test::effort(20'000); ++round) {
        for (u64 hits = 1 + random.below(8); hits != 0; --hits) {
            const u64 at = random.below(4) == 0 ? random.below(sizeof(layout::header))
                                                : 0x1000 * random.below(6) + random.below(128);
            bytes[at] = static_cast<unsigned char>(random());
        }
        for (auto& s : header->super) {
            if (random.below(2) == 0) s.checksum = layout::superblock_checksum(s);
        }
        const u64 size = random.below(2) == 0 ? 16 * page_size : random();
        const auto facts = detail::judge_header(*header, size, "f");
        if (!facts) {
            ASSERT_TRUE(facts.error().code == errc::corrupt ||
                        facts.error().code == errc::incompatible);
        }
        std::memcpy(bytes, pristine.data(), pristine.size());
    }
}

TEST_F(bad_input, absurd_options_make_no_file) {
    const std::function<void(region_options&)> changes[] = {
        [](region_options& o) { o.initial_size = 0; },
        [](region_options& o) { o.initial_size = ~u64{0}; },
        [](region_options& o) { o.initial_size = window_size + 1; },
        [](region_options& o) { o.max_size = 1; },
        [](region_options& o) { o.max_size = ~u64{0}; },
        [](region_options& o) { o.max_size = o.initial_size - 1; },
        [](region_options& o) { o.first_epoch = 0; },
        [](region_options& o) { o.first_epoch = ~u64{0}; },
        [](region_options& o) { o.fence_latency_ns = 1001; },
        [](region_options& o) { o.fence_latency_ns = ~u32{0}; },
        [](region_options& o) { o.kind = static_cast<discipline>(0); },
        [](region_options& o) { o.kind = static_cast<discipline>(77); },
        [](region_options& o) { o.mode = static_cast<open_mode>(77); },
        [](region_options& o) { o.flush = static_cast<flush_policy>(77); },
        [](region_options& o) { o.medium = static_cast<medium_kind>(0); }};
    for (const auto& change : changes) {
        region_options o = small_options();
        change(o);
        const error e = must_fail(file, o);
        EXPECT_EQ(e.code, errc::usage) << e.to_string();
        EXPECT_TRUE(dir.names().empty());
    }
}

TEST_F(bad_input, a_maximal_size_below_the_region_s_own_is_refused) {
    make_region(file);
    const fingerprint before = fingerprint_of(file);
    region_options o = small_options();
    o.max_size = 15 * page_size;
    EXPECT_EQ(must_fail(file, o).code, errc::usage);
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(bad_input, a_medium_that_the_file_does_not_lie_on) {
    for (const medium_kind m : {medium_kind::dax, medium_kind::eadr}) {
        region_options o = small_options();
        o.medium = m;
        EXPECT_EQ(must_fail(file, o).code, errc::medium);
        EXPECT_TRUE(dir.names().empty());
    }
    make_region(file);
    const fingerprint before = fingerprint_of(file);
    region_options o = small_options();
    o.medium = medium_kind::dax;
    EXPECT_EQ(must_fail(file, o).code, errc::medium);
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(bad_input, paths_that_name_no_file) {
    const auto fails_with = [](const fs::path& path, errc code) {
        auto r = region::open(path, small_options());
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code, code) << r.error().to_string();
    };
    fails_with("", errc::usage);
    fails_with(dir.path() / "missing" / "store.hf", errc::not_found);
    fails_with(fs::path(dir.path().string() + "/absent/"), errc::usage);
    fails_with(fs::path(std::string("a\0b", 3)), errc::usage);
    fails_with(dir / std::string(300, 'n'), errc::io);
    EXPECT_TRUE(dir.names().empty());
}

}  // namespace
}  // namespace hf::test
