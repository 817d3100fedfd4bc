#include "alloc/size_class.hpp"
#include "clht_fixture.hpp"
#include "eager/operation.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"

#include <functional>
#include <ranges>
#include <vector>

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_store, ::testing::Types<clht_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_audits, ::testing::Types<clht_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_states, ::testing::Types<clht_family>);

/// Calls a hook before each publication.
struct told_operation : eager_operation<persist_batch> {
    using eager_operation::eager_operation;
    static inline std::function<void(const published& word, u64 value)> tell;
    void publish(published& word, u64 value) {
        if (tell) tell(word, value);
        eager_operation::publish(word, value);
    }
};
struct told_discipline : eager_discipline {
    using operation = told_operation;
};
using told_numbers =
    index_in_memory<small_clht<told_discipline, integer_keys>, told_discipline::kind>;

/// Simulates readers that have loaded a slot's state and key, and continue later with its value and
/// state.
class readers_of_slots {
   public:
    readers_of_slots() {
        told_operation::tell = [this](const published& word, u64 value) { see(word, value); };
    }
    ~readers_of_slots() { told_operation::tell = nullptr; }
    readers_of_slots(const readers_of_slots&) = delete;
    readers_of_slots& operator=(const readers_of_slots&) = delete;

    /// Continues all readers, and returns how many found another key's value. They must also find a
    /// changed state.
    unsigned go_on() {
        unsigned found = 0;
        std::erase_if(stopped_, [&](const reader& r) {
            if (r.of->value[r.slot].load() == r.value) return false;
            EXPECT_NE(r.of->state.load(), r.state) << "it would be taken for the old key's";
            ++found;
            return true;
        });
        return found;
    }

   private:
    struct reader {
        const clht_detail::bucket* of;
        unsigned slot;
        u64 state;
        u64 value;
    };
    /// A reader stops where a key is about to be cleared.
    void see(const published& word, u64 value) {
        const u64 at = reinterpret_cast<u64>(&word);
        const auto& b = *reinterpret_cast<const clht_detail::bucket*>(align_down(at, line_size));
        const u64 slot = (at % line_size) / 8 - 1;
        if (value != 0 || slot >= clht_detail::slots || !b.is_made()) return;
        const auto i = static_cast<unsigned>(slot);
        stopped_.push_back({&b, i, b.state.load(), b.value[i].load()});
    }
    std::vector<reader> stopped_;
};

class clht_store : public on_tmpfs {};
using numbers = clht_family::numbers_in_file;
using cost = std::pair<u64, u64>;

// Numbers that a table may confuse with "no key".
TEST_F(clht_store, stores_the_keys_zero_one_and_the_largest) {
    numbers t(file);
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_TRUE(t.insert(k, k + 5));
    t.open_again();
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_EQ(t.get(k), k + 5);
    EXPECT_TRUE(t.remove(0));
    EXPECT_EQ(t.get(0), std::nullopt);
    EXPECT_EQ(t.get(1), 6);
}

// Values beside the keys may look like a hash.
TEST(clht_bucket, slots_of_returns_the_slots_with_a_hash) {
    constexpr u64 wanted = 0x123456789abcdef0;
    for (unsigned have = 0; have < 8; ++have) {
        for (const u64 hash : {wanted, u64{0}}) {
            clht_detail::bucket b{};
            b.state.store(hash);
            b.next.store(hash);
            for (unsigned i = 0; i < clht_detail::slots; ++i) {
                b.key[i].store((have >> i & 1) != 0 ? hash : ~hash);
                b.value[i].store(hash);
            }
            EXPECT_EQ(b.slots_of(hash), have);
        }
    }
}

// A read without an operation object must still enter its thread's lane, so that nothing is freed
// meanwhile.
TEST_F(clht_store, reads_enter_the_lane_of_their_thread) {
    numbers t(file);
    t.insert(1, 5);
    for (unsigned i = 0; i < 3; ++i) {
        bool is_inside = false;
        const auto look = [&](u64 v) { is_inside = v == 5 && t.space->my_lane().is_inside(); };
        EXPECT_TRUE(t.index->get(*t.space, 1, look));
        EXPECT_TRUE(is_inside);
        EXPECT_FALSE(t.space->my_lane().is_inside());
        EXPECT_FALSE(t.index->get(*t.space, 2, look));
        EXPECT_FALSE(t.space->my_lane().is_inside());
    }
}

TEST_F(clht_store, alternating_reads_of_two_tables_do_not_mix_them_up) {
    numbers one(file);
    numbers other(dir / "other.hf");
    one.insert(1, 5);
    other.insert(1, 6);
    for (unsigned i = 0; i < 6; ++i) {
        EXPECT_EQ(one.get(1), 5);
        EXPECT_EQ(other.get(1), 6);
        EXPECT_EQ(other.get(2), std::nullopt);
    }
}

