// Recovery of the shadow engine that is cut short, and done again: the last record of a log, which
// counts only with its lines (SR4, SR5 of shadow_recovery.hpp).
#include "persist/counters.hpp"
#include "persist/persist_point.hpp"
#include "region_of_words.hpp"
#include "support/sync_points.hpp"
#include "transaction/shadow_slots.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace hf::test {
namespace {

const char* point_of_cut = nullptr;

void cut_at_point(const char* name) {
    if (std::strncmp(name, point_of_cut, std::strlen(point_of_cut)) == 0) _exit(0);
}

class shadow_recovery_cut_short : public on_tmpfs,
                                  public ::testing::WithParamInterface<const char*> {
   protected:
    // Lines of the words. The record turns one to its home, the other to its second slot.
    static constexpr u64 to_home = 5;
    static constexpr u64 to_slot = 90;

    void SetUp() override {
        if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    }
    [[nodiscard]] std::unique_ptr<region_of_words> open() {
        region_of_words::how h;
        h.engine = engine_kind::shadow;
        return std::make_unique<region_of_words>(file, h);
    }
    /// The place of a line in its page's second slot, if that has the committed version.
    static u64* in_slot(const region_of_words& r, u64 line) {
        const region& f = r.up->file();
        const u64 number = r.offset / line_size + line;
        for (const segment& s : f.segments()) {
            if (s.kind != segment_kind::slots) continue;
            const slot_segment lies(s);
            for (u64 i = 0; i < lies.slots(); ++i) {
                const auto* e = f.at<slot_entry>(lies.entry_at(i));
                if (shadow::page_of_name(e->name.load(), e->slot.load()) != number / 64) continue;
                if ((e->committed.load() >> number % 64 & 1) == 0) return nullptr;
                return f.at<u64>(lies.slot_at(i) + number % 64 * line_size);
            }
        }
        return nullptr;
    }
    static void fill(transaction& t, const region_of_words& r, u64 line, u64 value) {
        for (u64 w = 0; w < 8; ++w) t.store(r.word(8 * line + w), value);
    }
    /// A commit of both lines, 1 before, and of a block that the second line names.
    void commit(u64 home_value, u64 slot_value) {
        r = open();
        const auto turn = [&](u64 line, bool wanted) {
            do must(r->all().atomic([&](transaction& t) { fill(t, *r, line, 1); }));
            while ((in_slot(*r, line) != nullptr) != wanted);
        };
        turn(to_home, true);
        turn(to_slot, false);
        turn(to_home + 1, true);  // its page keeps a slot with a committed line
        const u64 fences = thread_persist_counters().fences;
        must(r->all().atomic([&](transaction& t) {
            std::byte* const block = t.allocate(48);
            fill(t, *r, to_home, home_value);
            fill(t, *r, to_slot, slot_value);
            t.store(r->word(8 * to_slot + 7), static_cast<u64>(block - t.base()));
        }));
        ASSERT_EQ(thread_persist_counters().fences - fences, 1U) << "the record checks its lines";
        ASSERT_EQ(in_slot(*r, to_home), nullptr);
        ASSERT_NE(in_slot(*r, to_slot), nullptr);
        // Nor have the caches given away what was stored at home after the record.
        std::fill_n(r->word(8 * to_slot), 8, 1);
    }
    /// Opens the file, in a process of its own that ends at the point.
    void open_and_cut() {
        ASSERT_EQ(in_child([&] {
                      point_of_cut = GetParam();
                      set_persist_point_hook(cut_at_point);
                      const auto again = open();
                      return 1;
                  }),
                  0);
    }
    void crash_and_open_often() {
        crash(r);
        for (int i = 0; i < 2; ++i) open_and_cut();
        r = open();
    }
    /// The last transaction is there as a whole, or nothing of it.
    void expect(bool is_there, u64 home_value, u64 slot_value) {
        for (const u64 w : {u64{0}, u64{6}}) {
            EXPECT_EQ(r->now(8 * to_home + w), is_there ? home_value : 1U);
            EXPECT_EQ(r->now(8 * to_slot + w), is_there ? slot_value : 1U);
        }
        must(r->all().atomic([&](transaction& t) {
            if (is_there) t.release(t.base() + r->now(8 * to_slot + 7), 48);  // dies if it is free
            for (int i = 0; i < 3; ++i) static_cast<void>(t.allocate(48));
        }));
    }

    std::unique_ptr<region_of_words> r;
};

TEST_P(shadow_recovery_cut_short, counts_again_a_record_that_counted) {
    commit(2, 3);
    crash_and_open_often();
    expect(true, 2, 3);
}

TEST_P(shadow_recovery_cut_short, refuses_again_a_record_without_a_line_in_its_slot) {
    commit(2, 3);
    in_slot(*r, to_slot)[4] = 77;
    crash_and_open_often();
    expect(false, 2, 3);
}

TEST_P(shadow_recovery_cut_short, refuses_again_a_record_without_a_line_at_home) {
    commit(2, 3);
    r->word(8 * to_home)[4] = 77;
    crash_and_open_often();
    expect(false, 2, 3);
}

// The line at home has the bytes that the record asks for, once recovery has copied the slot there.
TEST_P(shadow_recovery_cut_short, may_count_a_record_that_its_own_copies_have_made_whole) {
    commit(1, 3);
    std::fill_n(r->word(8 * to_home), 8, 0);  // as before the first commit of all
    crash_and_open_often();
    const bool copied = std::strcmp(GetParam(), "transaction SR1") != 0;
    expect(copied, 1, 3);
}

INSTANTIATE_TEST_SUITE_P(at, shadow_recovery_cut_short,
                         ::testing::Values("transaction SR1", "transaction SR2", "transaction SR3"),
                         [](const auto& i) { return std::string(i.param).substr(12); });

}  // namespace
}  // namespace hf::test
