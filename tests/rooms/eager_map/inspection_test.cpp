// The report on an eager region that no process uses: its index, its kind of keys, whether it could
// be opened, how full its heap is, and its damage.
#include "eager_map/inspection.hpp"

#include <holdfast/eager.hpp>

#include "eager/discipline.hpp"
#include "eager/operation.hpp"
#include "eager_map/engine.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <map>
#include <set>
#include <tuple>

namespace hf::test {
namespace {

class eager_inspections : public on_tmpfs, public ::testing::WithParamInterface<std::string> {
   protected:
    [[nodiscard]] eager_map_options options() const {
        eager_map_options o;
        o.index = GetParam();
        o.region.initial_size = u64{1} << 20;
        return o;
    }
    /// Closed when it is there.
    void make_of_bytes(u64 records, std::size_t value_bytes = 20) const {
        auto m = must(eager_map::open(file, options()));
        for (u64 k = 0; k < records; ++k) {
            EXPECT_TRUE(must(m.insert(std::to_string(k), std::string(value_bytes, 'v'))));
        }
        must(m.close());
    }
};

TEST_P(eager_inspections, tell_which_index_of_which_keys_it_is) {
    make_of_bytes(100);
    const auto bytes = eager_inspection::open(file);
    ASSERT_EQ(bytes.refusal(), std::nullopt);
    EXPECT_EQ(bytes.index(), GetParam());
    EXPECT_EQ(bytes.keys(), "bytes");
    EXPECT_EQ(bytes.audit().tree.records, 100U);
    const auto other = dir / "integers.hf";
    {
        auto m = must(eager_integer_map::open(other, options()));
        for (u64 k = 0; k < 90; ++k) EXPECT_TRUE(must(m.insert(k, k)));
        must(m.close());
    }
    const auto integers = eager_inspection::open(other);
    ASSERT_EQ(integers.refusal(), std::nullopt);
    EXPECT_EQ(integers.index(), GetParam());
    EXPECT_EQ(integers.keys(), "integers");
    EXPECT_EQ(integers.file().path(), other);
    EXPECT_EQ(integers.audit().tree.records, 90U);
}

TEST_P(eager_inspections, tell_of_each_block_that_the_index_refers_to) {
    make_of_bytes(300, 5000);
    const auto looked = eager_inspection::open(file);
    ASSERT_EQ(looked.refusal(), std::nullopt);
    std::map<std::string, u64> told;
    std::set<u64> places;
    const audit_report report =
        looked.audit([&](const heap_audit::place& p, const char* what, u64 /*from*/) {
            ++told[what];
            EXPECT_TRUE(places.insert(p.payload).second);
        });
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(told["a record"], 300U);
    // Handed out are whole runs of pages: the records' and the index's own.
    u64 slabs = 0;
    u64 claimed = 0;
    for (const auto& c : report.heap.classes) {
        slabs += c.slabs;
        claimed += c.claimed;
    }
    EXPECT_GT(slabs, 0U);
    EXPECT_EQ(claimed + report.heap.extents_claimed, places.size());
    const heap_figures alone = looked.heap();
    EXPECT_EQ(alone.slab_pages, report.heap.slab_pages);
    EXPECT_EQ(alone.extents, report.heap.extents);
    EXPECT_GT(alone.slab_pages, 0U);
}

// One finding: what is damaged. That it is missing in the number is no other one.
TEST_P(eager_inspections, tell_of_a_record_that_is_damaged) {
    {
        auto m = must(eager_map::open(file, options()));
        EXPECT_TRUE(must(m.insert("a key", "a value that comes but once")));
        must(m.close());
    }
    EXPECT_TRUE(eager_inspection::open(file).audit().ok());
    patch(file, offset_in(file, "a value that comes but once"), "A", 1);
    const auto looked = eager_inspection::open(file);
    ASSERT_EQ(looked.refusal(), std::nullopt);
    const audit_report report = looked.audit();
    EXPECT_FALSE(report.ok());
    EXPECT_NE(report.to_string().find("a record is damaged"), std::string::npos);
}

// Nor does it report a number of missing records if not all could be read.
TEST_P(eager_inspections, count_nothing_where_they_cannot_walk) {
    make_of_bytes(300);
    u64 node = 0;
    {
        const auto engine =
            must(detail::open_engine<std::string_view, std::string>(file, eager_map_options{}));
        must(engine->space().close(300));
    }
    EXPECT_TRUE(eager_inspection::open(file).audit().ok());
    std::ignore = eager_inspection::open(file).audit(
        [&](const heap_audit::place& p, const char* what, u64 /*from*/) {
            if (std::string_view(what) != "a record" && p.room >= 64) node = p.payload;
        });
    const std::string wrong(56, '\xff');
    patch(file, node + 8, wrong.data(), wrong.size());
    const auto looked = eager_inspection::open(file);
    ASSERT_EQ(looked.refusal(), std::nullopt);
    const audit_report report = looked.audit();
    EXPECT_FALSE(report.ok());
    if (report.complete()) return;
    EXPECT_EQ(report.to_string().find("were counted"), std::string::npos) << report.to_string();
}

// A report without a count gives no number of records.
TEST_P(eager_inspections, miss_nothing_where_nobody_has_counted) {
    make_of_bytes(3);
    EXPECT_EQ(eager_inspection::open(file).counted_records(), std::nullopt);
    EXPECT_TRUE(eager_inspection::open(file).audit().ok());
    {
        const auto engine =
            must(detail::open_engine<std::string_view, std::string>(file, eager_map_options{}));
        must(engine->space().close(3));
    }
    EXPECT_EQ(eager_inspection::open(file).counted_records(), 3U);
    EXPECT_TRUE(eager_inspection::open(file).audit().ok());
}

INSTANTIATE_TEST_SUITE_P(indexes, eager_inspections, ::testing::ValuesIn(eager_index_names()),
                         [](const auto& info) { return info.param; });

class eager_refusals : public on_tmpfs {};

TEST_F(eager_refusals, say_why_the_region_cannot_be_opened) {
    const auto of_none = eager_inspection::open(file).refusal();
    ASSERT_NE(of_none, std::nullopt);
    EXPECT_EQ(of_none->code, errc::not_found);
    make_region(file);
    const auto of_another = eager_inspection::open(file).refusal();
    ASSERT_NE(of_another, std::nullopt);
    EXPECT_EQ(of_another->code, errc::incompatible) << of_another->to_string();
    // Its process has made no index yet.
    const auto fresh = dir / "fresh.hf";
    {
        eager_options o;
        o.region.kind = discipline::eager;
        const layout::room_format rooms[] = {{"clht", 1}};
        std::ignore =
            must(eager_space::open(fresh, o, rooms, [](eager_space&) { return result<void>{}; }));
    }
    const auto of_nothing = eager_inspection::open(fresh).refusal();
    ASSERT_NE(of_nothing, std::nullopt);
    EXPECT_EQ(of_nothing->code, errc::not_found) << of_nothing->to_string();
}

// A block that is neither free nor the index's has no owner: a live audit finds it, one of a file
// calls it free.
TEST_F(eager_refusals, an_audit_of_an_opening_finds_a_block_that_is_nobodys) {
    eager_map_options o;
    const auto engine = must(detail::open_engine<u64, u64>(file, o));
    must(engine->space().wait_for_sweep());
    const auto audit = [&] {
        return audit_live(engine->space(), [&](heap_audit& a) { engine->audit(a); });
    };
    EXPECT_TRUE(audit().ok()) << audit().to_string();
    {
        eager_discipline::operation op(engine->space());
        static_cast<void>(must(op.allocate(64)));
    }
    const audit_report report = audit();
    EXPECT_FALSE(report.ok());
    EXPECT_NE(report.to_string().find("neither free nor referred to"), std::string::npos);
}

}  // namespace
}  // namespace hf::test
