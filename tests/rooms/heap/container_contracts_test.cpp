// The contract of each container beyond the order of its entries: zeros in reused slots, no object
// kept or lost, sizes that several threads have counted, limits, and containers that were emptied.
#include <holdfast/nv/list.hpp>
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>

#include "base/random.hpp"
#include "heap_of_nodes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

constexpr u64 first_key = 1000;

/// An entry of 24 bytes, for which no bucket of a hash table has room.
using two_numbers = nv::array<nv::p<u64>, 2>;

struct everything {
    static constexpr std::string_view nv_name = "everything";
    nv::map<u64, nv::p<u64>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
    nv::unordered_map<u64, nv::p<u64>> table;
    nv::unordered_map<u64, two_numbers> wide_table;
    nv::map<u64, nv::ptr<node>> tree_of_nodes;
    nv::rb_map<u64, nv::ptr<node>> red_black_of_nodes;
    nv::unordered_map<u64, nv::ptr<node>> table_of_nodes;
    nv::map<u64, nv::weak<node>> tree_of_weak;
    nv::rb_map<u64, nv::weak<node>> red_black_of_weak;
    nv::unordered_map<u64, nv::weak<node>> table_of_weak;
    nv::vector<nv::p<u64>> numbers;
    nv::vector<nv::ptr<node>> nodes;
    nv::vector<nv::weak<node>> weak_ones;
    nv::string text;
    nv::forward_list<nv::ptr<node>> list;
    nv::queue<nv::ptr<node>> queue;
    nv::ptr<node> kept;
    nv::ptr<nv::p<u32>[]> row;
    nv::bytes<40> raw;
    nv::array<nv::p<u64>, 3> three;
};

class container_contracts : public on_tmpfs {
   protected:
    container_contracts() : heap(open_heap(file)), all(must(heap.root<everything>("all"))) {
        change([&](nv::tx<>& tx) { all.set(tx, tx.make<everything>()); });
    }
    template <class F>
    void change(F&& f) {
        must(heap.atomic([&](nv::tx<>& tx) { f(tx); }));
    }
    /// In a thread of its own, with a lane of its own.
    template <class F>
    void change_elsewhere(F&& f) {
        std::thread([&] { change(f); }).join();
    }
    template <class F>
    void look(F&& f) {
        must(heap.read([&](nv::tx<>&) { f(*all.get()); }));
    }
    [[nodiscard]] u64 objects() { return sound(heap).objects - 1; }
    template <class F>
    void expect_misuse(F&& f) {
        const auto done = heap.atomic([&](nv::tx<>& tx) { f(tx, *all.get()); });
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::usage) << done.error().to_string();
    }
    /// Calls f with each map whose values are numbers.
    template <class F>
    static void each_map_of_numbers(everything& e, F&& f) {
        f(e.tree);
        f(e.red_black);
        f(e.table);
    }
    template <class F>
    static void each_map_of_nodes(everything& e, F&& f) {
        f(e.tree_of_nodes);
        f(e.red_black_of_nodes);
        f(e.table_of_nodes);
    }
    template <class F>
    static void each_map_of_weak(everything& e, F&& f) {
        f(e.tree_of_weak);
        f(e.red_black_of_weak);
        f(e.table_of_weak);
    }

    nv::heap<> heap;
    nv::root<everything> all;
};

/// The value of a key: maps return a pointer to it, or to its entry.
template <class Map>
auto& value_in(nv::tx<>& tx, Map& m, u64 key) {
    auto found = m.try_emplace(tx, key).first;
    if constexpr (requires { found->value; }) {
        return found->value;
    } else {
        return *found;
    }
}
template <class Map>
auto& value_at(const Map& m, u64 key) {
    auto found = m.find(key);
    if constexpr (requires { found->value; }) {
        return found->value;
    } else {
        return *found;
    }
}