// C-I4, for a key that is removed, and for one that a split has left behind.
TEST(clht_slots, reader_of_a_removed_key_never_returns_the_next_keys_value) {
    constexpr u64 keys = 1000;
    told_numbers t;
    readers_of_slots readers;
    unsigned found = 0;
    for (u64 k = 1; k <= keys; ++k) {
        ASSERT_TRUE(t.insert(k, k));
        found += readers.go_on();
    }
    EXPECT_GT(found, 10U) << "of keys that a split has left behind";
    found = 0;
    for (u64 k = 1; k <= keys; ++k) {
        ASSERT_TRUE(t.remove(k));
        ASSERT_TRUE(t.insert(k + keys, k + keys));
        found += readers.go_on();
    }
    EXPECT_GT(found, 10U) << "of keys that were removed";
}

TEST_F(clht_store, growth_loses_no_entry) {
    numbers t(file);
    constexpr u64 keys = 5000;
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(t.insert(k * 7, k));
    EXPECT_GE(t.index->level(), 10U);
    numbers::entries wanted;
    for (u64 k = 0; k < keys; ++k) {
        ASSERT_EQ(t.get(k * 7), k);
        wanted.emplace_back(k * 7, k);
    }
    EXPECT_EQ(t.all(), wanted);
    t.expect_sound();
}

// Chains that no split divides: they survive, and the sweep keeps everything reachable from them.
TEST_F(clht_store, chains_of_equal_hashes_survive_a_kill) {
    using tree = clht<eager_discipline, colliding_keys, small_clht_shape>;
    index_in_file<tree> t(file);
    std::map<std::string, std::string> model;
    constexpr u64 keys = 300;
    const auto key = [](u64 k) { return std::string(k % 30, 'k') + std::to_string(k); };
    for (u64 k = 0; k < keys; ++k) {
        ASSERT_TRUE(t.insert(key(k), "v"));
        model.emplace(key(k), "v");
    }
    for (u64 round = 1; round < 4; ++round) {
        t.open_again();
        t.expect_sound();
        // Reuses the memory that the sweep considers free.
        for (u64 k = round * keys; k < (round + 1) * keys; ++k) {
            ASSERT_TRUE(t.insert(key(k), std::string(round * 20, 'w')));
            model.emplace(key(k), std::string(round * 20, 'w'));
        }
        for (u64 k = round; k < round * keys; k += 5) {
            ASSERT_EQ(t.remove(key(k)), model.erase(key(k)) != 0);
        }
        ASSERT_EQ(t.all(), index_in_file<tree>::entries(model.begin(), model.end()));
        t.expect_sound();
    }
}

/// Takes all memory except for records, some chunks, and `buckets` overflow buckets; the destructor
/// frees it.
template <class Tree>
class memory_for_buckets {
   public:
    memory_for_buckets(Tree& t, u64 buckets) : t_(t) {
        for (const u32 size_class : std::views::reverse(classes_by_size())) {
            const u64 bytes = block_size(size_class);
            if (bytes % line_size != 0) continue;  // records are smaller
            take(bytes);
            give_back(bytes == chunk ? 6 : bytes == line_size ? buckets : 0);
        }
    }
    memory_for_buckets(const memory_for_buckets&) = delete;
    memory_for_buckets& operator=(const memory_for_buckets&) = delete;
    ~memory_for_buckets() { give_back(taken_.size()); }

   private:
    static constexpr u64 chunk = line_size << small_clht_shape::chunk_bits;

    void take(u64 bytes) {
        typename Tree::operation op(*t_.space);
        while (const auto block = op.allocate(bytes)) taken_.push_back(*block);
    }
    void give_back(u64 blocks) {
        typename Tree::operation op(*t_.space);
        for (; blocks > 0 && !taken_.empty(); --blocks) {
            op.cancel(taken_.back());
            taken_.pop_back();
        }
    }
    Tree& t_;
    std::vector<u64> taken_;
};

// A bunch is copied to a buddy as a chain, for only part of which there may be memory.
TEST_F(clht_store, split_without_memory_leaks_nothing) {
    using tree = clht<eager_discipline, keys_in_bunches, small_clht_shape>;
    constexpr u64 bunch = 11;
    const auto key = [](u64 n) {
        return std::to_string(n / bunch) + static_cast<char>('a' + n % bunch);
    };
    unsigned refused = 0;
    for (u64 buckets = 0; buckets < 24; ++buckets) {
        index_in_file<tree> t(dir / std::to_string(buckets), u64{3} << 20);
        std::map<std::string, std::string> model;
        u64 n = 0;
        const auto insert = [&] {
            const std::string k = key(n++);
            tree::operation op(*t.space);
            const auto done = t.index->insert(op, k, "v");
            ASSERT_TRUE(done ? *done : done.error().code == errc::no_space);
            if (done) {
                model.emplace(k, "v");
            } else {
                ++refused;
            }
        };
        while (n < 40 * bunch + buckets * 5) ASSERT_NO_FATAL_FAILURE(insert());
        {
            const memory_for_buckets<index_in_file<tree>> some(t, buckets);
            while (n < 80 * bunch) ASSERT_NO_FATAL_FAILURE(insert());
        }
        ASSERT_EQ(t.all(), index_in_file<tree>::entries(model.begin(), model.end()));
        t.expect_sound();
    }
    EXPECT_GT(refused, 100U);
}

