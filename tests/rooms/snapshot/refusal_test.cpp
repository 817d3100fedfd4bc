// Files from which a snapshot is not opened, and disciplines that do not open a snapshot.
#include <holdfast/snapshot.hpp>

#include "recovery/opening.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

namespace fs = std::filesystem;
using test::must;

class refused_snapshots : public test::on_tmpfs {
   protected:
    [[nodiscard]] static snapshot_options options() {
        snapshot_options o;
        o.bytes = u64{1} << 20;
        o.region.medium = medium_kind::file;
        return o;
    }
    [[nodiscard]] error refused(const snapshot_options& o) const {
        auto s = snapshot::open(file, o);
        EXPECT_FALSE(s) << "it opened";
        if (s) return {};
        EXPECT_FALSE(s.error().why.empty());
        EXPECT_FALSE(s.error().next.empty());
        return s.error();
    }
};

TEST_F(refused_snapshots, memory_that_is_shared_with_the_file) {
    snapshot_options o = options();
    o.region.image = image_kind::shared;
    EXPECT_EQ(refused(o).code, errc::usage);
    EXPECT_FALSE(fs::exists(file)) << "no file was created";
}

TEST_F(refused_snapshots, a_region_of_another_discipline) {
    test::make_region(file);
    const auto before = test::fingerprint_of(file);
    const error e = refused(options());
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.why.find("incll"), std::string::npos);
    snapshot_options look = options();
    look.region.mode = open_mode::inspect;
    EXPECT_EQ(refused(look).code, errc::incompatible);
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(refused_snapshots, by_those_of_another_discipline) {
    must(must(snapshot::open(file, options())).close());
    const auto before = test::fingerprint_of(file);
    region_options o = test::small_options();
    o.medium = medium_kind::file;
    const auto opened = open_region(file, o);
    ASSERT_FALSE(opened);
    const error& e = opened.error();
    EXPECT_EQ(e.code, errc::incompatible);
    EXPECT_NE(e.why.find("snapshot"), std::string::npos);
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(refused_snapshots, absurd_options) {
    for (const auto& spoil : std::initializer_list<void (*)(snapshot_options&)>{
             [](snapshot_options& o) { o.tracking = static_cast<page_tracking>(0); },
             [](snapshot_options& o) { o.tracking = static_cast<page_tracking>(9); },
             [](snapshot_options& o) { o.epoch = std::chrono::microseconds(1); },
             [](snapshot_options& o) { o.bytes = ~u64{0}; },
             [](snapshot_options& o) { o.region.max_size = u64{1} << 20; }}) {
        snapshot_options o = options();
        spoil(o);
        EXPECT_EQ(refused(o).code, errc::usage);
        fs::remove(file);  // the epoch is checked after the file
    }
}

TEST_F(refused_snapshots, a_second_one_of_the_same_file) {
    const auto first = must(snapshot::open(file, options()));
    EXPECT_EQ(refused(options()).code, errc::busy);
}

TEST_F(refused_snapshots, growth_beyond_its_largest_size) {
    snapshot_options o = options();
    o.region.max_size = u64{2} << 20;
    snapshot s = must(snapshot::open(file, o));
    EXPECT_EQ(s.grow(u64{1} << 20).error().code, errc::no_space);
    EXPECT_EQ(s.grow(~u64{0}).error().code, errc::no_space);
    EXPECT_EQ(s.memory().size(), u64{1} << 20);
    must(s.grow((u64{1} << 20) - layout::page_size));
}

}  // namespace
}  // namespace hf
