// An index in a file: it survives restarts, a concurrent sweep frees nothing in use, a full region
// refuses writes and keeps working, and bad input results in one error.
#pragma once

#include "base/random.hpp"
#include "index/common/batch.hpp"
#include "index/common/index_fixture.hpp"
#include "persist/counters.hpp"
#include "support/effort.hpp"
#include "support/kernel.hpp"

#include <cerrno>

namespace hf::test {

template <class Family>
class index_store : public on_tmpfs {};
TYPED_TEST_SUITE_P(index_store);

/// Flushes and fences of the calling thread during work().
template <class Work>
std::pair<u64, u64> cost_of(Work&& work) {
    const persist_counters before = thread_persist_counters();
    work();
    const persist_counters after = thread_persist_counters();
    return {after.flushes - before.flushes, after.fences - before.fences};
}

/// Bytes written with non-temporal stores by the calling thread during work().
template <class Work>
u64 streamed_by(Work&& work) {
    const u64 before = thread_persist_counters().streamed_bytes;
    work();
    return thread_persist_counters().streamed_bytes - before;
}

/// Fences of a batch of `many` keys, which takes the place of removed ones.
template <class Tree>
u64 fences_of_batch(Tree& t, u64 others, u64 many) {
    using kept = typename Tree::kept;
    const auto key = [](u64 n) {
        if constexpr (std::is_same_v<kept, u64>) {
            return n;
        } else {
            return std::string(1, static_cast<char>(n));
        }
    };
    for (u64 n = 0; n < others; ++n) t.insert(key(n), key(n));
    for (u64 n = 0; n < many; ++n) t.remove(key(n));
    std::vector<std::pair<kept, kept>> all;
    for (u64 n = 0; n < many; ++n) all.emplace_back(key(n), key(n));
    const std::vector<batch_entry<typename Tree::tree>> entries(all.begin(), all.end());
    return cost_of(
               [&] { EXPECT_EQ(must(insert_many(*t.index, *t.space, std::span(entries))), many); })
        .second;
}

/// Flushes and fences of a bulk load: sorted keys into an empty index.
template <class Tree>
std::pair<u64, u64> cost_of_load(Tree& t, u64 many) {
    using kept = typename Tree::kept;
    std::vector<std::pair<kept, kept>> all;
    for (u64 n = 0; n < many; ++n) {
        if constexpr (std::is_same_v<kept, u64>) {
            all.emplace_back(n * 17, n);
        } else {
            const std::string k = std::to_string(100'000 + n * 17);
            all.emplace_back(k, k);
        }
    }
    const std::vector<batch_entry<typename Tree::tree>> entries(all.begin(), all.end());
    const auto cost = cost_of(
        [&] { EXPECT_EQ(must(insert_many(*t.index, *t.space, std::span(entries))), many); });
    EXPECT_EQ(t.all(), all);
    t.expect_sound();
    return cost;
}

TYPED_TEST_P(index_store, survives_kills_and_clean_closes) {
    typename TypeParam::bytes_in_file t(this->file);
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
        if (round % 2 == 0) must(t.space->close());
        t.open_again(round % 3 == 0 ? sweeping::in_background : sweeping::at_opening);
        ASSERT_EQ(t.all(), typename TypeParam::bytes_in_file::entries(model.begin(), model.end()));
        must(t.space->wait_for_sweep());
        t.expect_sound();
    }
}

// Hints of an earlier session must not be used, neither before nor after a node's first writer.
TYPED_TEST_P(index_store, reads_and_writes_nodes_of_an_earlier_session) {
    typename TypeParam::numbers_in_file t(this->file);
    for (u64 k = 0; k < 40; ++k) t.insert(k * 5, k);
    for (int round = 0; round < 3; ++round) {
        t.open_again();
        for (u64 k = 0; k < 200; ++k) {
            ASSERT_EQ(t.get(k).has_value(), k % 5 == 0 && (k != 100 || round == 0));
        }
        if (round == 0) t.remove(100);
        for (u64 k = 0; k < 200; ++k) ASSERT_EQ(t.get(k).has_value(), k % 5 == 0 && k != 100);
        t.expect_sound();
    }
}

TYPED_TEST_P(index_store, sweep_during_writes_frees_nothing_in_use) {
    typename TypeParam::bytes_in_file t(this->file);
    const auto name = [](u64 k) { return std::string(k % 7, 'n') + "key" + std::to_string(k); };
    constexpr u64 keys = 600;
    for (u64 k = 0; k < keys; ++k) t.insert(name(k), std::string(100, 'o'));
    for (unsigned round = 0; round < 4; ++round) {
        t.open_again(sweeping::in_background);
        std::vector<std::thread> all;
        for (unsigned me = 0; me < 2; ++me) {
            all.emplace_back([&, me] {
                splitmix64 random(me + 10);
                for (u64 i = 0; i < scaled(4000); ++i) {
                    const u64 k = random() % keys;
                    if (random() % 3 == 0) {
                        t.remove(name(k));
                    } else {
                        t.upsert(name(k), name(k) + std::string(random() % 200, 'n'));
                    }
                    // Split nodes and move records while the sweep is running.
                    const std::string fresh = name(k) + "/" + std::to_string(round * 10 + me);
                    if (i % 2 == 0) t.insert(fresh, "new");
                    const std::string other = name(random() % keys);
                    const auto v = t.get(other);
                    ASSERT_TRUE(!v || v->starts_with(other) || *v == std::string(100, 'o')) << *v;
                }
            });
        }
        for (std::thread& one : all) one.join();
        must(t.space->wait_for_sweep());
        t.expect_sound();
    }
}

// ------------------------------------------------------------------------------------- bad input

TYPED_TEST_P(index_store, full_region_refuses_writes_and_keeps_working) {
    typename TypeParam::bytes_in_file t(this->file, u64{4} << 20);
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
    // Continue until every size class has run out of blocks: whichever allocation fails, the
    // operation's other blocks must be freed.
    for (u64 i = 0, refusals = 0; refusals < 400; ++i) {
        const std::string k = std::to_string(i) + std::string(i % 70, 'y');
        const std::string v(i * 37 % 500 >> i % 8, 'v');
        eager_discipline::operation op(*t.space);
        auto done = t.index->insert(op, k, v);
        if (!done) {
            ++refusals;
            ASSERT_EQ(done.error().code, errc::no_space) << done.error().to_string();
        } else if (*done) {
            model.emplace(k, v);
        }
    }
    EXPECT_EQ(t.all(), typename TypeParam::bytes_in_file::entries(model.begin(), model.end()));
    t.expect_sound();
    while (model.size() > 10) {
        ASSERT_TRUE(t.remove(model.begin()->first));
        model.erase(model.begin());
    }
    t.space->grace().reclaim_all();
    EXPECT_TRUE(t.insert("there is room again", std::string(300, 'v')));
    model.emplace("there is room again", std::string(300, 'v'));
    t.open_again();
    EXPECT_EQ(t.all(), typename TypeParam::bytes_in_file::entries(model.begin(), model.end()));
    t.expect_sound();
}

// A batch without memory reports it; the entries inserted before are complete. Records as large as
// nodes use up the nodes' blocks; small ones leave blocks that are too small for nodes.
template <class Tree>
void fill_with_batches(Tree& t, u64 most_tail, u64 most_value) {
    std::map<std::string, std::string> tried;
    splitmix64 random(3);
    std::optional<error> refused;
    for (unsigned full = 0; full < 20;) {
        std::vector<std::pair<std::string, std::string>> all;
        for (u64 n = 0; n < batch_entries; ++n) {
            std::string k = std::to_string(random() % 1'000'000);
            k.append(random() % most_tail, 'x');
            all.emplace_back(std::move(k), std::string(random() % most_value, 'v'));
        }
        const std::vector<batch_entry<typename Tree::tree>> entries(all.begin(), all.end());
        u64 fresh = 0;
        for (const auto& [k, v] : all) {
            if (!t.get(k)) fresh += tried.emplace(k, v).second ? 1 : 0;
        }
        auto done = insert_many(*t.index, *t.space, std::span(entries));
        if (done) {
            ASSERT_EQ(*done, fresh) << "after " << full << " refusals";
            continue;
        }
        refused = done.error();
        ++full;
        for (const auto& [k, v] : all) {
            if (!t.get(k)) tried.erase(k);
        }
        // Make room for some entries.
        for (u64 n = 0; n < full * 12 && !tried.empty(); ++n) {
            const auto gone = tried.lower_bound(std::to_string(random() % 1'000'000));
            if (gone == tried.end()) continue;
            ASSERT_TRUE(t.remove(gone->first));
            tried.erase(gone);
        }
        t.space->grace().reclaim_all();
    }
    EXPECT_EQ(refused->code, errc::no_space) << refused->to_string();
    const typename Tree::entries wanted(tried.begin(), tried.end());
    EXPECT_TRUE(t.all() == wanted);
    t.expect_sound();
    t.open_again();
    EXPECT_TRUE(t.all() == wanted);
    t.expect_sound();
}

TYPED_TEST_P(index_store, full_region_refuses_batches_and_keeps_working) {
    typename TypeParam::bytes_in_file large(this->file, u64{4} << 20);
    ASSERT_NO_FATAL_FAILURE(fill_with_batches(large, 50, 300));
    typename TypeParam::bytes_in_file small(this->dir / "small", u64{4} << 20);
    ASSERT_NO_FATAL_FAILURE(fill_with_batches(small, 1, 4));
}

// The disk is full for a moment: the region's growth fails for the batch, and succeeds later, when
// its entries are inserted one by one. The number of refusals determines which step fails.
TYPED_TEST_P(index_store, batch_on_a_full_disk_counts_the_inserted_entries) {
    for (unsigned refusals = 1; refusals <= 6; ++refusals) {
        typename TypeParam::bytes_in_file t(this->dir / std::to_string(refusals));
        unsigned left = refusals;
        const kernel::answered disk([&](const kernel::call& c) -> kernel::answer {
            if (c.name != "fallocate") return {};
            if (left == 0) {
                left = refusals;
                return {};
            }
            --left;
            return {ENOSPC};
        });
        u64 counted = 0;
        std::map<std::string, std::string> fresh;
        for (u64 i = 0; i < effort(u64{300}, u64{60}); ++i) {
            std::vector<std::pair<std::string, std::string>> all;
            for (u64 n = 0; n < batch_entries; ++n) {
                const u64 k = (i * batch_entries + n) * 7919 % 1'000'003;
                all.emplace_back(std::to_string(k), std::to_string(refusals));
            }
            const std::vector<batch_entry<typename TypeParam::bytes_in_file::tree>> entries(
                all.begin(), all.end());
            const auto done = insert_many(*t.index, *t.space, std::span(entries));
            for (const auto& [k, v] : all) {
                if (done || t.get(k)) fresh.emplace(k, v);
            }
            if (done) counted += *done;
            ASSERT_TRUE(!done || counted == fresh.size()) << "batch " << i;
            counted = fresh.size();
        }
        const typename TypeParam::bytes_in_file::entries wanted(fresh.begin(), fresh.end());
        EXPECT_TRUE(t.all() == wanted);
        t.expect_sound();
    }
}

TYPED_TEST_P(index_store, too_large_keys_and_values_are_refused) {
    typename TypeParam::bytes_in_file t(this->file);
    eager_discipline::operation op(*t.space);
    const std::string most(4096, 'k');
    EXPECT_TRUE(must(t.index->insert(op, most, "v")));
    auto refused = t.index->insert(op, most + "k", "v");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::too_large);
    EXPECT_FALSE(t.index->get(op, most + "k", ignore));
    EXPECT_TRUE(t.index->get(op, most, ignore));
}

