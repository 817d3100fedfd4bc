// The operations of a region when nothing fails.
#include "region/region.hpp"

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace hf::test {
namespace {

using layout::page_size;

class region_file : public on_tmpfs {};

TEST_F(region_file, a_new_one_has_a_header_and_one_heap_segment) {
    const auto r = must_open(file);
    EXPECT_TRUE(r->created());
    EXPECT_TRUE(r->was_clean());
    EXPECT_FALSE(r->read_only());
    EXPECT_FALSE(r->is_volatile());
    EXPECT_TRUE(r->damage().empty());
    EXPECT_EQ(r->size(), u64{1} << 20);
    EXPECT_EQ(r->kind(), discipline::incll);
    EXPECT_EQ(r->path(), file);
    const std::vector<segment> expected{{page_size, 15, segment_kind::heap, 0}};
    EXPECT_EQ(r->segments(), expected);
    EXPECT_EQ(r->super().generation, 0U);
    EXPECT_EQ(r->super().total_pages, 16U);
    EXPECT_EQ(*layout::epoch_record_load(r->header().epoch), 1U);
    EXPECT_EQ(fingerprint_of(file).mode & 0777U, 0600U);
    EXPECT_EQ(fingerprint_of(file).bytes, u64{1} << 20);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(region_file, sizes_are_rounded_up_to_pages) {
    for (const u64 bytes : {u64{1}, page_size, page_size + 1, 3 * page_size}) {
        region_options o;
        o.initial_size = bytes;
        const auto path = dir / std::to_string(bytes);
        const auto r = must_open(path, o);
        EXPECT_EQ(r->size(), align_up(bytes, page_size));
        EXPECT_EQ(r->segments().size(), r->size() > page_size ? 1U : 0U);
    }
}

TEST_F(region_file, what_was_stored_is_there_after_it_was_opened_again) {
    {
        const auto r = must_open(file);
        std::memset(r->base() + page_size, 0xAB, 15 * page_size);
        ASSERT_TRUE(r->update_super([](layout::superblock& s) {
            s.generation = 5;
            s.clean = 0;
        }));
    }
    const auto r = must_open(file);
    EXPECT_FALSE(r->created());
    EXPECT_FALSE(r->was_clean());
    EXPECT_EQ(r->super().generation, 5U);
    const auto* const begin = r->base() + page_size;
    EXPECT_TRUE(std::all_of(begin, begin + 15 * page_size,
                            [](std::byte b) { return b == std::byte{0xAB}; }));
}

TEST_F(region_file, opening_and_closing_changes_nothing_clean_or_not) {
    make_region(file);
    for (const u8 clean : {u8{1}, u8{0}}) {
        change_superblocks(file, [clean](layout::superblock& s) { s.clean = clean; });
        const fingerprint before = fingerprint_of(file);
        must_open(file);
        region_options inspect;
        inspect.mode = open_mode::inspect;
        must_open(file, inspect);
        EXPECT_EQ(fingerprint_of(file), before);
    }
}

TEST_F(region_file, every_region_has_a_uuid_of_its_own) {
    const auto a = must_open(dir / "a");
    const auto b = must_open(dir / "b");
    EXPECT_NE(std::memcmp(a->super().uuid, b->super().uuid, 16), 0);
}

TEST_F(region_file, all_its_bytes_are_allocated) {
    make_region(file);
    const auto handle = detail::open_file(file, true);
    ASSERT_TRUE(handle);
    const auto facts = detail::facts_of(*handle, "store.hf");
    EXPECT_GE(facts->allocated_bytes, facts->bytes);
}

TEST_F(region_file, holes_of_a_copy_are_filled_before_it_is_used) {
    make_region(file);
    const auto bytes = read_file(file);
    // Only the header has been written: the rest is a hole.
    write_file(dir / "copy.hf", {bytes.begin(), bytes.begin() + page_size});
    std::filesystem::resize_file(dir / "copy.hf", bytes.size());
    const auto allocated = [this] {
        struct stat st{};
        EXPECT_EQ(::stat((dir / "copy.hf").c_str(), &st), 0);
        return static_cast<u64>(st.st_blocks) * 512;
    };
    ASSERT_LT(allocated(), bytes.size());
    region_options o = small_options();
    o.mode = open_mode::inspect;
    must_open(dir / "copy.hf", o);
    EXPECT_LT(allocated(), bytes.size());
    must_open(dir / "copy.hf");
    EXPECT_GE(allocated(), bytes.size());
}

TEST_F(region_file, a_copy_is_opened_beside_the_original) {
    make_region(file);
    std::filesystem::copy_file(file, dir / "copy.hf");
    std::filesystem::permissions(dir / "copy.hf", std::filesystem::perms(0600));
    const auto original = must_open(file);
    const auto copy = must_open(dir / "copy.hf");
    EXPECT_NE(original->base(), copy->base());
    EXPECT_FALSE(same_region(original->base(), copy->base()));
    EXPECT_EQ(std::memcmp(original->base(), copy->base(), original->size()), 0);
    *copy->at<char>(page_size) = 'c';
    *original->at<char>(page_size) = 'o';
    EXPECT_EQ(*copy->at<char>(page_size), 'c');
    EXPECT_EQ(original->offset_of(original->at<char>(page_size)), page_size);
}

TEST_F(region_file, sixteen_are_open_at_once) {
    std::vector<std::unique_ptr<region>> open;
    region_options o;
    o.initial_size = page_size;
    for (unsigned i = 0; i < wanted_windows; ++i) {
        open.push_back(must_open(dir / std::to_string(i), o));
        ASSERT_NE(open.back(), nullptr);
    }
    EXPECT_EQ(must_fail(dir / "one more", o).code, errc::no_space);
    EXPECT_FALSE(std::filesystem::exists(dir / "one more"));
    open.pop_back();
    must_open(dir / "one more", o);
}

TEST_F(region_file, modes_say_whether_a_file_must_or_must_not_be_there) {
    region_options o = small_options();
    o.mode = open_mode::open_existing;
    EXPECT_EQ(must_fail(file, o).code, errc::not_found);
    o.mode = open_mode::inspect;
    EXPECT_EQ(must_fail(file, o).code, errc::not_found);
    EXPECT_TRUE(dir.names().empty());
    o.mode = open_mode::create_new;
    EXPECT_TRUE(must_open(file, o)->created());
    const fingerprint before = fingerprint_of(file);
    EXPECT_EQ(must_fail(file, o).code, errc::usage);
    EXPECT_EQ(fingerprint_of(file), before);
    o.mode = open_mode::open_or_create;
    EXPECT_FALSE(must_open(file, o)->created());
}

TEST_F(region_file, a_growing_one_hands_out_zeroed_segments_that_are_still_there_later) {
    std::vector<segment> expected;
    {
        const auto r = must_open(file);
        for (u16 i = 1; i <= 20; ++i) {
            const auto kind = i % 3 == 0 ? segment_kind::log : segment_kind::heap;
            const auto s = r->grow(kind, i, i);
            ASSERT_TRUE(s) << s.error().to_string();
            EXPECT_EQ(s->pages, i);
            EXPECT_EQ(s->kind, kind);
            EXPECT_EQ(s->owner, i);
            const std::byte* const begin = r->at<std::byte>(s->offset);
            EXPECT_TRUE(std::all_of(begin, begin + s->bytes(),
                                    [](std::byte b) { return b == std::byte{0}; }));
            std::memset(r->at<std::byte>(s->offset), i, s->bytes());
        }
        EXPECT_EQ(r->size(), (16 + 210) * page_size);
        expected = r->segments();
        EXPECT_EQ(expected.size(), 21U);
    }
    EXPECT_EQ(fingerprint_of(file).bytes, (16 + 210) * page_size);
    const auto r = must_open(file);
    EXPECT_EQ(r->segments(), expected);
    for (const segment& s : expected) {
        if (s.owner == 0) continue;
        EXPECT_EQ(*r->at<u8>(s.offset), s.owner);
        EXPECT_EQ(*r->at<u8>(s.offset + s.bytes() - 1), s.owner);
    }
}

TEST_F(region_file, growth_stops_at_the_maximal_size_and_the_region_is_as_it_was) {
    region_options o = small_options();
    o.max_size = 20 * page_size;
    const auto r = must_open(file, o);
    EXPECT_EQ(r->max_pages(), 20U);
    ASSERT_TRUE(r->grow(segment_kind::heap, 3, 0));
    const fingerprint before = fingerprint_of(file);
    for (const u64 pages : {u64{2}, u64{1} << 24, u64{1} << 40, ~u64{0}}) {
        const auto s = r->grow(segment_kind::heap, pages, 0);
        ASSERT_FALSE(s);
        EXPECT_EQ(s.error().code, errc::no_space);
        EXPECT_NE(s.error().where.find("store.hf"), std::string::npos);
    }
    EXPECT_EQ(fingerprint_of(file), before);
    EXPECT_TRUE(r->grow(segment_kind::heap, 1, 0));
}

TEST_F(region_file, growth_stops_when_the_directory_of_segments_is_full) {
    const auto r = must_open(file);
    for (unsigned i = 1; i < layout::max_segments; ++i) {
        ASSERT_TRUE(r->grow(segment_kind::heap, 1, static_cast<u16>(i)));
    }
    const auto s = r->grow(segment_kind::heap, 1, 0);
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().code, errc::no_space);
    EXPECT_EQ(r->segments().size(), layout::max_segments);
}

TEST_F(region_file, inspecting_shows_everything_and_changes_nothing) {
    make_region(file);
    const fingerprint before = fingerprint_of(file);
    {
        region_options o;
        o.mode = open_mode::inspect;
        o.kind = discipline::logged;  // inspecting takes any
        const auto r = must_open(file, o);
        EXPECT_TRUE(r->read_only());
        EXPECT_EQ(r->kind(), discipline::incll);
        EXPECT_FALSE(r->med().flushes());
        EXPECT_EQ(*r->at<u8>(page_size), 0x5A);
        std::memset(r->base() + page_size, 0, 15 * page_size);  // into the private copy
        ASSERT_TRUE(r->update_super([](layout::superblock& s) { s.clean = 0; }));
        ASSERT_TRUE(r->publish_root("inspected", 1, 1, 1));
        const auto grown = r->grow(segment_kind::heap, 1, 0);
        ASSERT_FALSE(grown);
        EXPECT_EQ(grown.error().code, errc::denied);
    }
    EXPECT_EQ(fingerprint_of(file), before);
}

TEST_F(region_file, several_may_inspect_but_nobody_beside_a_writer) {
    make_region(file);
    region_options o;
    o.mode = open_mode::inspect;
    {
        const auto a = must_open(file, o);
        const auto b = must_open(file, o);
        EXPECT_EQ(must_fail(file).code, errc::busy);
    }
    const auto writer = must_open(file);
    EXPECT_EQ(must_fail(file, o).code, errc::busy);
}

TEST_F(region_file, both_superblocks_are_equal_at_rest) {
    {
        const auto r = must_open(file);
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(r->update_super([](layout::superblock& s) { s.generation += 1; }));
            EXPECT_EQ(std::memcmp(&r->header().super[0], &r->header().super[1], 4096), 0);
            EXPECT_EQ(std::memcmp(&r->header().super[0], &r->super(), 4096), 0);
        }
        EXPECT_EQ(r->super().sequence, 4U);
    }
    EXPECT_EQ(must_open(file)->super().generation, 3U);
}

TEST_F(region_file, an_update_says_how_large_the_region_is_and_on_which_medium_it_is_used) {
    make_region(file);
    change_superblocks(file, [](layout::superblock& s) { s.medium = medium_kind::eadr; });
    region_options o = small_options();
    for (const auto mode : {open_mode::inspect, open_mode::open_existing}) {
        o.mode = mode;
        const auto r = must_open(file, o);
        const bool writes = mode != open_mode::inspect;
        if (writes) {
            ASSERT_TRUE(r->grow(segment_kind::heap, 3, 0));
            EXPECT_EQ(r->super().total_pages, 16U) << "the directory says so until then";
        }
        const layout::superblock& before = r->super();
        ASSERT_TRUE(r->update_super([](layout::superblock& s) {
            s.total_pages = 1;  // who changes something else cannot change these
            s.sequence = 0;
            s.checksum = 0;
        }));
        EXPECT_EQ(r->super().total_pages, writes ? 19U : 16U);
        EXPECT_EQ(r->super().medium, writes ? medium_kind::shm : medium_kind::eadr);
        EXPECT_EQ(r->super().sequence, before.sequence + 1);
        EXPECT_EQ(r->super().checksum, layout::superblock_checksum(r->super()));
    }
    const auto r = must_open(file);
    EXPECT_EQ(r->super().total_pages, 19U);
    EXPECT_EQ(r->super().medium, medium_kind::shm);
}

TEST_F(region_file, the_superblock_keeps_what_it_does_not_read) {
    {
        const auto r = must_open(file);
        ASSERT_TRUE(r->update_super([](layout::superblock& s) {
            std::fill(std::begin(s.epoch_area), std::end(s.epoch_area), u8{0xE});
            std::fill(std::begin(s.discipline_area), std::end(s.discipline_area), u8{0xD});
            layout::set_version(s, {"elsewhere", 7});
        }));
    }
    const auto r = must_open(file);
    const auto& s = r->super();
    EXPECT_TRUE(std::all_of(std::begin(s.epoch_area), std::end(s.epoch_area),
                            [](u8 b) { return b == 0xE; }));
    EXPECT_TRUE(std::all_of(std::begin(s.discipline_area), std::end(s.discipline_area),
                            [](u8 b) { return b == 0xD; }));
    EXPECT_EQ(layout::version_of(s, "elsewhere"), 7U);
    EXPECT_EQ(layout::version_of(s, "else"), 0U);
    EXPECT_EQ(layout::version_of(s, ""), 0U);
}

TEST_F(region_file, a_new_one_names_the_rooms_that_its_opener_brings) {
    const layout::room_format rooms[] = {{"one", 1}, {"two", 2}};
    {
        region::opener by;
        by.rooms = rooms;
        const auto r = region::open(file, small_options(), by);
        ASSERT_TRUE(r) << r.error().to_string();
    }
    const auto r = must_open(file);
    EXPECT_EQ(layout::version_of(r->super(), "one"), 1U);
    EXPECT_EQ(layout::version_of(r->super(), "two"), 2U);
    EXPECT_EQ(layout::version_of(r->super(), "three"), 0U);
}

TEST_F(region_file, roots_are_found_by_name_also_later) {
    {
        const auto r = must_open(file);
        const auto missing = r->find_root("tree");
        ASSERT_FALSE(missing);
        EXPECT_EQ(missing.error().code, errc::not_found);
        const auto added = r->publish_root("tree", 42, 3, 4711);
        ASSERT_TRUE(added);
        EXPECT_TRUE(r->publish_root("a name of 23 bytes, yes", 1, 1, 1));
        EXPECT_EQ(*r->find_root("tree"), *added);
        EXPECT_FALSE(r->find_root(""));
        EXPECT_FALSE(r->find_root("tre"));
        EXPECT_FALSE(r->find_root("trees"));
    }
    const auto r = must_open(file);
    const auto found = r->find_root("tree");
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)->type, 42U);
    EXPECT_EQ((*found)->format, 3U);
    EXPECT_EQ((*found)->value.load(), 4711U);
    EXPECT_TRUE(r->find_root("a name of 23 bytes, yes"));
}