// Slots are used again: by the next key, by one that is inserted between others, after a split.
TEST_F(container_contracts, new_values_are_zero_in_reused_slots) {
    for (const u64 keys : {u64{1}, u64{14}, u64{60}}) {
        change([&](nv::tx<>& tx) {
            each_map_of_numbers(*all.get(), [&](auto& m) {
                for (u64 k = 0; k < keys; ++k) value_in(tx, m, 2 * k).set(tx, ~k);
                for (u64 k = 0; k < keys; ++k) EXPECT_TRUE(m.erase(tx, 2 * k));
                EXPECT_TRUE(m.empty());
                for (u64 k = 0; k < keys; ++k) EXPECT_EQ(value_in(tx, m, k), 0U) << k;
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_EQ(value_at(m, k), 0U) << k;
                    value_in(tx, m, k).set(tx, k + 1);
                }
                for (u64 k = 0; k < keys; k += 2) EXPECT_TRUE(m.erase(tx, k));
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_EQ(value_in(tx, m, k), k % 2 == 0 ? 0 : k + 1) << k;
                }
                m.clear(tx);
            });
            for (int round = 0; round < 2; ++round) {
                for (u64 k = 0; k < keys; ++k) {
                    two_numbers& value = value_in(tx, all->wide_table, k);
                    EXPECT_EQ(value[0], 0U);
                    EXPECT_EQ(value[1], 0U);
                    for (auto& each : value) each.set(tx, ~k);
                }
                for (u64 k = 0; k < keys; ++k) EXPECT_TRUE(all->wide_table.erase(tx, k));
            }
            all->wide_table.clear(tx);
        });
    }
    EXPECT_EQ(objects(), 0U);
}

TEST_F(container_contracts, new_pointers_are_null_in_reused_slots_and_keep_nothing) {
    constexpr u64 keys = 40;
    change([&](nv::tx<>& tx) { all->kept.set(tx, tx.make<node>(7)); });
    for (int round = 0; round < 2; ++round) {
        change([&](nv::tx<>& tx) {
            each_map_of_nodes(*all.get(), [&](auto& m) {
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_FALSE(value_in(tx, m, k)) << k;
                    value_in(tx, m, k).set(tx, tx.make<node>(static_cast<int>(k)));
                }
            });
            each_map_of_weak(*all.get(), [&](auto& m) {
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_FALSE(value_in(tx, m, k).get()) << k;
                    value_in(tx, m, k).set(tx, all->kept.get());
                }
            });
        });
        change([&](nv::tx<>& tx) {
            each_map_of_nodes(*all.get(), [&](auto& m) {
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_EQ(value_at(m, k)->value, static_cast<int>(k));
                    EXPECT_TRUE(m.erase(tx, k));
                }
            });
            each_map_of_weak(*all.get(), [&](auto& m) {
                for (u64 k = 0; k < keys; ++k) {
                    EXPECT_TRUE(value_at(m, k).get() == all->kept.get());
                    EXPECT_TRUE(m.erase(tx, k));
                }
            });
        });
        change([&](nv::tx<>& tx) {
            all->table_of_nodes.clear(tx);
            all->table_of_weak.clear(tx);
        });
        const auto report = sound(heap);
        EXPECT_EQ(report.objects, 1U + 1 + report.proxies) << "all, and the node that is kept";
        EXPECT_EQ(report.proxies, 1U);
    }
}

// A free slot of a leaf that stays keeps no object alive: neither after an erasure nor after a
// split.
TEST_F(container_contracts, a_free_slot_of_a_tree_keeps_no_object_alive) {
    constexpr u64 keys = 15;  // one more than a leaf has room for: 7 stay in the first
    change([&](nv::tx<>& tx) {
        for (u64 k = 0; k < keys; ++k) {
            all->tree_of_nodes.insert_or_assign(tx, k, tx.make<node>(static_cast<int>(k)));
        }
    });
    const u64 parts_of_the_tree = objects() - keys;
    EXPECT_EQ(parts_of_the_tree, 3U);
    for (u64 k = keys; k-- > 8;) {
        change([&](nv::tx<>& tx) { EXPECT_TRUE(all->tree_of_nodes.erase(tx, k)); });
        EXPECT_EQ(objects(), parts_of_the_tree + k);
    }
    for (u64 k = 0; k < 6; ++k) {
        change([&](nv::tx<>& tx) { EXPECT_TRUE(all->tree_of_nodes.erase(tx, k)); });
        EXPECT_EQ(objects(), parts_of_the_tree + 7 - k);
    }
}

