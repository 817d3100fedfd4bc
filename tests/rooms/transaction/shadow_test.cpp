// The shadow engine: what it writes, where it writes it, and what it makes of damage.
#include "persist/counters.hpp"
#include "region_of_words.hpp"
#include "support/full_disk.hpp"
#include "transaction/shadow_recovery.hpp"
#include "transaction/shadow_slots.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr u64 lines_of_words = region_of_words::words / 8;

class shadow_engine : public on_tmpfs {
   protected:
    [[nodiscard]] static region_of_words::how shadow() {
        region_of_words::how h;
        h.engine = engine_kind::shadow;
        return h;
    }
    [[nodiscard]] std::unique_ptr<region_of_words> open() {
        return std::make_unique<region_of_words>(file, shadow());
    }
    /// Stores to the first `words` of each of those lines.
    static void store(region_of_words& r, u64 first, u64 lines, u64 words, u64 value) {
        must(r.all().atomic([&](transaction& t) {
            for (u64 l = first; l < first + lines; ++l) {
                for (u64 w = 0; w < words; ++w) t.store(r.word(8 * l + w), value);
            }
        }));
    }
    template <class F>
    static u64 lines_written(F&& f) {
        const persist_counters before = thread_persist_counters();
        f();
        const persist_counters after = thread_persist_counters();
        return (after.flushed_bytes - before.flushed_bytes + after.streamed_bytes -
                before.streamed_bytes) /
               line_size;
    }
    /// No record of a later epoch names the lines that have committed so far.
    static void end_epoch(region_of_words& r) {
        epoch_manager& epochs = r.up->epochs();
        const u64 now = epochs.current_epoch();
        epochs.end_epoch(now);
        must(epochs.wait_durable(now));
    }
    /// The first word's line is the first of a line: blocks of 8 KiB are.
    static u64 line_of(const region_of_words& r, u64 i) { return r.offset / line_size + i; }
    struct used {
        u64 page;
        u64 committed;
        u64 entry_at;
        u64 slot_at;
    };
    static u64 must_be_page(u64 name, u64 slot) {
        const auto page = shadow::page_of_name(name, slot);
        EXPECT_TRUE(page) << "an entry of the table names no page";
        return page.value_or(0);
    }
    static std::vector<used> used_slots(const region& f) {
        std::vector<used> found;
        for (const segment& s : f.segments()) {
            if (s.kind != segment_kind::slots) continue;
            const slot_segment lies(s);
            for (u64 i = 0; i < lies.slots(); ++i) {
                const auto* e = f.at<slot_entry>(lies.entry_at(i));
                const u64 name = e->name.load();
                if (name == 0) continue;
                found.push_back({must_be_page(name, e->slot.load()), e->committed.load(),
                                 lies.entry_at(i), lies.slot_at(i)});
            }
        }
        return found;
    }
    static bool is_in_slot(const region_of_words& r, u64 line) {
        const u64 number = line_of(r, line);
        const auto all = used_slots(r.up->file());
        return std::ranges::any_of(all, [&](const used& u) {
            return u.page == number / 64 && (u.committed >> number % 64 & 1) != 0;
        });
    }
    /// Opens a file that a crash has left, after `change` to its bytes.
    result<void> open_changed(const std::function<void(region&)>& change) {
        {
            region_options o;
            o.kind = discipline::transaction;
            change(*must_open(file, o));
        }
        opening_options o;
        o.file.kind = discipline::transaction;
        transactional_region up(must(open_region(file, o)));
        transaction_opening steps(up, {});
        return steps.run();
    }
};

TEST_F(shadow_engine, commits_of_a_line_go_to_its_slots_by_turns) {
    const auto r = open();
    const bool first = is_in_slot(*r, 3);
    for (int i = 0; i < 4; ++i) {
        store(*r, 3, 1, 8, 7);
        EXPECT_EQ(is_in_slot(*r, 3), i % 2 == (first ? 1 : 0));
    }
}

