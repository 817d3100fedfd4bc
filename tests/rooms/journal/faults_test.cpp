// The Nth call of the disks fails: the caller gets the right error, no record counts that is not
// durable, and work without space is done when it is requested again.
#include "crashlab/disk/model_disk.hpp"
#include "journal/core.hpp"
#include "journal/replay.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>

namespace hf::test {
namespace {

using journal::page;
using lab::bytes;

/// A journal and its base in a fixed state.
struct world {
    explicit world(lab::disk_faults& faults) {
        base.now().resize(1024 * line_size);
        auto started = journal::core::start(disk, base, {{7}, 3}, 0, {page, 4});
        EXPECT_TRUE(started);
        core = std::move(*started);
        EXPECT_TRUE(commit(100));  // two chunks
        EXPECT_TRUE(commit(3));
        EXPECT_TRUE(commit(7));
        disk.faults = base.faults = &faults;
    }
    result<void> commit(u64 lines) {
        std::vector<u64> numbers(lines);
        std::iota(numbers.begin(), numbers.end(), u64{0});
        const bytes data(lines * line_size, static_cast<std::byte>(epoch + 1));
        auto done = core->commit({epoch + 1, numbers, data.data()});
        if (done) ++epoch;
        return done;
    }

    lab::model_disk disk;
    lab::model_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

template <class T>
result<void> without_value(const tl::expected<T, error>& r) {
    if (!r) return tl::unexpected(r.error());
    return {};
}

struct operation {
    const char* name;
    std::function<result<void>(world&)> run;
};

const operation operations[] = {
    {"start",
     [](world& w) {
         return without_value(journal::core::start(w.disk, w.base, {{7}, 4}, 3, {page, 20}));
     }},
    {"commit into what is there", [](world& w) { return w.commit(2); }},
    {"commit of what needs space, of a longer base",
     [](world& w) {
         w.core->base_has_grown();
         return w.commit(400);
     }},
    {"apply full segments", [](world& w) { return without_value(w.core->apply_some(1)); }},
    {"apply all", [](world& w) { return without_value(w.core->apply_some(9, true)); }},
    {"scan", [](world& w) { return without_value(journal::scan(w.disk)); }},
    {"scan what grows", [](world& w) { return without_value(journal::scan_live(w.disk)); }},
    {"replay",
     [](world& w) {
         const auto found = journal::scan(w.disk);
         return found ? journal::replay(w.disk, *found, w.base) : without_value(found);
     }},
};

}  // namespace

class journal_faults : public ::testing::TestWithParam<errc> {};

TEST_P(journal_faults, are_told_at_every_call) {
    for (const operation& o : operations) {
        u64 told = 0;
        for (u64 n = 0;; ++n) {
            SCOPED_TRACE(std::string(o.name) + ", call " + std::to_string(n));
            lab::disk_faults faults{GetParam(), n};
            world w(faults);
            const u64 records = w.core->records();
            const u64 applied = w.core->applied_epoch();
            const u64 used = w.core->used();
            const auto done = o.run(w);
            if (!faults.have_begun()) {
                EXPECT_TRUE(done) << done.error().to_string();
                break;
            }
            // Without space, the zeros after a record are optional.
            if (done && GetParam() == errc::no_space) {
                EXPECT_EQ(w.core->records(), records + 1) << "nobody was told";
                EXPECT_EQ(journal::scan(w.disk)->last_epoch, w.epoch);
                continue;
            }
            ASSERT_FALSE(done) << "nobody was told";
            ++told;
            EXPECT_EQ(done.error().code, GetParam());
            EXPECT_EQ(w.core->records(), records);
            EXPECT_EQ(w.core->applied_epoch(), applied);
            EXPECT_GE(w.core->used(), used) << "segments were given up";
            if (GetParam() != errc::no_space) continue;
            const auto again = o.run(w);
            ASSERT_TRUE(again) << again.error().to_string();
        }
        const bool only_reads = std::string_view(o.name).starts_with("scan");
        EXPECT_EQ(told == 0, only_reads && GetParam() == errc::no_space) << o.name;
    }
}

INSTANTIATE_TEST_SUITE_P(codes, journal_faults, ::testing::Values(errc::io, errc::no_space));

namespace {

/// Calls a hook during a disk call.
class hooked_disk final : public journal::block_file {
   public:
    using block_file::write;
    result<void> write(u64 offset, std::span<const std::span<const std::byte>> pieces) override {
        return under.write(offset, pieces);
    }
    result<void> read(u64 offset, std::span<std::byte> into) override {
        return under.read(offset, into);
    }
    result<void> sync() override {
        if (at_sync) at_sync();
        return under.sync();
    }
    result<void> extend(u64 length) override {
        if (at_extend) at_extend();
        return under.extend(length);
    }
    result<u64> size() override { return under.size(); }
    [[nodiscard]] std::string name() const override { return under.name(); }

