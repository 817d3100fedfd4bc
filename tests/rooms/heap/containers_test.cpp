// Containers against those of the standard library.
#include <holdfast/nv/list.hpp>
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>

#include "base/random.hpp"
#include "heap_of_nodes.hpp"

#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace hf::test {
namespace {

/// A type for which no bucket of a hash table has room.
struct twofold {
    u64 number = 0;
    u64 twice = 2 * number;
};

struct job {
    nv::p<int> number;
    nv::ptr<node> work;
};

struct store {
    static constexpr std::string_view nv_name = "store";
    nv::vector<nv::p<int>> numbers;
    nv::vector<nv::ptr<node>> nodes;
    nv::string text;
    nv::unordered_map<u64, nv::p<u64>> table;
    nv::unordered_map<u64, nv::p<twofold>> table_of_objects;
    nv::unordered_map<u64, nv::ptr<node>> table_of_nodes;
    nv::unordered_map<u32, nv::p<u32>> table_of_halves;
    nv::map<u64, nv::p<u64>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
    nv::map<u64, nv::ptr<node>> tree_of_nodes;
    nv::forward_list<nv::p<int>> list;
    nv::queue<nv::p<int>> queue;
    nv::forward_list<job> listed_jobs;
    nv::queue<job> queued_jobs;
};

class containers : public on_tmpfs {
   protected:
    containers() : heap(open_heap(file)), all(must(heap.root<store>("store"))) {
        must(heap.atomic([&](nv::tx<>& tx) { all.set(tx, tx.make<store>()); }));
    }
    template <class F>
    void change(F&& f) {
        must(heap.atomic([&](nv::tx<>& tx) { f(tx, *all.get()); }));
    }
    nv::heap<> heap;
    nv::root<store> all;
};

TEST_F(containers, a_vector_is_as_the_standard_one) {
    std::vector<int> model;
    splitmix64 random(1);
    for (int round = 0; round < 400; ++round) {
        const u64 what = random() % 8;
        const bool aborts = random() % 10 == 0;
        std::vector<int> next = model;
        const auto done = heap.atomic([&](nv::tx<>& tx) {
            next = model;
            auto& v = all->numbers;
            if (what < 5 || next.empty()) {
                v.push_back(tx, round);
                next.push_back(round);
            } else if (what == 5) {
                v.pop_back(tx);
                next.pop_back();
            } else if (what == 6) {
                const std::size_t i = next.size() / 2;
                v.erase(tx, i);
                next.erase(next.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                v[0].set(tx, -round);
                next[0] = -round;
            }
            if (aborts) tx.abort();
        });
        if (done) model = next;
        must(heap.read([&](nv::tx<>&) {
            std::vector<int> found;
            for (const auto& n : all->numbers) found.push_back(n);
            EXPECT_EQ(found, model);
        }));
    }
    sound(heap);
}

TEST_F(containers, entries_of_two_words_lie_in_the_buckets_of_a_hash_table) {
    constexpr u64 entries = 10'000;
    change([&](nv::tx<>& tx, store& s) { s.table.insert_or_assign(tx, 0, u64{0}); });
    EXPECT_EQ(sound(heap).objects, 2U) << "the store, and the table's buckets";
    for (u64 k = 1; k < entries; ++k) {
        change([&](nv::tx<>& tx, store& s) { s.table.insert_or_assign(tx, k, k); });
    }
    const auto report = sound(heap);
    EXPECT_LT(report.objects, entries / 10) << "and what buckets have no room for";
    EXPECT_GE(report.bytes, entries * line_size / 2);
}

TEST_F(containers, larger_entries_of_a_hash_table_are_objects) {
    constexpr u64 entries = 10'000;
    for (u64 k = 0; k < entries; ++k) {
        change([&](nv::tx<>& tx, store& s) {
            s.table_of_objects.insert_or_assign(tx, k, twofold{k});
        });
    }
    using entry = decltype(store::table_of_objects)::entry;
    EXPECT_GE(sound(heap).bytes, entries * (sizeof(entry) + 16 + line_size / 4));
}

/// `many` keys whose hashes agree in `bits`.
template <class K>
std::vector<K> alike(u64 bits, std::size_t many) {
    std::vector<K> keys;
    const u64 wanted = nv::detail::hash_key(K{0}) & bits;
    for (K k = 0; keys.size() < many; ++k) {
        if ((nv::detail::hash_key(k) & bits) == wanted) keys.push_back(k);
    }
    return keys;
}

/// A table with values of one kind, and what each of them stands for.
template <class K, class T>
void put(nv::tx<>& tx, nv::unordered_map<K, nv::p<T>>& table, K key, u32 number) {
    table.insert_or_assign(tx, key, T{number});
}
void put(nv::tx<>& tx, nv::unordered_map<u64, nv::ptr<node>>& table, u64 key, u32 number) {
    table.insert_or_assign(tx, key, tx.make<node>(static_cast<int>(number)));
}
u64 number_of(u64 value) { return value; }
u64 number_of(const twofold& value) {
    EXPECT_EQ(value.twice, 2 * value.number);
    return value.number;
}
u64 number_of(const nv::cursor<node>& value) { return static_cast<u64>(value->value.get()); }

/// Keys come and go, in turn more of the one than of the other; then all go.
class tables : public containers {
   protected:
    template <class K, class V>
    void come_and_go(nv::unordered_map<K, V> store::* which, const std::vector<K>& keys, u64 rounds,
                     bool has_spills) {
        std::map<K, u64> model;
        splitmix64 random(3);
        for (u64 round = 0; round < rounds; ++round) {
            const K key = keys[random() % keys.size()];
            const bool insert = random() % 10 < (round / (rounds / 4) % 2 == 0 ? 8U : 2U);
            const bool aborts = random() % 16 == 0;
            const auto done = heap.atomic([&](nv::tx<>& tx) {
                auto& table = (*all.get()).*which;
                if (insert) {
                    put(tx, table, key, static_cast<u32>(round));
                } else {
                    EXPECT_EQ(table.erase(tx, key), model.contains(key));
                }
                if (aborts) tx.abort();
            });
            EXPECT_EQ(done.has_value(), !aborts);
            if (aborts) continue;
            if (insert) {
                model[key] = round;
            } else {
                model.erase(key);
            }
            if (round % (rounds / 50) == 0) compare(which, keys, model);
        }
        compare(which, keys, model);
        if (has_spills) {
            EXPECT_GT(sound(heap).objects, 2 + objects_of(which) * model.size());
        }
        for (const auto& [key, number] : model) {
            change([&, k = key](nv::tx<>& tx, store& s) { EXPECT_TRUE((s.*which).erase(tx, k)); });
        }
        EXPECT_EQ(sound(heap).objects, 2U) << "the store, and the table's buckets";
        change([&](nv::tx<>& tx, store& s) { (s.*which).clear(tx); });
        EXPECT_EQ(sound(heap).objects, 1U);
    }

   private:
    template <class K, class V>
    static std::size_t objects_of(nv::unordered_map<K, V> store::*) {
        return std::is_same_v<V, nv::p<u64>> || std::is_same_v<V, nv::p<u32>> ? 0 : 1;
    }
    template <class K, class V>
    void compare(nv::unordered_map<K, V> store::* which, const std::vector<K>& keys,
                 const std::map<K, u64>& model) {
        must(heap.read([&](nv::tx<>&) {
            const auto& table = (*all.get()).*which;
            std::map<K, u64> found;
            table.for_each([&](K k, V& v) { found.emplace(k, number_of(v.get())); });
            ASSERT_EQ(found, model);
            ASSERT_EQ(table.size(), model.size());
            for (const K k : keys) {
                const auto entry = table.find(k);
                ASSERT_EQ(static_cast<bool>(entry), model.contains(k));
                if (entry) {
                    EXPECT_EQ(number_of(entry->value.get()), model.at(k));
                }
            }
        }));
    }
};

template <class K>
std::vector<K> numbers_below(K end) {
    std::vector<K> all(end);
    std::iota(all.begin(), all.end(), K{0});
    return all;
}

TEST_F(tables, of_entries_in_buckets_are_as_the_standard_map) {
    come_and_go(&store::table, numbers_below<u64>(1'000), 6'000, false);
}
TEST_F(tables, of_entries_of_a_word_are_as_the_standard_map) {
    come_and_go(&store::table_of_halves, numbers_below<u32>(1'000), 6'000, false);
}
TEST_F(tables, of_pointers_in_buckets_are_as_the_standard_map) {
    come_and_go(&store::table_of_nodes, numbers_below<u64>(1'000), 6'000, false);
}
TEST_F(tables, of_objects_are_as_the_standard_map) {
    come_and_go(&store::table_of_objects, numbers_below<u64>(1'000), 6'000, false);
}

// They are found by their bucket's spills, which widening the table takes along, and of which those
// that are empty go.
TEST_F(tables, hold_more_of_one_bucket_than_it_has_room_for) {
    for (const u64 bits : {u64{0xfff}, u64{0xff} << 56 | 0x3f}) {
        come_and_go(&store::table, alike<u64>(bits, 100), 2'000, true);
        come_and_go(&store::table_of_halves, alike<u32>(bits, 100), 2'000, true);
        come_and_go(&store::table_of_nodes, alike<u64>(bits, 100), 2'000, true);
        come_and_go(&store::table_of_objects, alike<u64>(bits, 100), 2'000, true);
    }
}

TEST_F(containers, elements_that_are_pointers_are_counted) {
    change([&](nv::tx<>& tx, store& s) {
        for (int i = 0; i < 50; ++i) s.nodes.push_back(tx, tx.make<node>(i));
    });
    change([&](nv::tx<>& tx, store& s) {
        s.nodes.pop_back(tx);
        s.nodes.erase(tx, 0);
    });
    EXPECT_EQ(sound(heap).objects, 1U + 1 + 48);
    change([&](nv::tx<>& tx, store& s) { s.nodes.clear(tx); });
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(containers, a_string_grows_and_is_replaced) {
    std::string model;
    for (int i = 0; i < 30; ++i) {
        const std::string piece(static_cast<std::size_t>(i * 7 % 23),
                                static_cast<char>('a' + i % 26));
        change([&](nv::tx<>& tx, store& s) {
            if (i % 9 == 8) {
                s.text.assign(tx, piece);
            } else {
                s.text.append(tx, piece);
            }
        });
        if (i % 9 == 8) model.clear();
        model += piece;
        must(heap.read([&](nv::tx<>&) {
            EXPECT_EQ(all->text.str(), model);
            EXPECT_TRUE(all->text == model);
        }));
    }
    sound(heap);
}

TEST_F(containers, tables_and_trees_are_as_the_standard_map) {
    std::map<u64, u64> model;
    splitmix64 random(2);
    const auto compare = [&] {
        must(heap.read([&](nv::tx<>&) {
            ASSERT_EQ(all->tree.size(), model.size());
            ASSERT_EQ(all->table.size(), model.size());
            ASSERT_EQ(all->red_black.size(), model.size());
            auto wanted = model.begin();
            all->tree.for_each([&](u64 k, nv::p<u64>& v) {
                ASSERT_NE(wanted, model.end());
                EXPECT_EQ(k, wanted->first);
                EXPECT_EQ(v, wanted->second);
                ++wanted;
            });
            wanted = model.begin();
            all->red_black.for_each([&](u64 k, nv::p<u64>& v) {
                ASSERT_NE(wanted, model.end());
                EXPECT_EQ(k, wanted->first);
                EXPECT_EQ(v, wanted->second);
                ++wanted;
            });
            std::map<u64, u64> found;
            all->table.for_each([&](u64 k, nv::p<u64>& v) { found.emplace(k, v); });
            EXPECT_EQ(found, model);
            const u64 from = random() % 2'000;
            wanted = model.lower_bound(from);
            all->tree.for_each_from(from, [&](u64 k, nv::p<u64>&) {
                EXPECT_EQ(k, wanted->first);
                return ++wanted != model.end();
            });
        }));
    };
    for (int round = 0; round < 6'000; ++round) {
        const u64 key = random() % 1'500;
        // Grows for a while, then shrinks.
        const bool insert = random() % 10 < (round / 1'500 % 2 == 0 ? 7U : 2U);
        change([&](nv::tx<>& tx, store& s) {
            if (insert) {
                s.tree.insert_or_assign(tx, key, u64(round));
                s.table.insert_or_assign(tx, key, u64(round));
                s.red_black.insert_or_assign(tx, key, u64(round));
            } else {
                EXPECT_EQ(s.tree.erase(tx, key), model.contains(key));
                EXPECT_EQ(s.table.erase(tx, key), model.contains(key));
                EXPECT_EQ(s.red_black.erase(tx, key), model.contains(key));
            }
        });
        if (insert) {
            model[key] = static_cast<u64>(round);
        } else {
            model.erase(key);
        }
        if (round % 500 == 0) compare();
    }
    compare();
    sound(heap);
    while (!model.empty()) {
        const u64 key = model.begin()->first;
        model.erase(key);
        change([&](nv::tx<>& tx, store& s) {
            EXPECT_TRUE(s.tree.erase(tx, key));
            EXPECT_TRUE(s.table.erase(tx, key));
            EXPECT_TRUE(s.red_black.erase(tx, key));
        });
    }
    compare();
    EXPECT_EQ(sound(heap).objects, 2U) << "the store, and the table's buckets";
}

using coloured = nv::rb_map<u64, nv::p<u64>>::cursor_type;

/// Black entries on each path from e to a leaf, where the rules of red-black trees hold below it.
int black_height(const coloured& e, bool is_red) {  // NOLINT(misc-no-recursion)
    if (!e) return 0;
    const unsigned red = e->red;
    EXPECT_FALSE(is_red && red != 0) << "below the red " << e->key;
    EXPECT_TRUE(red == 0 || (red == 1 && e->left) || (red == 2 && e->right) ||
                (red == 3 && e->left && e->right))
        << "what is not there is black, below " << e->key;
    const int left = black_height(e->left, (red & 1) != 0);
    EXPECT_EQ(left, black_height(e->right, (red & 2) != 0)) << "below " << e->key;
    return left + (is_red ? 0 : 1);
}

TEST_F(containers, a_red_black_tree_keeps_its_rules_at_each_step) {
    std::set<u64> model;
    splitmix64 random(3);
    for (int round = 0; round < 600; ++round) {
        const u64 key = random() % 96;
        const bool insert = random() % 10 < (round / 150 % 2 == 0 ? 8U : 3U);
        change([&](nv::tx<>& tx, store& s) {
            if (insert) {
                EXPECT_EQ(s.red_black.try_emplace(tx, key).second, model.insert(key).second);
            } else {
                EXPECT_EQ(s.red_black.erase(tx, key), model.erase(key) == 1);
            }
        });
        must(heap.read([&](nv::tx<>&) {
            EXPECT_EQ(all->red_black.size(), model.size());
            EXPECT_EQ(all->red_black.empty(), model.empty());
            // One of them is the root. Below the others, which may be red, the rules hold as well.
            for (const u64 each : model) (void)black_height(all->red_black.find(each), false);
        }));
        ASSERT_FALSE(HasFailure()) << "in round " << round;
    }
    EXPECT_EQ(sound(heap).objects, 1U + model.size());
}

TEST_F(containers, a_place_that_was_found_is_one_to_insert_at_or_to_erase_at) {
    std::set<u64> model;
    splitmix64 random(4);
    const auto toggle = [](nv::tx<>& tx, auto& map, u64 key) {
        const auto at = map.place_of(key);
        if (at) {
            map.erase_at(tx, at);
            return false;
        }
        static_cast<void>(map.insert_at(tx, at, key));
        return true;
    };
    for (int round = 0; round < 1'500; ++round) {
        const u64 key = random() % 400;
        const bool inserts = model.insert(key).second;
        if (!inserts) model.erase(key);
        change([&](nv::tx<>& tx, store& s) {
            EXPECT_EQ(toggle(tx, s.tree, key), inserts);
            EXPECT_EQ(toggle(tx, s.table, key), inserts);
            EXPECT_EQ(toggle(tx, s.red_black, key), inserts);
            EXPECT_EQ(toggle(tx, s.tree_of_nodes, key), inserts);
        });
    }
    must(heap.read([&](nv::tx<>&) {
        EXPECT_EQ(all->tree_of_nodes.size(), model.size());
        for (u64 key = 0; key < 400; ++key) {
            EXPECT_EQ(all->tree.contains(key), model.contains(key));
            EXPECT_EQ(all->table.contains(key), model.contains(key));
            EXPECT_EQ(all->red_black.contains(key), model.contains(key));
            if (model.contains(key)) {
                EXPECT_EQ(*all->tree.find(key), 0U);
            }
        }
    }));
    sound(heap);
}

// The standard library's vector has the same done to it.
TEST(slot_order, puts_in_and_takes_out_at_each_place) {
    using order = nv::detail::slot_order;
    splitmix64 random(5);
    order tried = order::first(0);
    std::vector<u32> model;
    for (int round = 0; round < 2'000; ++round) {
        const auto at = static_cast<u32>(random() % (model.size() + 1));
        if (model.size() < order::most && random() % 2 == 0) {
            tried = tried.inserted(at);
            model.insert(model.begin() + std::ptrdiff_t{at}, tried.slot(at));
        } else if (at < model.size()) {
            tried = tried.erased(at);
            model.erase(model.begin() + std::ptrdiff_t{at});
        } else {
            tried = tried.cut(at);
        }
        ASSERT_EQ(tried.count(), model.size());
        std::set<u32> slots;
        for (u32 i = 0; i < order::most; ++i) slots.insert(tried.slot(i));
        ASSERT_EQ(slots.size(), order::most) << "each slot is there once";
        for (u32 i = 0; i < model.size(); ++i) ASSERT_EQ(tried.slot(i), model[i]);
        bool is_within = true;
        for (u32 i = 0; i < 14; ++i) is_within = is_within && tried.slot(i) < 14;
        ASSERT_EQ(tried.is_within_14(), is_within);
    }
}

TEST_F(containers, a_tree_of_pointers_keeps_its_objects_and_no_others) {
    for (int i = 0; i < 600; ++i) {
        const u64 key = static_cast<u64>(i) * 7919 % 601;
        change([&](nv::tx<>& tx, store& s) {
            s.tree_of_nodes.insert_or_assign(tx, key, tx.make<node>(i));
        });
    }
    for (u64 key = 0; key < 601; key += 2) {
        change([&](nv::tx<>& tx, store& s) { s.tree_of_nodes.erase(tx, key); });
    }
    must(heap.read([&](nv::tx<>&) {
        u64 n = 0;
        all->tree_of_nodes.for_each([&](u64 k, nv::ptr<node>& v) {
            EXPECT_EQ(k % 2, 1U);
            EXPECT_EQ(static_cast<u64>(v->value.get()) * 7919 % 601, k);
            ++n;
        });
        EXPECT_EQ(n, all->tree_of_nodes.size());
    }));
    sound(heap);
    change([&](nv::tx<>& tx, store& s) { s.tree_of_nodes.clear(tx); });
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(containers, lists_and_queues_keep_their_order) {
    std::queue<int> model;
    for (int i = 0; i < 200; ++i) {
        change([&](nv::tx<>& tx, store& s) {
            if (i % 3 != 2) {
                s.queue.push(tx, i);
            } else {
                EXPECT_EQ(s.queue.front()->value, model.front());
                s.queue.pop(tx);
            }
            if (i % 2 == 0) s.list.push_front(tx, i);
        });
        if (i % 3 != 2) {
            model.push(i);
        } else {
            model.pop();
        }
    }
    change([&](nv::tx<>& tx, store& s) {
        s.list.insert_after(tx, s.list.front(), 1'000);
        s.list.pop_front(tx);
        EXPECT_EQ(s.list.front()->value, 1'000);
        s.list.erase_after(tx, s.list.front());
        while (!s.queue.empty()) s.queue.pop(tx);
        s.list.clear(tx);
    });
    EXPECT_EQ(sound(heap).objects, 1U);
}

TEST_F(containers, lists_and_queues_have_structs_as_elements) {
    change([](nv::tx<>& tx, store& s) {
        for (int i = 0; i < 3; ++i) {
            const auto queued = s.queued_jobs.push(tx);
            queued->value.number.set(tx, i);
            queued->value.work.set(tx, tx.make<node>(i));
            s.listed_jobs.push_front(tx)->value.number.set(tx, i);
        }
        s.listed_jobs.insert_after(tx, s.listed_jobs.front())->value.number.set(tx, 7);
    });
    std::vector<int> listed;
    change([&](nv::tx<>& tx, store& s) {
        listed.clear();
        s.listed_jobs.for_each([&](const job& j) { listed.push_back(j.number); });
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(s.queued_jobs.front()->value.number, i);
            EXPECT_EQ(s.queued_jobs.front()->value.work->value, i);
            s.queued_jobs.pop(tx);
        }
        EXPECT_TRUE(s.queued_jobs.empty());
        s.listed_jobs.clear(tx);
    });
    EXPECT_EQ(listed, (std::vector<int>{2, 7, 1, 0}));
    EXPECT_EQ(sound(heap).objects, 1U);
}

}  // namespace
}  // namespace hf::test