TEST_F(shadow_engine, a_commit_writes_each_line_once_and_a_record_of_one_line) {
    const auto r = open();
    const u64 first = 64 - line_of(*r, 0) % 64;  // of a page
    for (u64 lines : {u64{1}, u64{16}, u64{60}}) {
        for (int turn = 0; turn < 2; ++turn) {  // one slot, then the other
            EXPECT_EQ(lines_written([&] { store(*r, first, lines, 8, 5); }), lines + 1);
        }
        for (int turn = 0; turn < 2; ++turn) {
            const u64 start = first + 64 - lines;
            EXPECT_LE(lines_written([&] { store(*r, start, lines + 1, 8, 5); }), lines + 3)
                << "two pages";
        }
    }
    // To both slots: the record has three words of the page, and a second line.
    store(*r, first, 1, 8, 6);
    EXPECT_EQ(lines_written([&] { store(*r, first, 2, 8, 7); }), 4U);
}

TEST_F(shadow_engine, a_fence_precedes_the_record_only_where_lines_at_home_are_written_in_part) {
    const auto r = open();
    const auto fences = [&](u64 line, u64 words) {
        const u64 before = thread_persist_counters().fences;
        store(*r, line, 1, words, 9);
        return thread_persist_counters().fences - before;
    };
    store(*r, 20, 1, 8, 1);
    const bool in_slot = is_in_slot(*r, 20);
    if (!in_slot) store(*r, 20, 1, 8, 1);
    ASSERT_TRUE(is_in_slot(*r, 20));
    EXPECT_EQ(fences(20, 8), 1U) << "all of the line, at home";
    EXPECT_EQ(fences(20, 1), 1U) << "to the second slot";
    EXPECT_EQ(fences(20, 1), 2U) << "a part of the line, at home";
}

TEST_F(shadow_engine, a_transaction_of_more_lines_than_are_checked_has_two_fences) {
    const auto r = open();
    const u64 before = thread_persist_counters().fences;
    store(*r, 0, 65, 1, 9);
    EXPECT_EQ(thread_persist_counters().fences - before, 2U);
}

TEST_F(shadow_engine, what_committed_is_there_after_a_crash_whichever_slot_has_it) {
    for (u64 commits = 1; commits <= 5; ++commits) {
        std::filesystem::remove(file);
        auto r = open();
        for (u64 c = 1; c <= commits; ++c) {
            store(*r, 0, lines_of_words, 3, c);
            store(*r, 7, 1, 8, 100 + c);
        }
        crash(r);
        r = open();
        EXPECT_EQ(r->up->recovered().records, 2 * commits + 1);
        EXPECT_EQ(r->now(8 * 100), commits);
        EXPECT_EQ(r->now(8 * 7 + 4), 100 + commits);
        EXPECT_TRUE(used_slots(r->up->file()).empty()) << "a session begins with homes alone";
    }
}

TEST_F(shadow_engine, an_orderly_end_leaves_all_lines_at_home) {
    auto r = open();
    store(*r, 0, lines_of_words, 8, 3);
    EXPECT_FALSE(used_slots(r->up->file()).empty());
    must(r->up->close());
    r.reset();
    r = open();
    EXPECT_TRUE(used_slots(r->up->file()).empty());
    EXPECT_EQ(r->now(8 * 99 + 1), 3U);
}

// The state of a power cut between the record's line and the data's.
TEST_F(shadow_engine, the_last_record_does_not_count_where_its_line_is_not_there) {
    u64 slot_at = 0;
    for (const bool another_follows : {false, true}) {
        std::filesystem::remove(file);
        auto r = open();
        store(*r, 5, 1, 8, 1);
        if (is_in_slot(*r, 5)) store(*r, 5, 1, 8, 1);
        store(*r, 5, 1, 8, 2);
        ASSERT_TRUE(is_in_slot(*r, 5));
        if (another_follows) store(*r, 90, 1, 8, 2);
        const u64 number = line_of(*r, 5);
        for (const used& u : used_slots(r->up->file())) {
            if (u.page == number / 64) slot_at = u.slot_at + number % 64 * line_size;
        }
        r->up->file().at<u64>(slot_at)[6] = 77;
        for (u64 w = 40; w < 48; ++w) *r->word(w) = 1;  // nor had the caches given the home away
        crash(r);
        r = open();
        EXPECT_EQ(r->now(8 * 5), another_follows ? 2U : 1U);
        EXPECT_EQ(r->now(8 * 5 + 6), another_follows ? 77U : 1U);
    }
}

