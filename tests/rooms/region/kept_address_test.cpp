// Regions that are mapped at the same address each time (region_options::keep_address).
#include "region/header.hpp"
#include "region/region.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>

namespace hf {
namespace {

using layout::superblock;

class kept_address : public test::on_tmpfs {
   protected:
    static region_options keeping(std::optional<unsigned> number = {}) {
        region_options o = test::small_options();
        o.keep_address = true;
        o.window = number;
        return o;
    }
    void change_superblock(unsigned copy, const std::function<void(superblock&)>& change,
                           bool is_whole = true) {
        std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
        superblock s;
        f.seekg(copy * sizeof s);
        f.read(reinterpret_cast<char*>(&s), sizeof s);
        change(s);
        if (is_whole) s.checksum = layout::superblock_checksum(s);
        f.seekp(copy * sizeof s);
        f.write(reinterpret_cast<const char*>(&s), sizeof s);
    }
};

TEST_F(kept_address, a_region_that_keeps_it_is_mapped_there_again_though_others_were_first) {
    const std::byte* base = nullptr;
    {
        const auto other = test::must_open(dir / "other.hf");
        auto r = test::must_open(file, keeping());
        base = r->base();
        EXPECT_TRUE(r->keeps_address());
        EXPECT_EQ(r->super().address, reinterpret_cast<u64>(base));
        EXPECT_FALSE(other->keeps_address());
    }
    const auto again = test::must_open(file);  // the region says it, not the opener
    EXPECT_EQ(again->base(), base);
    EXPECT_TRUE(again->keeps_address());
    EXPECT_EQ(test::must_open(dir / "other.hf")->base(), base - window_size) << "the first free";
}

TEST_F(kept_address, the_creator_chooses_the_window) {
    const auto r = test::must_open(file, keeping(3));
    EXPECT_EQ(reinterpret_cast<u64>(r->base()), detail::arena_begin + 3 * window_size);
    const error taken = test::must_fail(dir / "other.hf", keeping(3));
    EXPECT_EQ(taken.code, errc::busy);
    EXPECT_FALSE(std::filesystem::exists(dir / "other.hf"));
    const error absent = test::must_fail(dir / "other.hf", keeping(wanted_windows));
    EXPECT_EQ(absent.code, errc::incompatible);
}

TEST_F(kept_address, a_taken_address_is_an_error_but_for_inspection) {
    std::filesystem::path copy = dir / "copy.hf";
    {
        (void)test::must_open(file, keeping());
    }
    std::filesystem::copy_file(file, copy);
    const auto r = test::must_open(file);
    const error e = test::must_fail(copy);
    EXPECT_EQ(e.code, errc::busy);
    EXPECT_EQ(e.where, copy.string());
    region_options look;
    look.mode = open_mode::inspect;
    const auto inspected = test::must_open(copy, look);
    EXPECT_NE(inspected->base(), r->base());
    EXPECT_EQ(inspected->super().address, reinterpret_cast<u64>(r->base()));
}

TEST_F(kept_address, one_damaged_superblock_does_not_lose_it) {
    for (const unsigned copy : {0U, 1U}) {
        std::filesystem::remove(file);
        const std::byte* base = nullptr;
        {
            base = test::must_open(file, keeping(1))->base();
        }
        change_superblock(copy, [](superblock& s) { s = {}; });
        EXPECT_EQ(test::must_open(file)->base(), base) << copy;
    }
}

TEST_F(kept_address, an_address_that_starts_no_window_is_refused) {
    for (const u64 address : {u64{0}, u64{4096}, arena_address + 4096}) {
        std::filesystem::remove(file);
        {
            (void)test::must_open(file, keeping());
        }
        for (const unsigned copy : {0U, 1U}) {
            change_superblock(copy, [&](superblock& s) { s.address = address; });
        }
        EXPECT_EQ(test::must_fail(file).code, errc::corrupt) << address;
    }
}

TEST_F(kept_address, superblocks_that_name_different_addresses_are_refused) {
    {
        (void)test::must_open(file, keeping());
    }
    const auto elsewhere = [](superblock& s) { s.address += window_size; };
    change_superblock(0, elsewhere, false);  // damaged: the other one counts
    EXPECT_EQ(test::must_fail(file).code, errc::corrupt);
}

TEST_F(kept_address, without_the_feature_the_word_means_nothing) {
    {
        (void)test::must_open(file);
    }
    for (const unsigned copy : {0U, 1U}) {
        change_superblock(copy, [](superblock& s) { s.address = 77; });
    }
    EXPECT_FALSE(test::must_open(file)->keeps_address());
}

}  // namespace
}  // namespace hf