TEST_F(container_contracts, a_weak_value_becomes_null_with_its_object) {
    change([&](nv::tx<>& tx) {
        all->kept.set(tx, tx.make<node>(1));
        each_map_of_weak(*all.get(), [&](auto& m) {
            for (u64 k = 0; k < 20; ++k) value_in(tx, m, k).set(tx, all->kept.get());
        });
        all->weak_ones.append(tx).set(tx, all->kept.get());
    });
    change([&](nv::tx<>& tx) { all->kept.set(tx, nullptr); });
    look([&](everything& e) {
        each_map_of_weak(e, [&](auto& m) {
            EXPECT_EQ(m.size(), 20U);
            for (u64 k = 0; k < 20; ++k) EXPECT_FALSE(value_at(m, k).get());
        });
        EXPECT_FALSE(e.weak_ones[0].get());
    });
    EXPECT_EQ(sound(heap).proxies, 1U) << "it waits for its pointers";
    change([&](nv::tx<>& tx) {
        each_map_of_weak(*all.get(), [&](auto& m) { m.clear(tx); });
        all->weak_ones.pop_back(tx);
    });
    EXPECT_EQ(sound(heap).proxies, 0U);
}

// Each thread counts in a part of its own.
TEST_F(container_contracts, sizes_are_sums_of_what_several_threads_have_counted) {
    const auto expect_sizes = [&](u64 n) {
        look([&](everything& e) {
            each_map_of_numbers(e, [&](auto& m) {
                EXPECT_EQ(m.size(), n);
                EXPECT_EQ(m.empty(), n == 0);
            });
        });
    };
    const auto insert = [&](u64 from, u64 to) {
        return [&, from, to](nv::tx<>& tx) {
            each_map_of_numbers(*all.get(), [&](auto& m) {
                for (u64 k = from; k < to; ++k) m.insert_or_assign(tx, k, k);
            });
        };
    };
    // Threads that exist at the same time have different parts.
    change(insert(0, 10));
    std::thread([&] {
        change(insert(5, 30));
        change_elsewhere([&](nv::tx<>& tx) {
            insert(30, 31)(tx);
            each_map_of_numbers(*all.get(), [&](auto& m) { EXPECT_TRUE(m.erase(tx, 2)); });
        });
    }).join();
    expect_sizes(30);
    change_elsewhere(
        [&](nv::tx<>& tx) { each_map_of_numbers(*all.get(), [&](auto& m) { m.clear(tx); }); });
    expect_sizes(0);
    change(insert(0, 3));
    expect_sizes(3);
    change_elsewhere([&](nv::tx<>& tx) {
        each_map_of_numbers(*all.get(), [&](auto& m) {
            for (u64 k = 0; k < 3; ++k) EXPECT_TRUE(m.erase(tx, k));
        });
    });
    expect_sizes(0);
}

TEST_F(container_contracts, what_was_cleared_is_as_new) {
    for (const u64 keys : {u64{1}, u64{20}, u64{400}}) {  // no level, one, two
        for (int round = 0; round < 2; ++round) {
            change([&](nv::tx<>& tx) {
                each_map_of_numbers(*all.get(), [&](auto& m) {
                    EXPECT_FALSE(m.contains(keys / 2));
                    EXPECT_FALSE(m.erase(tx, 0));
                    m.for_each([&](u64 k, auto&) { ADD_FAILURE() << k; });
                    for (u64 k = 0; k < keys; ++k) m.insert_or_assign(tx, k, k);
                    EXPECT_EQ(m.size(), keys);
                });
            });
            change([&](nv::tx<>& tx) {
                each_map_of_numbers(*all.get(), [&](auto& m) { m.clear(tx); });
            });
            EXPECT_EQ(objects(), 0U) << keys;
        }
    }
}

TEST_F(container_contracts, a_walk_of_a_tree_begins_at_any_key_and_ends_when_it_is_told) {
    for (const u64 keys : {u64{0}, u64{5}, u64{60}, u64{700}, u64{4000}}) {
        change([&](nv::tx<>& tx) {
            all->tree.clear(tx);
            for (u64 k = 0; k < keys; ++k) all->tree.insert_or_assign(tx, first_key + 2 * k, k);
        });
        look([&](everything& e) {
            splitmix64 random(keys);
            std::vector<u64> starts{0, first_key, first_key + 2 * keys, ~u64{0}};
            for (int i = 0; i < 40; ++i) starts.push_back(first_key + random() % (2 * keys + 4));
            for (const u64 from : starts) {
                const u64 first = from <= first_key ? 0 : (from - first_key + 1) / 2;
                for (const u64 most : {u64{1}, u64{20}, 2 * keys + 1}) {
                    u64 next = first;
                    u64 visits = 0;
                    e.tree.for_each_from(from, [&](u64 k, nv::p<u64>& v) {
                        EXPECT_EQ(k, first_key + 2 * next);
                        EXPECT_EQ(v, next);
                        ++next;
                        return ++visits < most;
                    });
                    ASSERT_EQ(visits, std::min(most, keys - std::min(first, keys))) << from;
                }
            }
        });
    }
}