class small_shadow_engine : public shadow_engine {
   protected:
    static constexpr u64 block = 4096;
    small_shadow_engine() {
        region_of_words::how h = shadow();
        h.initial_size = u64{1} << 20;
        h.max_size = u64{6} << 20;
        r = std::make_unique<region_of_words>(file, h);
        for (u64 i = 0; i < region_of_words::words; ++i) {
            const auto made = r->all().atomic([&](transaction& t) {
                std::byte* p = t.allocate(block);
                for (u64 b = 0; b < block; b += line_size)
                    t.store(reinterpret_cast<u64*>(p + b), i);
                t.store(r->word(blocks), static_cast<u64>(p - t.base()));
            });
            if (!made) break;
            ++blocks;
        }
    }
    [[nodiscard]] u64* of_block(u64 i) const { return r->up->file().at<u64>(r->now(i)); }
    result<void> store_to(u64 first, u64 count, u64 value) const {
        return r->all().atomic([&](transaction& t) {
            for (u64 i = first; i < first + count; ++i) t.store(of_block(i), value);
        });
    }

    std::unique_ptr<region_of_words> r;
    u64 blocks = 0;
};

TEST_F(small_shadow_engine, consolidates_where_no_slot_is_free_and_loses_nothing) {
    const engine_numbers before = r->up->engine_numbers_now();
    ASSERT_GT(blocks, before.slots);
    for (u64 round = 1; round <= 3; ++round) {
        for (u64 i = 0; i < blocks; ++i) must(store_to(i, 1, 1'000 * round + i));
    }
    const engine_numbers now = r->up->engine_numbers_now();
    EXPECT_GT(now.consolidated_pages, 0U);
    EXPECT_GT(now.consolidated_lines, now.slots);
    EXPECT_LE(now.slots * shadow::page_size, r->up->file().size() / 2) << "bounded";
    crash(r);
    r = std::make_unique<region_of_words>(file, shadow());
    for (u64 i = 0; i < blocks; ++i) ASSERT_EQ(*of_block(i), 3'000 + i);
}

// The heap takes its room before the slots do: a block that is fresh needs none.
TEST_F(shadow_engine, a_full_heap_has_second_slots_for_transactions_of_many_pages) {
    region_of_words::how h = shadow();
    h.initial_size = u64{1} << 20;
    h.max_size = u64{8} << 20;
    static constexpr u64 block = 60'000;
    static constexpr u64 pages = 64;
    std::vector<u64> blocks;
    {
        const region_of_words r(file, h);
        const auto take = [&] {
            u64 offset = 0;
            auto done = r.all().atomic(
                [&](transaction& t) { offset = static_cast<u64>(t.allocate(block) - t.base()); });
            if (done) blocks.push_back(offset);
            return done;
        };
        result<void> taken = take();
        while (taken) taken = take();
        ASSERT_EQ(taken.error().code, errc::no_space);
        ASSERT_GT(blocks.size(), 70U) << "most of it is heap";
        const auto word = [&](u64 i) {
            return r.up->file().at<u64>(blocks[i / 8] + i % 8 * shadow::page_size);
        };
        for (u64 round = 1; round <= 20; ++round) {
            must(r.all().atomic([&](transaction& t) {
                for (u64 i = 0; i < pages; ++i) t.store(word(round * 16 + i), round);
            }));
        }
        must(r.all().atomic([&](transaction& t) {
            t.release(t.base() + blocks[0], block);
            t.store(r.word(0), blocks.size());
        }));
        EXPECT_GE(r.up->engine_numbers_now().slots, pages);
    }
    const region_of_words again(file, h);
    EXPECT_EQ(*again.up->file().at<u64>(blocks[40]), 20U);
}

TEST_F(small_shadow_engine, refuses_a_transaction_of_more_pages_than_slots_and_goes_on) {
    for (u64 i = 0; i < blocks; ++i) must(store_to(i, 1, i));
    ASSERT_GT(blocks, r->up->engine_numbers_now().slots);
    const auto too_large = store_to(0, blocks, 9'999);
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().code, errc::no_space);
    EXPECT_NE(too_large.error().to_string().find("second slot"), std::string::npos);
    for (u64 i = 0; i < blocks; ++i) ASSERT_EQ(*of_block(i), i);
    must(store_to(3, 8, 5));
    crash(r);
    r = std::make_unique<region_of_words>(file, shadow());
    EXPECT_EQ(*of_block(3), 5U);
    EXPECT_EQ(*of_block(blocks - 1), blocks - 1);
}

// The other transaction's slots come back when it ends, so what fits beside nothing fits later.
TEST_F(small_shadow_engine, refuses_what_is_too_large_while_another_thread_commits) {
    const u64 slots = r->up->engine_numbers_now().slots;
    ASSERT_GT(blocks, slots + 8);
    std::atomic<bool> ends{false};
    std::thread other([&] {
        for (u64 i = 0; !ends; ++i) must(store_to(i % 8, 1, 1'000 + i % 8));
    });
    const auto too_large = store_to(8, blocks - 8, 9'999);
    const bool fits = store_to(8, slots / 2, 7).has_value();
    ends = true;
    other.join();
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().code, errc::no_space);
    ASSERT_TRUE(fits) << "half of the slots";
    for (u64 i = 8; i < blocks; ++i) ASSERT_EQ(*of_block(i), i < 8 + slots / 2 ? 7 : i);
    crash(r);
    r = std::make_unique<region_of_words>(file, shadow());
    for (u64 i = 8; i < blocks; ++i) ASSERT_EQ(*of_block(i), i < 8 + slots / 2 ? 7 : i);
}

TEST_F(shadow_engine, a_table_that_is_damaged_is_refused_and_nothing_is_changed) {
    struct damage {
        const char* what;
        void (*change)(slot_entry&);
    };
    const damage all[] = {
        {"the page", [](slot_entry& e) { e.name.fetch_xor(4); }},
        {"nothing but ones", [](slot_entry& e) { e.name.store(~u64{0}); }},
        {"a page outside, with its check",
         [](slot_entry& e) { e.name.store(shadow::entry_name(1U << 27, e.slot.load())); }},
        {"a page of the header, with its check",
         [](slot_entry& e) { e.name.store(shadow::entry_name(3, e.slot.load())); }},
        {"the slot", [](slot_entry& e) { e.slot.fetch_xor(1); }},
        {"a bit of a line that no record names", [](slot_entry& e) { e.committed.fetch_xor(2); }},
    };
    for (const damage& d : all) {
        std::filesystem::remove(file);
        auto r = open();
        end_epoch(*r);
        for (int turn = 0; turn < 2; ++turn) store(*r, 0, 1, 8, 1);
        const u64 entry = used_slots(r->up->file()).at(0).entry_at;
        crash(r);
        const auto done = open_changed([&](region& f) { d.change(*f.at<slot_entry>(entry)); });
        ASSERT_FALSE(done) << d.what;
        EXPECT_EQ(done.error().code, errc::corrupt) << d.what;
        EXPECT_NE(done.error().to_string().find("second slots"), std::string::npos);
    }
}

// A private copy of the file for each bit: nothing is written.
TEST_F(shadow_engine, each_flipped_bit_of_an_entry_is_refused_or_written_by_the_replay) {
    auto r = open();
    store(*r, 0, 8, 8, 1);
    end_epoch(*r);
    store(*r, 2, 3, 8, 2);
    const u64 page = line_of(*r, 2) / 64;
    const auto all = used_slots(r->up->file());
    const auto its = std::ranges::find(all, page, &used::page);
    ASSERT_NE(its, all.end());
    const u64 words_at = r->offset;
    shadow::line_set named = 0;
    for (u64 l = 2; l < 5; ++l) named |= shadow::only(line_of(*r, l) % 64);
    crash(r);
    for (unsigned bit = 0; bit < 8 * sizeof(slot_entry); ++bit) {
        opening_options o;
        o.file.mode = open_mode::inspect;
        opened_region look = must(open_region(file, o));
        const u64 epoch = must(epoch_manager::open(look, {}))->interrupted_epoch().value();
        look.file->at<u64>(its->entry_at)[bit / 64] ^= u64{1} << bit % 64;
        const bool is_of_a_line = bit / 64 % 2 == 1;  // of the copy, or the committed bits
        const bool is_harmless = is_of_a_line && (named >> bit % 64 & 1) != 0;
        const auto done = recover_shadow(*look.file, epoch);
        ASSERT_EQ(done.has_value(), is_harmless) << "bit " << bit;
        if (!done) {
            EXPECT_EQ(done.error().code, errc::corrupt);
            EXPECT_NE(done.error().to_string().find("second slots"), std::string::npos);
            continue;
        }
        for (u64 w = 0; w < 64; ++w) {
            const u64 expected = w / 8 >= 2 && w / 8 < 5 ? 2 : 1;
            ASSERT_EQ(look.file->at<u64>(words_at)[w], expected) << "bit " << bit;
        }
    }
}

TEST_F(shadow_engine, two_second_slots_of_one_page_are_refused) {
    auto r = open();
    store(*r, 0, 3, 8, 1);
    const used first = used_slots(r->up->file()).at(0);
    crash(r);
    const auto done = open_changed([&](region& f) {
        for (const segment& s : f.segments()) {
            if (s.kind != segment_kind::slots) continue;
            const slot_segment lies(s);
            for (u64 i = 0; i < lies.slots(); ++i) {
                auto* const e = f.at<slot_entry>(lies.entry_at(i));
                if (e->name.load() != 0) continue;
                const u64 number = lies.slot_at(i) / shadow::page_size;
                e->slot.store(number);
                e->committed.store(1);
                e->copy.store(~u64{1});
                e->name.store(shadow::entry_name(first.page, number));
                return;
            }
        }
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::corrupt);
}

// The second attempt aborts, so no commit gives back what the first one took.
TEST_F(shadow_engine, an_attempt_that_waits_for_room_in_its_log_gives_its_slots_back) {
    region_of_words::how h = shadow();
    h.initial_size = u64{16} << 20;
    h.max_size = u64{256} << 20;
    const auto r = std::make_unique<region_of_words>(file, h);
    static constexpr u64 block = 60'000;
    static constexpr u64 pages_of_block = 14;
    std::vector<std::byte*> blocks(100);
    must(r->all().atomic([&](transaction& t) {
        for (std::byte*& b : blocks) b = t.allocate(block);
    }));
    const auto word = [&](u64 page) {
        std::byte* const b = blocks[page / pages_of_block];
        return reinterpret_cast<u64*>(b + page % pages_of_block * shadow::page_size);
    };
    // The record takes a word a page, and must find room for three.
    const u64 many = blocks.size() * pages_of_block - 20;
    unsigned attempts = 0;
    const auto store_to = [&](u64 more, unsigned allowed) {
        attempts = 0;
        return r->all().atomic([&](transaction& t) {
            if (++attempts > allowed) transaction::abort();
            for (u64 page = 0; page < many; ++page) t.store(word(page), more);
            t.store(word(many + more), more);
        });
    };
    must(store_to(0, 100));
    const full_disk full;
    u64 more = 1;
    while (more < 20 && store_to(more, 1)) ++more;
    ASSERT_EQ(attempts, 2U) << "the log was never full";
    const engine_numbers now = r->up->engine_numbers_now();
    EXPECT_EQ(now.free_slots + used_slots(r->up->file()).size(), now.slots);
    must(store_to(more, 100));
}

TEST_F(shadow_engine, a_region_without_room_for_second_slots_is_refused_when_it_is_made) {
    region_of_words::how h = shadow();
    static constexpr layout::room_format rooms[] = {epoch_format, alloc_format, transaction_format};
    opening_options o;
    o.file.kind = discipline::transaction;
    o.file.initial_size = 3 * layout::page_size;
    o.file.max_size = 4 * layout::page_size;
    o.rooms = rooms;
    transactional_region up(must(open_region(file, o)));
    transaction_options t;
    t.epoch = no_clock;
    t.engine = h.engine;
    const auto done = transaction_opening(up, t).run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
}

}  // namespace
}  // namespace hf::test
