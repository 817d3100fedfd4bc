// An ART in a file: it comes back, the sweep beside writers takes nothing that is in use, a full
// region refuses and goes on, bad input is one error. And the bugs that others' ARTs have had.
#include "base/random.hpp"
#include "persist/counters.hpp"
#include "scratch.hpp"
#include "support/effort.hpp"
#include "tree_fixture.hpp"

#include <map>
#include <thread>

namespace hf::art_test {
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
            auto t = tree::open(s, "art");
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

class art_store : public test::on_tmpfs {};

template <class Tree>
void expect_no_damage(const Tree& t) {
    const auto report = t.audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
}

TEST_F(art_store, comes_back_after_a_kill) {
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

// Hints of an earlier opening are not believed, neither before nor behind a node's first writer.
TEST_F(art_store, reads_and_writes_nodes_of_an_earlier_opening) {
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

TEST_F(art_store, a_sweep_beside_writers_frees_nothing_that_is_in_use) {
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

TEST_F(art_store, a_full_region_refuses_and_goes_on) {
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

TEST_F(art_store, refuses_what_is_too_long) {
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

TEST_F(art_store, refuses_the_root_of_other_keys) {
    {
        numbers t(file);
        t.insert(1, 1);
    }
    eager_options o;
    o.region.kind = discipline::eager;
    o.region.flush = flush_policy::always;
    const layout::room_format rooms[] = {strings::tree::format};
    auto opened = eager_space::open(file, o, rooms, [](eager_space& s) -> result<void> {
        auto made = strings::tree::open(s, "art");
        return made ? result<void>{} : tl::unexpected(made.error());
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

// ---------------------------------------------------------------------------- bugs of other ARTs

// Keys that begin with others, the empty one and such with zeros: implementations without an end
// slot run past the key, or take two keys for one.
TEST_F(art_store, keys_may_begin_with_others) {
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

// P-ART unpublishes a child of an N48 before its index; behind a crash another key's child is found
// under the old byte. Here a byte that comes back in another's slot is never found by the old one.
TEST_F(art_store, a_slot_that_is_used_again_belongs_to_its_new_byte_alone) {
    numbers t(file);
    for (u64 k = 0; k < 47; ++k) t.insert(k, k);
    for (int round = 0; round < 5; ++round) {
        t.remove(static_cast<u64>(round));
        t.open_again();  // hints name the old byte, or whatever the crash left of them
        t.insert(100 + static_cast<u64>(round), 7);
        for (u64 k = 0; k <= static_cast<u64>(round); ++k) ASSERT_FALSE(t.get(k));
        ASSERT_EQ(t.get(100 + static_cast<u64>(round)), 7U);
    }
    expect_no_damage(t);
}

// A count on the medium that disagrees with the children loses some when the node is copied. Here
// counts are made from the words by the first writer, so a node never grows without need.
TEST_F(art_store, counts_of_an_earlier_opening_are_not_believed) {
    numbers t(file);
    for (u64 k = 0; k < 10; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 10; k < 16; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 16; k < 60; ++k) t.insert(k, k);
    t.open_again();
    for (u64 k = 0; k < 58; ++k) ASSERT_TRUE(t.remove(k));
    EXPECT_EQ(t.all(), (numbers::entries{{58, 58}, {59, 59}}));
    expect_no_damage(t);
}

// ------------------------------------------------------------------------------ flushes and fences

// What an operation costs where no node changes its size: recipe.md's table.
TEST_F(art_store, operations_flush_and_fence_as_often_as_they_say) {
    numbers t(file);
    for (u64 k = 0; k < 30; ++k) t.insert(k, k);  // an N48 with room
    for (u64 k = 40; k < 400; k += 2) t.insert(k << 20, k);
    const auto cost_of = [](auto&& work) {
        const persist_counters before = thread_persist_counters();
        work();
        const persist_counters after = thread_persist_counters();
        return std::pair(after.flushes - before.flushes, after.fences - before.fences);
    };
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(30, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(30, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(30); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(29); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(31); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
}

}  // namespace
}  // namespace hf::art_test