    lab::model_disk under;
    std::function<void()> at_sync;
    std::function<void()> at_extend;
};

class two_threads_of_a_journal : public ::testing::Test {
   protected:
    two_threads_of_a_journal() {
        base.now().resize(1024 * line_size);
        core = std::move(*journal::core::start(disk, base, {{7}, 3}, 0, {2 * page, 4}));
    }
    result<void> commit(u64 lines) {
        std::vector<u64> numbers(lines);
        std::iota(numbers.begin(), numbers.end(), u64{0});
        const bytes data(lines * line_size, static_cast<std::byte>(epoch + 1));
        return core->commit({++epoch, numbers, data.data()});
    }

    hooked_disk disk;
    lab::model_disk base;
    std::unique_ptr<journal::core> core;
    u64 epoch = 0;
};

}  // namespace

// The other thread has sealed the segment that this one meant to fill.
TEST_F(two_threads_of_a_journal, make_room_once_more_where_it_was_taken_meanwhile) {
    ASSERT_TRUE(commit(1));
    int sealed = 0;
    disk.at_extend = [&] {
        if (sealed++ == 0) {
            EXPECT_EQ(core->apply_some(0, true).value(), 0U);
        }
    };
    ASSERT_TRUE(commit(62 + 3 * 126));  // the rest of a segment, and all others
    EXPECT_EQ(sealed, 2);
    EXPECT_EQ(journal::scan(disk)->last_epoch, 2U);
}

TEST_F(two_threads_of_a_journal, leave_a_segment_open_whose_newest_record_is_under_way) {
    bool asked = false;
    disk.at_sync = [&] {
        if (asked || core->used() == 0) return;
        asked = true;
        EXPECT_EQ(core->apply_some(9, true).value(), 0U) << "it is not durable";
    };
    ASSERT_TRUE(commit(1));
    ASSERT_TRUE(asked);
    EXPECT_EQ(core->applied_epoch(), 0U);
    ASSERT_TRUE(commit(1));
    EXPECT_EQ(core->used(), 1U) << "there was room in the segment";
}

// J2: only durable records, in full segments, too.
TEST_F(two_threads_of_a_journal, apply_no_record_that_is_under_way) {
    ASSERT_TRUE(commit(1));
    bool asked = false;
    disk.at_sync = [&] {
        if (asked || core->used() < 3) return;
        asked = true;
        EXPECT_EQ(core->apply_some(9, true).value(), 0U);
        for (const std::byte b : base.now()) ASSERT_NE(b, std::byte{2}) << "not durable";
    };
    ASSERT_TRUE(commit(62 + 2 * 126));
    ASSERT_TRUE(asked);
    EXPECT_EQ(core->apply_some(9).value(), 2U) << "now it is";
    EXPECT_EQ(core->apply_some(9).value(), 0U) << "the newest is being filled";
    EXPECT_EQ(core->apply_some(9, true).value(), 1U);
    EXPECT_EQ(core->applied_epoch(), 2U);
    EXPECT_EQ(core->used(), 0U);
}

TEST_F(two_threads_of_a_journal, sync_a_longer_base_once) {
    u64 syncs = core->syncs();
    ASSERT_TRUE(commit(1));
    EXPECT_EQ(core->syncs() - syncs, 1U);
    core->base_has_grown();
    syncs = core->syncs();
    ASSERT_TRUE(commit(1));
    EXPECT_EQ(core->syncs() - syncs, 2U);
    syncs = core->syncs();
    ASSERT_TRUE(commit(1));
    EXPECT_EQ(core->syncs() - syncs, 1U);
}

}  // namespace hf::test