TEST_F(container_contracts, a_vector_of_numbers_keeps_its_elements_in_each_change) {
    std::vector<u64> model;
    const auto expect_model = [&] {
        look([&](everything& e) {
            ASSERT_EQ(e.numbers.size(), model.size());
            EXPECT_EQ(e.numbers.empty(), model.empty());
            EXPECT_GE(e.numbers.capacity(), model.size());
            ASSERT_EQ(static_cast<std::size_t>(e.numbers.end() - e.numbers.begin()), model.size());
            for (std::size_t i = 0; i < model.size(); ++i) ASSERT_EQ(e.numbers[i], model[i]);
            if (model.empty()) return;
            EXPECT_EQ(e.numbers.front(), model.front());
            EXPECT_EQ(e.numbers.back(), model.back());
        });
    };
    expect_model();
    change([&](nv::tx<>& tx) { all->numbers.reserve(tx, 3); });
    look([&](everything& e) { EXPECT_EQ(e.numbers.capacity(), 3U); });
    for (u64 i = 0; i < 40; ++i) {
        change([&](nv::tx<>& tx) {
            nv::p<u64>& made = all->numbers.append(tx);
            EXPECT_EQ(made, 0U) << "a new element is zero";
            made.set(tx, i + 1);
        });
        model.push_back(i + 1);
        expect_model();
    }
    change([&](nv::tx<>& tx) { all->numbers.reserve(tx, 20); });
    look([&](everything& e) { EXPECT_GE(e.numbers.capacity(), 40U) << "it does not shrink"; });
    for (const std::size_t i : {std::size_t{0}, std::size_t{38}, std::size_t{17}}) {
        change([&](nv::tx<>& tx) { all->numbers.erase(tx, i); });
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(i));
        expect_model();
    }
    change([&](nv::tx<>& tx) { all->numbers.clear(tx); });
    model.clear();
    expect_model();
    EXPECT_EQ(objects(), 0U);
    expect_misuse([](nv::tx<>& tx, everything& e) { e.numbers.pop_back(tx); });
    expect_misuse([](nv::tx<>& tx, everything& e) { e.numbers.erase(tx, 0); });
    expect_misuse([](nv::tx<>&, everything& e) { (void)e.numbers.back().get(); });
    change([&](nv::tx<>& tx) { all->numbers.push_back(tx, u64{5}); });
    expect_misuse([](nv::tx<>& tx, everything& e) { e.numbers.erase(tx, 1); });
    expect_misuse([](nv::tx<>&, everything& e) { (void)e.numbers[1].get(); });
}

TEST_F(container_contracts, a_vector_of_pointers_keeps_only_what_it_has) {
    change([&](nv::tx<>& tx) {
        all->kept.set(tx, tx.make<node>(7));
        for (int i = 0; i < 20; ++i) {
            all->nodes.push_back(tx, tx.make<node>(i));
            all->weak_ones.push_back(tx, all->kept.get());
        }
    });
    EXPECT_EQ(objects(), 1U + 20 + 2 + 1) << "nodes, two arrays and a proxy";
    change([&](nv::tx<>& tx) {
        all->nodes.erase(tx, 19);
        all->nodes.erase(tx, 0);
        all->nodes.pop_back(tx);
        while (!all->weak_ones.empty()) all->weak_ones.erase(tx, 0);
    });
    look([&](everything& e) {
        ASSERT_EQ(e.nodes.size(), 17U);
        for (int i = 0; i < 17; ++i) {
            EXPECT_EQ(e.nodes[static_cast<std::size_t>(i)]->value, i + 1);
        }
    });
    const auto report = sound(heap);
    EXPECT_EQ(report.objects - 1 - report.proxies, 1U + 17 + 2);
    // A proxy without pointers lives as long as its object.
    EXPECT_LE(report.proxies, 1U);
    change([&](nv::tx<>& tx) {
        EXPECT_FALSE(all->nodes.append(tx)) << "a reused element is null";
        EXPECT_FALSE(all->weak_ones.append(tx).get());
        all->nodes.clear(tx);
        all->weak_ones.clear(tx);
        all->kept.set(tx, nullptr);
    });
    EXPECT_EQ(objects(), 0U);
}