TYPED_TEST_P(index_store, root_of_another_key_type_is_refused) {
    {
        typename TypeParam::numbers_in_file t(this->file);
        t.insert(1, 1);
    }
    eager_options o;
    o.region.kind = discipline::eager;
    o.region.flush = flush_policy::always;
    using strings = typename TypeParam::bytes_in_file::tree;
    const layout::room_format rooms[] = {strings::format};
    auto opened = eager_space::open(this->file, o, rooms, [](eager_space& s) -> result<void> {
        auto made = strings::open(s, strings::name);
        return made ? result<void>{} : tl::unexpected(made.error());
    });
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
}

TYPED_TEST_P(index_store, root_that_points_to_no_block_is_refused) {
    using tree = typename TypeParam::numbers_in_file::tree;
    u64 type = 0;
    u32 format = 0;
    {
        const typename TypeParam::numbers_in_file t(this->file);
        const auto* root = must(t.space->file().find_root(tree::name));
        type = root->type;
        format = root->format;
    }
    eager_options o;
    o.region.kind = discipline::eager;
    o.region.flush = flush_policy::always;
    const layout::room_format rooms[] = {tree::format};
    for (const u64 offset : {u64{8}, u64{1} << 16, u64{1} << 20, (u64{1} << 40) - 64}) {
        const auto copy = this->dir / std::to_string(offset);
        const auto opened = eager_space::open(copy, o, rooms, [&](eager_space& s) -> result<void> {
            must(s.file().publish_root(tree::name, type, format, offset));
            auto made = tree::open(s, tree::name);
            return made ? result<void>{} : tl::unexpected(made.error());
        });
        ASSERT_FALSE(opened) << offset;
        EXPECT_EQ(opened.error().code, errc::corrupt) << opened.error().to_string();
        EXPECT_NE(opened.error().where.find("offset " + std::to_string(offset)), std::string::npos)
            << opened.error().to_string();
    }
}

