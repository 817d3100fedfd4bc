// `holdfast check`, `inspect`, `repair` and `copy` of a heap whose lines have two slots, as a
// killed process leaves it; and damaged in each part.
#include <holdfast/heap.hpp>

#include "recovery/opening.hpp"
#include "tools/program.hpp"
#include "tools/region_files.hpp"
#include "transaction/shadow_slots.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace hf::test {
namespace {

constexpr int pages = 300;
constexpr int turns = 3;

struct leaf {
    static constexpr std::string_view nv_name = "leaf";
    nv::p<int> value;
    nv::ptr<leaf> next;
    nv::array<nv::p<int>, 20> more;
};

class heap_with_two_slots : public ::testing::Test {
   protected:
    scratch dir;
    const std::string file = dir / "leaves.hf";

    [[nodiscard]] nv::heap<> open() const {
        nv::heap_options o;
        o.region.initial_size = std::uint64_t{2} << 20;
        o.region.max_size = std::uint64_t{64} << 20;
        o.region.medium = medium_kind::shm;
        o.region.flush = flush_policy::always;
        o.engine = nv::engine::shadow;
        o.epoch = std::chrono::microseconds(0);
        return nv::heap<>::open(file, o).value();
    }
    static void make_leaves(nv::heap<>& heap) {
        auto first = heap.root<leaf>("first").value();
        for (int i = 0; i < pages; i += 50) {
            heap.atomic([&](nv::tx<>& tx) {
                    for (int k = i; k < i + 50; ++k) {
                        auto l = tx.make<leaf>(k);
                        l->next.set(tx, first.get());
                        first.set(tx, l);
                    }
                })
                .value();
        }
    }
    /// Adds one to each leaf's value, in place.
    static void change_leaves(nv::heap<>& heap) {
        auto first = heap.root<leaf>("first").value();
        heap.atomic([&](nv::tx<>& tx) {
                for (auto l = first.get(); l; l = l->next) l->value.set(tx, l->value + 1);
            })
            .value();
    }
    void SetUp() override {
        const pid_t child = ::fork();
        if (child == 0) {
            auto heap = open();
            make_leaves(heap);
            for (int turn = 0; turn < turns; ++turn) change_leaves(heap);
            ::kill(::getpid(), SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    /// Places in the file: the first used entry of the table, and the latest commit record.
    struct places {
        u64 entry = 0;
        u64 record = 0;
    };
    [[nodiscard]] places find() const {
        opening_options o;
        o.file.mode = open_mode::inspect;
        const opened_region r = open_region(file, o).value();
        places found;
        for (const segment& s : r.file->segments()) {
            if (s.kind == segment_kind::log && found.record == 0) found.record = s.offset;
            if (s.kind != segment_kind::slots) continue;
            const slot_segment lies(s);
            for (u64 i = 0; i < lies.slots() && found.entry == 0; ++i) {
                const auto* e = r.file->at<slot_entry>(lies.entry_at(i));
                if (e->name.load() != 0 && e->committed.load() != 0) found.entry = lies.entry_at(i);
            }
        }
        return found;
    }
    void expect_refused(const std::string& why) const {
        const std::string before = read_file(file);
        const std::string copy = dir / "refused.hf";
        for (const std::vector<std::string>& command :
             {std::vector<std::string>{"check", file},
              {"inspect", file},
              {"copy", file, copy},
              {"repair", file, "--apply", "--backup", dir / "backup"}}) {
            const outcome o = holdfast(command);
            EXPECT_EQ(o.code, 6) << command[0] << ": " << o.out << o.err;
            expect_one_clear_error(o);
            EXPECT_NE(o.err.find(why), std::string::npos) << command[0] << ": " << o.err;
        }
        EXPECT_FALSE(std::filesystem::exists(copy));
        EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    }
    void expect_values() const {
        auto heap = open();
        auto first = heap.root<leaf>("first").value();
        heap.read([&](nv::tx<>&) {
                int expected = pages - 1 + turns;
                for (auto l = first.get(); l; l = l->next) EXPECT_EQ(l->value, expected--);
                EXPECT_EQ(expected, turns - 1);
            })
            .value();
        heap.close().value();
    }
};

TEST_F(heap_with_two_slots, is_checked_inspected_and_copied_after_a_kill) {
    ASSERT_NE(find().entry, 0U) << "lines are in second slots";
    const std::string before = read_file(file);
    const outcome checked = holdfast({"check", file});
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    const auto first = holdfast({"inspect", file, "--object", "first", "--json"}).json();
    EXPECT_EQ(first["members"][0]["value"], pages - 1 + turns);
    const std::string copy = dir / "copy.hf";
    EXPECT_EQ(holdfast({"copy", file, copy}).code, 0);
    EXPECT_TRUE(read_file(file) == before) << "the file has changed";
    EXPECT_EQ(holdfast({"check", copy}).code, 0);
    EXPECT_EQ(holdfast({"inspect", copy, "--object", "first", "--json"}).json()["members"],
              first["members"]);
    expect_values();
    EXPECT_EQ(holdfast({"check", file}).code, 0);
}

TEST_F(heap_with_two_slots, has_its_space_told_by_info_and_by_numbers) {
    const auto told = holdfast({"info", file, "--json"}).json();
    const auto slots = told["second_slots"];
    u64 bytes = 0;
    for (const auto& s : told["segments"]) {
        if (s["kind"] == "slots") bytes += s["bytes"].get<u64>();
    }
    ASSERT_GT(bytes, 0U);
    EXPECT_EQ(slots["bytes"], bytes);
    EXPECT_EQ(slots["table_bytes"].get<u64>() + slots["slots"].get<u64>() * 4096, bytes);
    EXPECT_EQ(slots["table_bytes"].get<u64>() % layout::page_size, 0U);
    EXPECT_LE(slots["table_bytes"].get<u64>(), bytes / 8);
    const std::string text = holdfast({"info", file}).out;
    EXPECT_EQ(line_of(text, "second slots").find(slots["slots"].dump() + " of 4 KiB"), 0U) << text;
    EXPECT_NE(line_of(text, "kept for slots"), "") << text;

    auto heap = open();
    EXPECT_EQ(heap.numbers().slots, slots["slots"]);
    constexpr u64 kept = (u64{64} << 20) / 32;
    EXPECT_EQ(heap.numbers().kept_for_slots, kept - std::min(kept, bytes));
    heap.close().value();
}

TEST_F(heap_with_two_slots, is_mended_after_a_kill) {
    const u64 header =
        holdfast({"inspect", file, "--object", "first", "--json"}).json()["offset"].get<u64>() - 16;
    {
        auto heap = open();
    }  // all lines go home: a count is damaged where it counts
    flip(file, header, 2);
    EXPECT_EQ(holdfast({"check", file}).code, 1);
    const outcome o = holdfast({"repair", file, "--apply", "--backup", dir / "backup"});
    EXPECT_EQ(o.code, 0) << o.out << o.err;
    EXPECT_EQ(holdfast({"check", file}).code, 0);
    expect_values();
}

TEST_F(heap_with_two_slots, is_refused_by_each_command_where_its_table_is_damaged) {
    const places at = find();
    ASSERT_NE(at.entry, 0U);
    flip(file, at.entry, 3);  // the page's number
    expect_refused("second slots");
    flip(file, at.entry, 3);
    flip(file, at.entry + 16);  // the slot's
    expect_refused("second slots");
    flip(file, at.entry + 16);
    expect_values();
}

TEST_F(heap_with_two_slots, is_refused_by_each_command_where_its_journal_is_damaged) {
    const places at = find();
    ASSERT_NE(at.record, 0U);
    flip(file, at.record + 48);  // in the first of several records
    expect_refused("damaged");
    flip(file, at.record + 48);
    expect_values();
}

}  // namespace
}  // namespace hf::test