// Without growth: a bucket's line, and a record's line before it.
TEST_F(clht_store, operations_use_the_documented_number_of_flushes_and_fences) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    numbers t(file);
    t.insert(1, 1);
    EXPECT_EQ(cost_of([&] { t.insert(2, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.update(2, 3); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(1); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(1, 3); }), cost(0, 0));
    clht_family::bytes_in_file strings(dir / "strings.hf");
    strings.insert("a", "1");
    EXPECT_EQ(cost_of([&] { strings.insert("b", "2"); }), cost(2, 2));
}

/// The word of another record with the same key.
template <class Tree>
u64 word_of_same_key(Tree& t, u64 word) {
    if constexpr (std::is_same_v<typename Tree::kept, u64>) {
        return word;
    } else {
        const std::string k(
            byte_keys::key_of(*t.space->file().template at<byte_keys::record>(word)));
        typename Tree::operation op(*t.space);
        return must(byte_keys::make_record(op, k, "another"));
    }
}

// Puts a key into a bucket twice, as a wrong split would.
template <class Tree>
void expect_twice_to_be_noticed(Tree& t) {
    const auto blocks = blocks_of(t);
    for (const heap_audit::place& p : blocks.at("a chunk of buckets")) {
        for (u64 at = p.payload; at + line_size <= p.payload + p.room; at += line_size) {
            auto& b = *t.space->file().template at<clht_detail::bucket>(at);
            const bool fits = b.is_made() && b.key[0].load() != 0 && b.key[1].load() == 0;
            if (!fits) continue;
            b.value[1].store(word_of_same_key(t, b.value[0].load()));
            b.key[1].store(b.key[0].load());
            const std::string said = t.audit().to_string();
            b.key[1].store(0);
            // If not, the entry was dropped by a split.
            if (said.find("a key stands twice") != said.npos) return;
        }
    }
    ADD_FAILURE() << "none was noticed";
}

TEST_F(clht_store, audit_reports_a_duplicate_key) {
    numbers t(file);
    clht_family::bytes_in_file strings(dir / "strings.hf");
    for (u64 k = 0; k < 40; ++k) {
        t.insert(k, k);
        strings.insert(std::to_string(k), "v");
    }
    expect_twice_to_be_noticed(t);
    expect_twice_to_be_noticed(strings);
}

/// Swaps two buckets with entries, which searches then miss, and puts them back.
template <class Tree>
void expect_swap_to_be_noticed(Tree& t) {
    const auto blocks = blocks_of(t);
    for (const heap_audit::place& p : blocks.at("a chunk of buckets")) {
        clht_detail::bucket* filled = nullptr;
        for (u64 at = p.payload; at + line_size <= p.payload + p.room; at += line_size) {
            auto& b = *t.space->file().template at<clht_detail::bucket>(at);
            if (!b.is_made() || b.key[0].load() == 0) continue;
            if (filled == nullptr) {
                filled = &b;
                continue;
            }
            const auto swap = [&] {
                std::swap_ranges(reinterpret_cast<char*>(filled),
                                 reinterpret_cast<char*>(filled + 1), reinterpret_cast<char*>(&b));
            };
            swap();
            const std::string said = t.audit().to_string();
            swap();
            EXPECT_NE(said.find("a hash stands in a bucket of others"), said.npos) << said;
            return;
        }
    }
    ADD_FAILURE() << "there are no two buckets";
}

TEST_F(clht_store, audit_reports_swapped_buckets) {
    numbers t(file);
    clht_family::bytes_in_file strings(dir / "strings.hf");
    for (u64 k = 0; k < 40; ++k) {
        t.insert(k, k);
        strings.insert(std::to_string(k), "v");
    }
    expect_swap_to_be_noticed(t);
    expect_swap_to_be_noticed(strings);
    t.expect_sound();
    strings.expect_sound();
}

TEST_F(clht_store, transient_baseline_does_not_flush) {
    clht_family::transient_numbers t;
    const cost total = cost_of([&] {
        for (u64 k = 0; k < 100; ++k) ASSERT_TRUE(t.insert(k, k));
        for (u64 k = 0; k < 100; ++k) ASSERT_EQ(t.get(k), k);
    });
    EXPECT_LE(total.second, 40U);  // for runs of pages, which the heap creates
    t.expect_sound();
}

// An integer is in the line that publishes it.
TEST_F(clht_store, batch_uses_two_fences_and_one_for_integers) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    numbers t(file);
    EXPECT_EQ(fences_of_batch(t, 100, batch_entries), 1U);
    clht_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_of_batch(strings, 100, batch_entries), 2U);
}

}  // namespace
}  // namespace hf::test