TEST_F(region_file, bad_and_taken_names_of_roots_and_the_65th_root_are_errors) {
    const auto r = must_open(file);
    using namespace std::string_view_literals;
    for (const auto name : {""sv, "a name of 24 bytes, alas"sv, "zero\0inside"sv}) {
        EXPECT_EQ(r->publish_root(name, 1, 1, 1).error().code, errc::usage) << name;
    }
    for (unsigned i = 0; i < layout::max_roots; ++i) {
        ASSERT_TRUE(r->publish_root("root " + std::to_string(i), i, 1, 1));
    }
    EXPECT_EQ(r->publish_root("root 7", 1, 1, 1).error().code, errc::usage);
    EXPECT_EQ(r->publish_root("root 64", 1, 1, 1).error().code, errc::no_space);
    EXPECT_EQ((*r->find_root("root 63"))->type, 63U);
}

TEST_F(region_file, the_flush_policy_decides_the_instruction) {
    region_options o = small_options();
    EXPECT_FALSE(must_open(file, o)->med().flushes());
    o.flush = flush_policy::always;
    o.fence_latency_ns = 1000;
    const auto r = must_open(file, o);
    EXPECT_EQ(r->med().kind(), medium_kind::shm);
    EXPECT_EQ(r->med().instruction(), best_flush_instruction());
    EXPECT_EQ(r->med().fence_latency_ns(), 1000U);
    // Flushed for real, the header's updates work all the same.
    ASSERT_TRUE(r->update_super([](layout::superblock& s) { s.generation = 1; }));
    ASSERT_TRUE(r->grow(segment_kind::heap, 1, 0));
}