TEST_F(container_contracts, a_string_is_what_was_assigned_and_appended) {
    std::string model;
    const auto expect_model = [&] {
        look([&](everything& e) {
            ASSERT_EQ(e.text.str(), model);
            EXPECT_EQ(e.text.size(), model.size());
            EXPECT_EQ(e.text.empty(), model.empty());
            EXPECT_TRUE(e.text == model);
            EXPECT_FALSE(e.text == model + "x");
            if (model.empty()) return;
            EXPECT_FALSE(e.text == model.substr(1));
            EXPECT_FALSE(e.text == std::string(model.size(), '\1'));
            EXPECT_EQ(e.text[0], model[0]);
            EXPECT_EQ(e.text[model.size() - 1], model.back());
        });
    };
    const auto assign = [&](const std::string& s) {
        change([&](nv::tx<>& tx) { all->text.assign(tx, s); });
        model = s;
        expect_model();
    };
    const auto append = [&](const std::string& s) {
        change([&](nv::tx<>& tx) { all->text.append(tx, s); });
        model += s;
        expect_model();
    };
    append("");
    append("of nothing");
    assign("shorter");
    append(" again");
    assign("");
    append("0123456789");
    assign("the same length as it has room for, and more");
    assign("short");
    append(std::string(300, 'y'));
    for (std::size_t n = 1; n < 40; ++n) append(std::string(n, static_cast<char>('a' + n % 26)));
    EXPECT_EQ(objects(), 1U) << "its bytes";
    change([&](nv::tx<>& tx) { all->text.clear(tx); });
    model.clear();
    expect_model();
    EXPECT_EQ(objects(), 0U);
    append("as new");
    expect_misuse([](nv::tx<>&, everything& e) { (void)e.text[6]; });
}

TEST_F(container_contracts, lists_have_what_was_inserted_where_it_was) {
    const auto values = [&] {
        std::vector<int> found;
        look([&](everything& e) {
            EXPECT_EQ(e.list.empty(), !e.list.front());
            e.list.for_each([&](const nv::ptr<node>& n) { found.push_back(n->value); });
        });
        return found;
    };
    change([&](nv::tx<>& tx) {
        auto& l = all->list;
        const auto two = l.push_front(tx, tx.make<node>(2));
        const auto four = l.insert_after(tx, two, tx.make<node>(4));  // at the end
        l.insert_after(tx, two, tx.make<node>(3));
        l.insert_after(tx, four, tx.make<node>(5));
        l.push_front(tx, tx.make<node>(1));
    });
    EXPECT_EQ(values(), (std::vector{1, 2, 3, 4, 5}));
    change([&](nv::tx<>& tx) {
        const auto one = all->list.front();
        all->list.erase_after(tx, one);
        all->list.erase_after(tx, one->next.get());  // the one after 3
    });
    EXPECT_EQ(values(), (std::vector{1, 3, 5}));
    EXPECT_EQ(objects(), 6U);
    change([&](nv::tx<>& tx) { all->list.pop_front(tx); });
    EXPECT_EQ(values(), (std::vector{3, 5}));
    expect_misuse(
        [](nv::tx<>& tx, everything& e) { e.list.erase_after(tx, e.list.front()->next.get()); });
    change([&](nv::tx<>& tx) { all->list.clear(tx); });
    EXPECT_EQ(values(), std::vector<int>{});
    EXPECT_EQ(objects(), 0U);
    expect_misuse([](nv::tx<>& tx, everything& e) { e.list.pop_front(tx); });
}

