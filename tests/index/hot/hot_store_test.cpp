// A HOT in a file: it comes back, the sweep beside writers takes nothing that is in use, a full
// region refuses and goes on, bad input is one error.
#include "base/random.hpp"
#include "hot_fixture.hpp"
#include "persist/counters.hpp"
#include "scratch.hpp"
#include "support/effort.hpp"

#include <map>
#include <thread>

namespace hf::hot_test {
namespace {

template <class Keys>
struct tree_in_file : tree_parts<eager_discipline, Keys> {
    using tree = typename tree_in_file::tree;

    explicit tree_in_file(std::filesystem::path path, u64 most = u64{1} << 30)
        : file(std::move(path)), most_bytes(most) {
        test::must(open());
    }
    [[nodiscard]] result<void> open(sweeping how = sweeping::at_opening) {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = most_bytes;
        o.region.flush = flush_policy::always;
        o.sweep = how;
        const layout::room_format rooms[] = {tree::format};
        auto made = eager_space::open(file, o, rooms, [this](eager_space& s) -> result<void> {
            auto t = tree::open(s, "hot");
            if (!t) return tl::unexpected(t.error());
            this->index = std::move(*t);
            return {};
        });
        if (!made) return tl::unexpected(made.error());
        this->space = std::move(*made);
        return {};
    }
    /// As after a kill.
    void open_again(sweeping how = sweeping::at_opening) {
        this->space.reset();
        this->index.reset();
        test::must(open(how));
    }

    std::filesystem::path file;
    u64 most_bytes;
};
using numbers = tree_in_file<integer_keys>;
using strings = tree_in_file<byte_keys>;

class hot_store : public test::on_tmpfs {};

template <class Tree>
void expect_no_damage(const Tree& t) {
    const auto report = t.audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
}

TEST_F(hot_store, comes_back_after_a_kill) {
    strings t(file);
    std::map<std::string, std::string> model;
    splitmix64 random(1);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 2000; ++i) {
            const std::string k = "key " + std::to_string(random() % 900);
            if (random() % 3 == 0) {
                t.remove(k);
                model.erase(k);
            } else {
                t.upsert(k, k + std::to_string(i));
                model[k] = k + std::to_string(i);
            }
        }
        t.open_again();
        ASSERT_EQ(t.all(), strings::entries(model.begin(), model.end()));
        expect_no_damage(t);
    }
}

TEST_F(hot_store, reads_and_writes_nodes_of_an_earlier_opening) {
    numbers t(file);
    for (u64 k = 0; k < 40; ++k) t.insert(k * 5, k);
    for (int round = 0; round < 3; ++round) {
        t.open_again();
        for (u64 k = 0; k < 200; ++k) {
            ASSERT_EQ(t.get(k).has_value(), k % 5 == 0 && (k != 100 || round == 0));
        }
        if (round == 0) t.remove(100);
        for (u64 k = 0; k < 200; ++k) ASSERT_EQ(t.get(k).has_value(), k % 5 == 0 && k != 100);
        expect_no_damage(t);
    }
}

TEST_F(hot_store, a_sweep_beside_writers_frees_nothing_that_is_in_use) {
    strings t(file);
    const auto name = [](u64 k) { return std::string(k % 7, 'n') + "key" + std::to_string(k); };
    constexpr u64 keys = 600;
    for (u64 k = 0; k < keys; ++k) t.insert(name(k), std::string(100, 'o'));
    for (int round = 0; round < 4; ++round) {
        t.open_again(sweeping::in_background);
        std::vector<std::thread> all;
        for (unsigned me = 0; me < 2; ++me) {
            all.emplace_back([&, me] {
                splitmix64 random(me + 10);
                for (u64 i = 0; i < test::scaled(4000); ++i) {
                    const u64 k = random() % keys;
                    if (random() % 3 == 0) {
                        t.remove(name(k));
                    } else {
                        t.upsert(name(k), name(k) + std::string(random() % 200, 'n'));
                    }
                    const std::string other = name(random() % keys);
                    const auto v = t.get(other);
                    ASSERT_TRUE(!v || v->starts_with(other) || *v == std::string(100, 'o')) << *v;
                }
            });
        }
        for (std::thread& one : all) one.join();
        test::must(t.space->wait_for_sweep());
        expect_no_damage(t);
    }
}

// ------------------------------------------------------------------------------------- bad input

