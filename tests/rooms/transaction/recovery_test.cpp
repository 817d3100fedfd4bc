// Recovery after a process that ended in the middle of a commit.
#include "persist/persist_point.hpp"
#include "region_of_words.hpp"
#include "support/sync_points.hpp"

#include <unistd.h>

#include <cstring>
#include <string>

namespace hf::test {
namespace {

const char* point_of_end = nullptr;
int points_before_end = 0;

void end_at_point(const char* name) {
    if (std::strncmp(name, point_of_end, std::strlen(point_of_end)) != 0) return;
    if (points_before_end-- == 0) _exit(0);
}

struct ending {
    const char* name;
    engine_kind engine;
    const char* point;
    bool commits;
    const char* recovers = "transaction T3";
};

class recovery_of : public on_tmpfs, public ::testing::WithParamInterface<ending> {
   protected:
    void SetUp() override {
        if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    }
    [[nodiscard]] std::unique_ptr<region_of_words> open() {
        region_of_words::how h;
        h.engine = GetParam().engine;
        return std::make_unique<region_of_words>(file, h);
    }
    /// In a process of its own, which ends at the point in the transaction after `whole` ones.
    void run_to_the_end(u64 whole) {
        const int code = in_child([&] {
            auto r = open();
            point_of_end = GetParam().point;
            points_before_end = static_cast<int>(whole);
            set_persist_point_hook(end_at_point);
            for (u64 n = 1;; ++n) {
                must(r->all().atomic([&](transaction& t) {
                    std::byte* p = t.allocate(48);
                    t.store(reinterpret_cast<u64*>(p), n);
                    if (const u64 old = t.load(r->word(1)); old != 0) t.release(t.base() + old, 48);
                    for (u64 i : {u64{0}, u64{64}, u64{500}}) t.store(r->word(i), n);
                    t.store(r->word(1), static_cast<u64>(p - t.base()));
                }));
            }
            return 1;
        });
        ASSERT_EQ(code, 0);
    }
    void expect(const region_of_words& r, u64 n) const {
        for (u64 i : {u64{0}, u64{64}, u64{500}}) EXPECT_EQ(r.now(i), n);
        if (n == 0) return;
        EXPECT_EQ(*r.up->file().at<u64>(r.now(1)), n);
    }
};

TEST_P(recovery_of, the_last_transaction_is_there_or_not) {
    for (u64 whole : {u64{0}, u64{1}, u64{7}}) {
        std::filesystem::remove(file);
        run_to_the_end(whole);
        auto r = open();
        expect(*r, whole + (GetParam().commits ? 1 : 0));
        EXPECT_GE(r->up->recovered().records, whole);
        EXPECT_GE(r->up->recovered().bytes, 64 * r->up->recovered().records);
        must(r->all().atomic([&](transaction& t) {
            if (r->now(1) != 0) t.release(t.base() + r->now(1), 48);  // dies if it is not owned
        }));
    }
}

TEST_P(recovery_of, an_opening_that_is_cut_short_is_done_again) {
    run_to_the_end(3);
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(in_child([&] {
                      point_of_end = GetParam().recovers;
                      points_before_end = 0;
                      set_persist_point_hook(end_at_point);
                      auto r = open();
                      return 1;
                  }),
                  0);
    }
    expect(*open(), 3 + (GetParam().commits ? 1 : 0));
}

TEST_P(recovery_of, records_of_an_older_epoch_are_not_applied) {
    run_to_the_end(2);
    auto r = open();
    must(r->all().atomic([&](transaction& t) { t.store(r->word(0), 1'000); }));
    crash(r);
    r = open();
    EXPECT_EQ(r->now(0), 1'000U);
    r->up->epochs().end_epoch();
    crash(r);
    r = open();
    EXPECT_EQ(r->now(0), 1'000U);
    EXPECT_EQ(r->up->recovered().records, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    at, recovery_of,
    ::testing::Values(
        ending{"redo_durable", engine_kind::redo, "transaction T1", true},
        ending{"undo_logged", engine_kind::undo, "transaction U1", false},
        ending{"undo_in_place", engine_kind::undo, "transaction U2", false},
        ending{"undo_done", engine_kind::undo, "transaction U3", true},
        ending{"heap_words_next", engine_kind::redo, "alloc C1", true},
        ending{"shadow_durable", engine_kind::shadow, "transaction S2", true, "transaction SR1"},
        ending{"shadow_heap_words_next", engine_kind::shadow, "alloc C1", true, "transaction SR2"}),
    [](const auto& i) { return std::string(i.param.name); });

class transaction_recovery : public on_tmpfs {};

TEST_F(transaction_recovery, what_committed_is_there_after_an_orderly_end_and_after_a_kill) {
    for (bool orderly : {true, false}) {
        for (const engine_kind engine : all_engines()) {
            std::filesystem::remove(file);
            region_of_words::how h;
            h.engine = engine;
            auto r = std::make_unique<region_of_words>(file, h);
            must(r->all().atomic([&](transaction& t) { t.store(r->word(9), 99); }));
            if (orderly) must(r->up->close());
            crash(r);
            region_of_words again(file);
            EXPECT_EQ(again.now(9), 99U);
            EXPECT_EQ(again.up->engine(), engine) << "it is chosen when the region is made";
            EXPECT_EQ(again.up->file().was_clean(), orderly);
        }
    }
}

TEST_F(transaction_recovery, what_is_closed_can_be_opened_while_its_object_lives) {
    region_of_words r(file);
    must(r.all().atomic([&](transaction& t) { t.store(r.word(9), 99); }));
    must(r.up->close());
    EXPECT_EQ(region_of_words(file).now(9), 99U);
}

TEST_F(transaction_recovery, an_engine_that_is_unknown_is_refused) {
    must(std::make_unique<region_of_words>(file)->up->close());
    for (u32 engine : {0U, 99U}) {
        {
            region_options o;
            o.kind = discipline::transaction;
            const auto f = must_open(file, o);
            must(f->update_super([&](layout::superblock& s) {
                layout::write_area(s.discipline_area, transaction_area{engine_kind{engine}, 0});
            }));
        }
        opening_options o;
        o.file.kind = discipline::transaction;
        transactional_region up(must(open_region(file, o)));
        transaction_opening steps(up, {});
        const auto done = steps.run();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::incompatible);
    }
}

// R3: the record has the block twice then, as it was allocated and as it is.
TEST_F(transaction_recovery, a_fresh_block_that_was_stored_to_behind_another_has_its_last_words) {
    for (const engine_kind engine : all_engines()) {
        std::filesystem::remove(file);
        region_of_words::how h;
        h.engine = engine;
        auto r = std::make_unique<region_of_words>(file, h);
        must(r->all().atomic([&](transaction& t) {
            auto* const first = reinterpret_cast<u64*>(t.allocate(48));
            t.store(first, u64{1});
            t.store(first + 1, u64{2});
            auto* const second = reinterpret_cast<u64*>(t.allocate(48));
            t.store(second, u64{3});
            t.store(first, u64{4});  // in a private copy: it is not the newest block any more
            t.store(r->word(0), r->up->file().offset_of(first));
        }));
        crash(r);
        region_of_words again(file);
        const u64* const found = again.up->file().at<u64>(again.now(0));
        EXPECT_EQ(found[0], 4U);
        EXPECT_EQ(found[1], 2U);
    }
}

/// A region that ended with two records of the running epoch in lane 1's log, before anything of
/// them is in place.
u64 first_record(const std::filesystem::path& file) {
    auto r = must_open(file, [] {
        region_options o;
        o.mode = open_mode::inspect;
        return o;
    }());
    for (const segment& s : r->segments()) {
        if (s.kind == segment_kind::log) return s.offset;
    }
    return 0;
}

TEST_F(transaction_recovery, a_damaged_record_before_a_whole_one_is_told) {
    {
        auto r = std::make_unique<region_of_words>(file);
        for (u64 i = 1; i < 4; ++i) {
            must(r->all().atomic([&](transaction& t) { t.store(r->word(0), i); }));
        }
    }
    const u64 at = first_record(file);
    ASSERT_NE(at, 0U);
    u8 wrong = 0xff;
    // The first record is that of the words' making; the second the first store's.
    const auto bytes = read_file(file);
    u64 second = at;
    while (bytes[second + 40] == std::byte{0} || second == at) second += 64;
    patch(file, second + 44, &wrong, 1);
    region_options o;
    o.kind = discipline::transaction;
    auto opened = must(open_region(file, o));
    transactional_region up(std::move(opened));
    transaction_opening steps(up, {});
    const auto done = steps.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::corrupt);
    EXPECT_NE(done.error().why.find("damaged"), std::string::npos) << done.error().to_string();
}

}  // namespace
}  // namespace hf::test