TEST_F(container_contracts, a_queue_that_was_emptied_in_any_way_begins_anew) {
    const auto push = [&](int from, int to) {
        change([&, from, to](nv::tx<>& tx) {
            for (int i = from; i < to; ++i) all->queue.push(tx, tx.make<node>(i));
        });
    };
    const auto expect_popped = [&](int from, int to) {
        change([&, from, to](nv::tx<>& tx) {
            for (int i = from; i < to; ++i) {
                ASSERT_FALSE(all->queue.empty());
                EXPECT_EQ(all->queue.front()->value->value, i);
                all->queue.pop(tx);
            }
        });
    };
    push(0, 3);
    expect_popped(0, 3);
    EXPECT_EQ(objects(), 0U);
    push(3, 4);
    push(4, 6);
    expect_popped(3, 5);
    change([&](nv::tx<>& tx) { all->queue.clear(tx); });
    EXPECT_EQ(objects(), 0U);
    look([&](everything& e) { EXPECT_TRUE(e.queue.empty()); });
    push(6, 8);
    EXPECT_EQ(objects(), 4U);
    expect_popped(6, 8);
    look([&](everything& e) { EXPECT_TRUE(e.queue.empty() && !e.queue.front()); });
    expect_misuse([](nv::tx<>& tx, everything& e) { e.queue.pop(tx); });
}

TEST_F(container_contracts, ranges_of_an_array_are_read_written_and_moved_within_its_bounds) {
    constexpr std::size_t length = 200;
    std::array<u32, length> model{};
    const auto expect_model = [&] {
        std::array<u32, length> found{};
        look([&](everything& e) { e.row.get().read(0, found.data(), length); });
        EXPECT_EQ(found, model);
    };
    change([&](nv::tx<>& tx) { all->row.set(tx, tx.make_array<nv::p<u32>[]>(length)); });
    expect_model();
    for (u32 i = 0; i < length; ++i) model[i] = 1000 + i;
    change([&](nv::tx<>& tx) { all->row.get().write(tx, 0, model.data(), length); });
    expect_model();
    const std::array<u32, 3> some{1, 2, 3};
    std::copy(some.begin(), some.end(), model.begin() + length - 3);
    change([&](nv::tx<>& tx) { all->row.get().write(tx, length - 3, some.data(), 3); });
    expect_model();
    // Overlapping, in both directions, and longer than what is copied at once.
    for (const auto& [to, from, n] : {std::array<std::size_t, 3>{10, 0, 150},
                                      {0, 10, 150},
                                      {7, 8, 100},
                                      {8, 7, 100},
                                      {100, 0, 100},
                                      {5, 5, 9},
                                      {0, 0, 0}}) {
        std::vector<u32> moved(model.begin() + static_cast<std::ptrdiff_t>(from),
                               model.begin() + static_cast<std::ptrdiff_t>(from + n));
        std::copy(moved.begin(), moved.end(), model.begin() + static_cast<std::ptrdiff_t>(to));
        change([&, to = to, from = from, n = n](nv::tx<>& tx) {
            all->row.get().move(tx, to, from, n);
        });
        expect_model();
    }
    look([&](everything& e) {
        u32 nothing = 0;
        e.row.get().read(length, &nothing, 0);  // an empty range at the end
        EXPECT_EQ(e.row.get()[length - 1], model[length - 1]);
    });
    for (const auto& [index, n] : {std::pair<std::size_t, std::size_t>{length, 1},
                                   {length - 2, 3},
                                   {length + 1, 0},
                                   {1, ~std::size_t{0}}}) {
        expect_misuse([&, index = index, n = n](nv::tx<>&, everything& e) {
            std::array<u32, 4> none{};
            e.row.get().read(index, none.data(), n);
        });
        expect_misuse([&, index = index, n = n](nv::tx<>& tx, everything& e) {
            e.row.get().move(tx, 0, index, n);
        });
        expect_misuse([&, index = index, n = n](nv::tx<>& tx, everything& e) {
            e.row.get().move(tx, index, 0, n);
        });
    }
    expect_misuse([](nv::tx<>&, everything& e) { (void)e.row.get()[length].get(); });
}