TEST_F(region_file, epochs_start_where_the_options_say) {
    region_options o = small_options();
    o.first_epoch = (u64{1} << 32) - 3;
    const auto r = must_open(file, o);
    EXPECT_EQ(*layout::epoch_record_load(r->header().epoch), o.first_epoch);
}

// Accesses after its end do not fault, and the region grows into the window as ever.
TEST_F(region_file, whose_windows_rest_is_backed_reads_as_zeros_behind_its_end) {
    const auto r = must_open(file);
    r->back_rest_of_window();
    EXPECT_EQ(r->max_pages(), (window_size - region::reach_of_damage) / page_size);
    const std::byte* const end = r->base() + window_size;
    EXPECT_EQ(r->base()[r->size()], std::byte{0});
    EXPECT_EQ(end[-1], std::byte{0});
    const u64 before = r->size();
    const auto grown = r->grow(segment_kind::heap, 4, 0);
    ASSERT_TRUE(grown) << grown.error().to_string();
    ASSERT_GT(r->size(), before);
    r->base()[r->size() - 1] = std::byte{7};
    const std::uint64_t last = r->size() - 1;
    std::ifstream in(file, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(last));
    EXPECT_EQ(in.get(), 7);
    EXPECT_EQ(r->base()[r->size()], std::byte{0});
}