TEST_F(hot_store, a_full_region_refuses_and_goes_on) {
    strings t(file, u64{4} << 20);
    std::map<std::string, std::string> model;
    std::optional<error> refused;
    for (u64 i = 0; !refused; ++i) {
        const std::string k = std::to_string(i * 7919 % 100'000) + std::string(i % 50, 'x');
        eager_discipline::operation op(*t.space);
        auto done = t.index->insert(op, k, std::string(300, 'v'));
        if (!done) {
            refused = done.error();
        } else if (*done) {
            model.emplace(k, std::string(300, 'v'));
        }
    }
    EXPECT_EQ(refused->code, errc::no_space) << refused->to_string();
    EXPECT_EQ(t.all(), strings::entries(model.begin(), model.end()));
    expect_no_damage(t);
    while (model.size() > 10) {
        ASSERT_TRUE(t.remove(model.begin()->first));
        model.erase(model.begin());
    }
    t.space->grace().reclaim_all();
    EXPECT_TRUE(t.insert("there is room again", "yes"));
    model.emplace("there is room again", "yes");
    t.open_again();
    EXPECT_EQ(t.all(), strings::entries(model.begin(), model.end()));
    expect_no_damage(t);
}

TEST_F(hot_store, refuses_what_is_too_long) {
    strings t(file);
    eager_discipline::operation op(*t.space);
    const std::string most(4096, 'k');
    EXPECT_TRUE(test::must(t.index->insert(op, most, "v")));
    auto refused = t.index->insert(op, most + "k", "v");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_large);
    EXPECT_FALSE(t.index->get(op, most + "k", ignore));
    EXPECT_TRUE(t.index->get(op, most, ignore));
}

TEST_F(hot_store, refuses_the_root_of_other_keys) {
    {
        numbers t(file);
        t.insert(1, 1);
    }
    eager_options o;
    o.region.kind = discipline::eager;
    o.region.flush = flush_policy::always;
    const layout::room_format rooms[] = {strings::tree::format};
    auto opened = eager_space::open(file, o, rooms, [](eager_space& s) -> result<void> {
        auto made = strings::tree::open(s, "hot");
        return made ? result<void>{} : tl::unexpected(made.error());
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

// ------------------------------------------------------------------------------------ odd keys

// Keys that begin with others, the empty one and such with zeros.
TEST_F(hot_store, keys_may_begin_with_others) {
    strings t(file);
    std::vector<std::string> keys{""};
    for (u64 n = 1; n <= 64; ++n) keys.push_back(keys.back() + (n % 3 == 0 ? '\0' : 'a'));
    keys.push_back(std::string(4096, 'z'));
    keys.push_back(std::string(4095, 'z'));
    for (const auto& k : keys) ASSERT_TRUE(t.insert(k, k + "!"));
    for (const auto& k : keys) {
        ASSERT_FALSE(t.insert(k, "again"));
        ASSERT_EQ(t.get(k), k + "!");
    }
    t.open_again();
    for (const auto& k : keys) ASSERT_TRUE(t.remove(k));
    EXPECT_TRUE(t.all().empty());
    expect_no_damage(t);
}

// ------------------------------------------------------------------------------ flushes and fences

// What an operation costs where one node is copied: its lines, the record's, and the word's.
TEST_F(hot_store, operations_flush_and_fence_as_often_as_they_say) {
    numbers t(file);
    for (u64 k = 0; k < 14; ++k) t.insert(k, k);
    const auto cost_of = [](auto&& work) {
        const persist_counters before = thread_persist_counters();
        work();
        const persist_counters after = thread_persist_counters();
        return std::pair(after.flushes - before.flushes, after.fences - before.fences);
    };
    using cost = std::pair<u64, u64>;
    // 15 entries of 4 bits: 16 bytes, as many of keys, and 15 words are 3 lines.
    EXPECT_EQ(cost_of([&] { t.insert(14, 1); }), cost(2 + 3, 2));
    EXPECT_EQ(cost_of([&] { t.update(14, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(14); }), cost(1 + 3, 2));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(13); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(14); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
}

// A remove needs no memory: records that stay as dead ones are neither found nor scanned, can be
// inserted again, and go with the next copy.
TEST_F(hot_store, removes_from_a_region_without_room_for_a_copy) {
    numbers t(file, u64{3} << 20);
    u64 n = 0;
    const auto insert = [&](u64 k) {
        eager_discipline::operation op(*t.space);
        return t.index->insert(op, k * 7919, k).has_value();
    };
    while (insert(n)) ++n;
    for (u64 k = 0; k < n; k += 2) ASSERT_TRUE(t.remove(k * 7919));
    for (u64 k = 0; k < n; ++k) ASSERT_EQ(t.get(k * 7919).has_value(), k % 2 == 1) << k;
    EXPECT_EQ(t.all().size(), n / 2);
    expect_no_damage(t);
    t.open_again();
    EXPECT_EQ(t.all().size(), n / 2);
    u64 again = 0;
    for (u64 k = 0; k < n; k += 2) again += insert(k) ? 1 : 0;
    EXPECT_GT(again, n / 8);
    EXPECT_EQ(t.all().size(), n / 2 + again);
    expect_no_damage(t);
}

}  // namespace
}  // namespace hf::hot_test