TEST_F(container_contracts, bytes_and_arrays_have_bounds) {
    std::array<std::byte, 40> model{};
    const auto expect_model = [&] {
        std::array<std::byte, 40> found{};
        look([&](everything& e) { e.raw.get(found); });
        EXPECT_EQ(found, model);
    };
    expect_model();
    const std::array<std::byte, 5> some{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                        std::byte{5}};
    for (const std::size_t first : {std::size_t{0}, std::size_t{13}, std::size_t{35}}) {
        change([&](nv::tx<>& tx) { all->raw.set(tx, some, first); });
        std::copy(some.begin(), some.end(), model.begin() + static_cast<std::ptrdiff_t>(first));
        expect_model();
    }
    std::array<std::byte, 5> part{};
    look([&](everything& e) { e.raw.get(part, 13); });
    EXPECT_EQ(part, some);
    for (const std::size_t first : {std::size_t{36}, std::size_t{40}, std::size_t{41}}) {
        expect_misuse([&](nv::tx<>& tx, everything& e) { e.raw.set(tx, some, first); });
        expect_misuse([&](nv::tx<>&, everything& e) { e.raw.get(part, first); });
    }
    change([&](nv::tx<>& tx) {
        for (std::size_t i = 0; i < 3; ++i) all->three[i].set(tx, i + 1);
    });
    look([&](everything& e) {
        u64 sum = 0;
        for (const auto& each : e.three) sum = 10 * sum + each;
        EXPECT_EQ(sum, 123U);
    });
    expect_misuse([](nv::tx<>&, everything& e) { (void)e.three[3].get(); });
}

TEST_F(container_contracts, pointers_are_compared_swapped_and_set_without_a_change_of_counts) {
    change([&](nv::tx<>& tx) {
        all->kept.set(tx, tx.make<node>(1, tx.make<node>(2, nullptr)));
        all->kept.set(tx, all->kept.get());  // itself
    });
    EXPECT_EQ(objects(), 2U);
    change([&](nv::tx<>& tx) {
        auto& one = all->kept;
        auto& other = all->nodes.append(tx);
        other.set(tx, one->next);
        EXPECT_TRUE(other == one->next.get());
        EXPECT_FALSE(other == one.get());
        EXPECT_TRUE(other != nullptr);
        one.swap(tx, other);
        EXPECT_EQ(one->value, 2);
        EXPECT_EQ(other->value, 1);
        one.swap(tx, one);
        EXPECT_EQ(one->value, 2);
    });
    EXPECT_EQ(objects(), 3U) << "two nodes and an array";
    change([&](nv::tx<>& tx) { all->nodes.clear(tx); });
    look([&](everything& e) { EXPECT_EQ(e.kept->value, 2); });
    EXPECT_EQ(objects(), 1U);
}

TEST_F(container_contracts, references_are_copied_moved_and_compared) {
    change([&](nv::tx<>& tx) { all->kept.set(tx, tx.make<node>(1, tx.make<node>(2, nullptr))); });
    nv::ref<node> one;
    nv::ref<node> two;
    nv::weak_ref<node> weak;
    EXPECT_FALSE(one);
    EXPECT_TRUE(one == nullptr);
    look([&](everything& e) {
        one = e.kept.get();
        two = e.kept->next.get();
        weak = e.kept->next.get();
    });
    EXPECT_FALSE(one == two);
    nv::ref<node> copy = one;
    EXPECT_TRUE(copy == one);
    nv::ref<node> taken = std::move(copy);
    EXPECT_TRUE(taken == one);
    EXPECT_FALSE(copy) << "it was moved from";  // NOLINT(bugprone-use-after-move)
    auto& same = taken;
    taken = same;
    EXPECT_TRUE(taken == one) << "assigned to itself";
    const nv::weak_ref<node> weak_copy = weak;
    change([&](nv::tx<>& tx) { all->kept.set(tx, nullptr); });
    EXPECT_EQ(objects(), 2U);
    one = nullptr;
    EXPECT_EQ(objects(), 2U) << "another reference holds it";
    taken = nullptr;
    EXPECT_EQ(objects(), 1U);
    look([&](everything&) {
        EXPECT_EQ((*two).value, 2);
        EXPECT_TRUE(weak.get() == two.get());
    });
    two = nullptr;
    EXPECT_EQ(objects(), 0U);
    look([&](everything&) {
        EXPECT_FALSE(weak.get());
        EXPECT_FALSE(weak_copy.get());
        EXPECT_FALSE(nv::weak_ref<node>().get());
        EXPECT_FALSE(nv::ref<node>().get());
    });
}

}  // namespace
}  // namespace hf::test