TEST(near_offset, leaves_room_for_any_object_before_the_windows_end) {
    constexpr u64 last = window_size - region::reach_of_damage;
    for (const u64 alignment : {u64{1}, u64{64}, u64{4096}}) {
        EXPECT_EQ(region::near_offset(last, alignment), last);
        for (u64 back = 1; back <= region::reach_of_damage; back += 31) {
            ASSERT_EQ(region::near_offset(window_size - back, alignment), last) << back;
        }
    }
}

TEST(near_offset, is_the_offset_of_a_block_and_never_leads_out_of_the_window) {
    EXPECT_EQ(region::near_offset(0), 0U);
    EXPECT_EQ(region::near_offset(page_size + 32), page_size + 32);
    EXPECT_EQ(region::near_offset(page_size + 63), page_size + 32);
    EXPECT_EQ(region::near_offset(window_size + page_size), page_size);
    EXPECT_LT(region::near_offset(~u64{0}), window_size);
}

TEST(volatile_region, lives_in_a_window_and_grows) {
    region_options o;
    o.kind = discipline::transient;
    o.max_size = u64{64} << 20;
    auto opened = region::create_volatile(u64{2} << 20, o);
    ASSERT_TRUE(opened) << opened.error().to_string();
    const auto r = std::move(*opened);
    EXPECT_TRUE(r->is_volatile());
    EXPECT_EQ(r->kind(), discipline::transient);
    EXPECT_EQ(r->size(), u64{2} << 20);
    EXPECT_TRUE(is_persistent(r->base()));
    std::memset(r->base() + page_size, 1, r->size() - page_size);
    const auto s = r->grow(segment_kind::heap, 16, 3);
    ASSERT_TRUE(s);
    EXPECT_EQ(*r->at<u8>(s->offset), 0);
    std::memset(r->at<u8>(s->offset), 2, s->bytes());
    EXPECT_EQ(r->segments().size(), 2U);
    EXPECT_EQ(r->grow(segment_kind::heap, u64{1} << 20, 0).error().code, errc::no_space);
    ASSERT_TRUE(r->publish_root("tree", 1, 1, 1));
    ASSERT_TRUE(r->update_super([](layout::superblock& s2) { s2.generation = 9; }));
    EXPECT_EQ(r->super().generation, 9U);
    EXPECT_EQ(region::create_volatile(0, o).error().code, errc::usage);
    EXPECT_EQ(region::create_volatile(u64{1} << 60, o).error().code, errc::usage);
}

// Numbers of 32 bits hold no such length, and no such offset.
TEST(volatile_region, grows_by_more_than_4_gib_at_once) {
    region_options o;
    o.kind = discipline::transient;
    o.max_size = u64{16} << 30;
    const auto r = test::must(region::create_volatile(u64{2} << 20, o));
    const u64 bytes = (u64{4} << 30) + 3 * page_size;
    for (const u64 before : {u64{2} << 20, (u64{2} << 20) + bytes}) {
        const auto s = test::must(r->grow(segment_kind::heap, bytes / page_size, 0));
        EXPECT_EQ(s.offset, before);
        EXPECT_EQ(s.bytes(), bytes);
        EXPECT_EQ(r->size(), before + bytes);
        *r->at<u64>(before + bytes - sizeof(u64)) = before;
    }
    EXPECT_EQ(*r->at<u64>((u64{2} << 20) + bytes - sizeof(u64)), u64{2} << 20);
    ASSERT_TRUE(r->update_super([](layout::superblock&) {}));
    EXPECT_EQ(r->super().total_pages, r->size() / page_size);
}

}  // namespace
}  // namespace hf::test
