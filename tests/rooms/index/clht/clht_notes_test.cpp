// The lines that operations record, mainly after a kill, when everything they read may be in the
// caches only.
#include "clht_fixture.hpp"
#include "index/common/index_notes.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

namespace hf::test {
namespace {

class clht_notes : public on_tmpfs {
   protected:
    ~clht_notes() override {
        telling_operation::may_allocate = nullptr;
        telling_operation::at_persist = nullptr;
    }
};
using noted_numbers = telling_numbers<small_clht>;
using noted_bytes = telling_bytes<small_clht>;

TEST_F(clht_notes, references_copied_to_another_bucket_are_shown_to_the_sweep) {
    noted_bytes t(file);
    expect_references_to_be_shown(t);
}

// A table of chunks may span many lines; all of them are dependencies.
TEST_F(clht_notes, opening_after_a_kill_records_directory_and_tables) {
    noted_numbers t(file);
    for (u64 k = 0; k < 5000; ++k) t.insert(k, k);
    telling_operation::all.forget();
    t.open_again(sweeping::by_hand);
    const u64 at = must(t.space->file().find_root(noted_numbers::tree::name))->value.load();
    const auto& root = *t.space->file().at<clht_detail::root_block>(at);
    EXPECT_EQ(telling_operation::all.missing(at, sizeof root), std::vector<u64>{});
    unsigned level = 1;
    for (; root.directory[level].load() != 0; ++level) {
        EXPECT_EQ(telling_operation::all.missing(root.directory[level].load(),
                                                 clht_detail::table_bytes(level)),
                  std::vector<u64>{})
            << "level " << level;
    }
    EXPECT_GT(clht_detail::table_bytes(level - 1), 2 * line_size);
}

using chained = clht<telling_discipline, keys_in_bunches, small_clht_shape>;

/// Keys in one chain of at least three buckets.
struct one_bunch : index_in_file<chained> {
    static constexpr u64 size = 11;

    explicit one_bunch(const std::filesystem::path& at) : index_in_file(at) {
        for (u64 n = 0; n < size; ++n) EXPECT_TRUE(insert(key(n), "v"));
    }
    [[nodiscard]] static std::string key(u64 n) {
        return std::string("k") + static_cast<char>('a' + n);
    }
};

// After a kill the key's line and the links of all buckets before it may be in the caches only. For
// a key that does not exist, the whole chain is a dependency.
TEST_F(clht_notes, read_after_a_kill_records_the_chain_up_to_the_key) {
    one_bunch t(file);
    t.open_again(sweeping::by_hand);
    ASSERT_TRUE(t.space->is_after_a_kill());
    const auto lines_noted_for = [&](const std::string& k, bool is_there) {
        telling_operation::all.forget();
        chained::operation op(*t.space);
        EXPECT_EQ(t.index->get(op, k, [](std::string_view) {}), is_there);
        return telling_operation::all.lines.size();
    };
    for (u64 n = 0; n < one_bunch::size; ++n)
        EXPECT_EQ(lines_noted_for(one_bunch::key(n), true), n / clht_detail::slots + 1) << n;
    EXPECT_EQ(lines_noted_for(one_bunch::key(one_bunch::size), false),
              (one_bunch::size - 1) / clht_detail::slots + 1);
}

// Next to a writer that holds the chain's lock, the lines that a read has loaded may be volatile.
// The test reads while the writer is stopped in its publication.
TEST_F(clht_notes, read_during_a_write_records_the_chain_up_to_the_key) {
    one_bunch t(file);
    std::size_t noted = 0;
    bool has_come = false;
    telling_operation::at_persist = [&] {
        if (std::exchange(has_come, true)) return;
        std::thread([&] {
            telling_operation::all.forget();
            chained::operation op(*t.space);
            EXPECT_TRUE(
                t.index->get(op, one_bunch::key(one_bunch::size - 1), [](std::string_view) {}));
            noted = telling_operation::all.lines.size();
        }).join();
    };
    EXPECT_TRUE(t.update(one_bunch::key(0), "w"));
    telling_operation::at_persist = nullptr;
    EXPECT_EQ(noted, (one_bunch::size - 1) / clht_detail::slots + 1);
}

/// All keys have one of two hashes, which belong to adjacent buckets.
struct keys_of_neighbours : byte_keys {
    [[nodiscard]] static u64 hash(std::string_view k) noexcept {
        return k.starts_with("even") ? 24 : 25;
    }
};

// The buddy of the first bucket in a group gets its chain, then there is no memory for the second
// one's. The blocks of both must be freed, and not be missed by the next attempt.
TEST_F(clht_notes, group_split_without_memory_frees_the_first_buckets_chain) {
    using tree = clht<telling_discipline, keys_of_neighbours, small_clht_shape>;
    using trees = index_in_memory<tree, telling_discipline::kind>;
    const auto key = [](u64 n) { return (n % 2 == 0 ? "even" : "odd") + std::to_string(n); };
    for (u64 before = 10; before < 30; before += 2) {
        for (unsigned gets = 0; gets < 12; ++gets) {
            SCOPED_TRACE(std::to_string(before) + " keys, and memory for " + std::to_string(gets));
            trees t(u64{4} << 20);
            trees::entries model;
            u64 n = 0;
            for (; n < before; ++n) {
                ASSERT_TRUE(t.insert(key(n), "v"));
                model.emplace_back(key(n), "v");
            }
            unsigned left = 1 + gets;
            telling_operation::may_allocate = [&left] { return left != 0 && --left != 0; };
            for (const u64 end = n + 8; n < end; ++n) {
                tree::operation op(*t.space);
                if (t.index->insert(op, key(n), "v")) model.emplace_back(key(n), "v");
            }
            telling_operation::may_allocate = nullptr;
            t.expect_sound();
            std::sort(model.begin(), model.end());
            ASSERT_EQ(t.all(), model);
        }
    }
}

}  // namespace
}  // namespace hf::test