// ------------------------------------------------------------------------------------- odd keys

// Keys that are prefixes of others, the empty key, and keys with zeros: a tree without an end slot
// would read past the key, or confuse two keys.
TYPED_TEST_P(index_store, keys_may_be_prefixes_of_others) {
    typename TypeParam::bytes_in_file t(this->file);
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
    t.expect_sound();
}

TYPED_TEST_P(index_store, old_value_is_passed_once) {
    typename TypeParam::bytes_in_file t(this->file);
    eager_discipline::operation op(*t.space);
    std::string old;
    const auto keep = [&](std::string_view v) { old += v; };
    EXPECT_TRUE(must(t.index->upsert(op, "k", "1", keep)));
    EXPECT_EQ(old, "");
    EXPECT_FALSE(must(t.index->upsert(op, "k", "2", keep)));
    EXPECT_EQ(old, "1");
    EXPECT_TRUE(must(t.index->update(op, "k", "3", keep)));
    EXPECT_EQ(old, "12");
    EXPECT_TRUE(t.index->remove(op, "k", keep));
    EXPECT_EQ(old, "123");
}

TYPED_TEST_P(index_store, replaced_and_removed_records_are_freed) {
    typename TypeParam::bytes_in_file t(this->file);
    for (int round = 0; round < 50; ++round) {
        for (int k = 0; k < 100; ++k) {
            t.upsert("key" + std::to_string(k), std::string(1000, static_cast<char>('a' + k % 26)));
        }
    }
    t.expect_sound();
    EXPECT_LT(t.space->file().size(), u64{2} << 20);
    EXPECT_TRUE(t.insert("large", std::string(200'000, 'v')));
    EXPECT_EQ(t.get("large"), std::string(200'000, 'v'));
    for (int k = 0; k < 100; ++k) EXPECT_TRUE(t.remove("key" + std::to_string(k)));
    t.expect_sound();
}

REGISTER_TYPED_TEST_SUITE_P(
    index_store, survives_kills_and_clean_closes, reads_and_writes_nodes_of_an_earlier_session,
    sweep_during_writes_frees_nothing_in_use, full_region_refuses_writes_and_keeps_working,
    full_region_refuses_batches_and_keeps_working, batch_on_a_full_disk_counts_the_inserted_entries,
    too_large_keys_and_values_are_refused, root_of_another_key_type_is_refused,
    root_that_points_to_no_block_is_refused, keys_may_be_prefixes_of_others,
    old_value_is_passed_once, replaced_and_removed_records_are_freed);

}  // namespace hf::test
