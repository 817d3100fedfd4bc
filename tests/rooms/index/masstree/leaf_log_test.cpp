// The in-cache-line logs of a leaf: after any changes in an epoch, its own logs or the external log
// restore the epoch's start, also across the wrap of the low 16 epoch bits.
#include "base/random.hpp"
#include "index/masstree/tree_fixture.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

using namespace masstree_detail;

/// A leaf in a region, and its contents when the epoch began.
class logged_leaf : public ::testing::Test {
   protected:
    static constexpr unsigned width = durable_leaf::width;

    void start(u64 first_epoch) {
        engine_options o = by_hand();
        o.file.first_epoch = first_epoch;
        e_.emplace(file_.path(), o);
        hooks_.emplace(e_->machine().memory(), true);
        operation op(e_->checkpoint());
        const u64 offset = must(e_->machine().memory().allocate(op, node_payload));
        leaf_ = object_at<durable_leaf>(e_->tree().base(), offset);
        std::memset(static_cast<void*>(leaf_), 0, sizeof *leaf_);
        leaf_->version.init(true, 0);
        store(leaf_->order, leaf_->sealed_order(leaf_permutation::empty().word()));
        hooks_->fresh_leaf(op, *leaf_);
        store(leaf_->log_epoch, 0);  // so that its in-line logs are used
        remember();
    }
    void remember() {
        order_ = load(leaf_->order);
        for (unsigned s = 0; s < width; ++s) values_[s] = load(leaf_->values[s]);
    }
    u64 some_value() {
        const u64 offset = 16 * (1 + r_.below(window_size / 16 - 1));
        return leaf_->sealed_value(r_.below(4) == 0 ? value_word::of_layer(offset)
                                                    : value_word::of_record(offset));
    }

    void change(operation& op) {
        durable_leaf& n = *leaf_;
        const leaf_permutation p(load(n.order));
        const u64 dice = r_.below(10);
        leaf_->version.lock(0);
        if (dice < 5 && p.size() > 0) {
            const unsigned s = p.slot(static_cast<unsigned>(r_.below(p.size())));
            const u64 old_log[2] = {load(n.value_log_0), load(n.value_log_1)};
            const u64 old_inserts = n.version.load() & version_lock::marks;
            must(hooks_->before_value_change(op, n, s));
            // A log in a spare slot changes that slot, so readers must see a changed version.
            const bool spare_log = load(n.log_epoch) != op.epoch() && old_inserts == 0 &&
                                   (n.version.load() & version_lock::inserting) != 0;
            if (spare_log) {
                EXPECT_EQ(old_log[s / slots_per_line], load(value_log(n, s / slots_per_line)));
                ++spare_logs_;
            }
            store(n.values[s], some_value());
        } else if (dice < 7 && p.size() > 0) {
            must(hooks_->before_removal(op, n));
            const auto rank = static_cast<unsigned>(r_.below(p.size()));
            store(n.order, n.sealed_order(p.removed(rank).word()));
        } else if (!p.full()) {
            const unsigned s = must(hooks_->choose_slot_for_insert(op, n, p));
            ASSERT_EQ(p.used() >> s & 1, 0U);
            store(n.values[s], some_value());
            const auto rank = static_cast<unsigned>(r_.below(p.size() + 1));
            store(n.order, n.sealed_order(p.inserted(rank, s).word()));
        }
        leaf_->version.unlock();
    }

    /// Simulates a power failure now, with all lines written.
    void expect_recovery(operation& op) {
        const u64 e = op.epoch();
        if (load(leaf_->log_epoch) == e) {
            ++externally_logged_;
            return;  // the external log restores it
        }
        failed_set failed;
        failed.add(e);
        // In place, because the seals depend on the leaf's offset.
        std::array<std::byte, sizeof(durable_leaf)> before;
        std::memcpy(before.data(), static_cast<const void*>(leaf_), before.size());
        roll_back(op, failed);
        std::memcpy(static_cast<void*>(leaf_), before.data(), before.size());
    }
    void roll_back(operation& op, const failed_set& failed) {
        const u64 e = op.epoch();
        durable_leaf& n = *leaf_;
        const bool changed = load(n.order) != order_ || has_other_values(n);
        if (changed) {
            ASSERT_TRUE(needs_recovery(n, failed));
        }
        ASSERT_NO_THROW(check_logs(n));
        settle(n, op.my_lane(), failed, e + 1);
        ASSERT_NO_THROW(check_logs(n));
        ASSERT_FALSE(needs_recovery(n, failed));
        ASSERT_EQ(load(n.order), order_);
        ASSERT_FALSE(has_other_values(n));
        failed_set others;  // failed epochs before and after: not this leaf's
        others.add(e + 1);
        ASSERT_EQ(needs_recovery(n, others), n.epoch() == e + 1);
        ++recovered_;
    }
    [[nodiscard]] bool has_other_values(const durable_leaf& n) const {
        const unsigned used = leaf_permutation(order_).used();
        for (unsigned s = 0; s < width; ++s) {
            if ((used >> s & 1) != 0 && load(n.values[s]) != values_[s]) return true;
        }
        return false;
    }

    void live(unsigned epochs) {
        for (unsigned i = 0; i < epochs; ++i) {
            {
                operation op(e_->checkpoint());
                remember();
                const u64 count = r_.below(6);
                for (u64 k = 0; k < count; ++k) {
                    change(op);
                    expect_recovery(op);
                    if (HasFailure()) FAIL() << "epoch " << op.epoch() << ", change " << k;
                }
            }
            e_->epochs().end_epoch();
        }
    }

    scratch_file file_;
    std::optional<test_engine<incll_discipline>> e_;
    std::optional<incll_adapter> hooks_;
    durable_leaf* leaf_ = nullptr;
    xoshiro256ss r_{7};
    u64 order_ = 0;
    std::array<u64, width> values_{};
    unsigned recovered_ = 0;
    unsigned externally_logged_ = 0;
    unsigned spare_logs_ = 0;
};

TEST_F(logged_leaf, rollback_restores_the_start_of_the_epoch) {
    start(1);
    live(scaled(3000));
    // Most changes need no external log.
    EXPECT_GT(recovered_, externally_logged_);
    EXPECT_GT(spare_logs_, recovered_ / 50);
}

TEST_F(logged_leaf, rollback_works_across_the_wrap_of_the_low_epoch_bits) {
    for (u64 first = 65536 - 40; first < 65536; first += 9) {
        start(first);
        live(60);
        if (HasFailure()) return;
        hooks_.reset();
        e_.reset();
        std::filesystem::remove(file_.path());
    }
}

// A thread that waited for another's recovery finds the leaf recovered, and perhaps changed since.
TEST_F(logged_leaf, concurrent_rollbacks_happen_once) {
    start(5);
    live(3);
    operation op(e_->checkpoint());
    durable_leaf& n = *leaf_;
    must(hooks_->choose_slot_for_insert(op, n, leaf_permutation(load(n.order))));
    store(n.log_epoch, 0);
    failed_set failed;
    failed.add(op.epoch());
    const u64 now = op.epoch() + 1;
    ASSERT_TRUE(needs_recovery(n, failed));
    recover(n, op.my_lane(), failed, now);
    ASSERT_EQ(n.epoch(), now);
    const u64 at_start = load(n.order);
    const leaf_permutation p(at_start);
    store(n.order, n.sealed_order(p.inserted(0, p.slot(p.size())).word()));
    const u64 changed = load(n.order);
    recover(n, op.my_lane(), failed, now);
    EXPECT_EQ(load(n.permutation_log), at_start) << "its own log is lost";
    EXPECT_EQ(load(n.order), changed);
    // Also if the leaf was first changed in the epoch after the failed one.
    store(n.permutation_log, 0);
    recover(n, op.my_lane(), failed, now);
    EXPECT_EQ(load(n.permutation_log), 0U);
}

// Line 0 is not stamped with the failed epoch; logs of it are in each place, for each slot.
TEST_F(logged_leaf, rollback_finds_each_slots_log_in_every_place) {
    start(100);
    operation op(e_->checkpoint());
    for (const u64 e : {u64{99}, u64{65535}, u64{65536}}) {
        failed_set failed;
        failed.add(e);
        for (unsigned s = 0; s < width; ++s) {
            const unsigned line = s / slots_per_line;
            for (unsigned place = 0; place <= slots_per_line; ++place) {
                // place 7: the line's own log
                const unsigned spare = line * slots_per_line + place;
                if (spare == s) continue;
                const bool own = place == slots_per_line;
                durable_leaf& n = *leaf_;
                leaf_permutation p = leaf_permutation::filled(width);
                for (unsigned r = 0; !own && p.uses(spare); ++r) {
                    if (p.slot(r) == spare) p = p.removed(r);
                }
                store(n.order, p.word());
                store(n.permutation_log, 0);
                n.set_epoch(e & ~u64{0xffff});
                for (unsigned i = 0; i < width; ++i) {
                    store(n.values[i], value_word::of_record(16 * (i + 1)));
                }
                store(n.value_log_0, log_word::stamp(e - 1, n.place()));
                store(n.value_log_1, log_word::stamp(e - 1, n.place()));
                if (e % 65536 == 0) n.set_epoch(e);
                if (e % 65536 == 0) store(n.permutation_log, p.word());
                const u64 old = value_word::of_layer(4096 + 16 * s);
                store(own ? value_log(n, line) : n.values[spare],
                      log_word::make(e, s % slots_per_line, old, n.place()));
                ASSERT_TRUE(needs_recovery(n, failed)) << e << " " << s << " " << place;
                recover(n, op.my_lane(), failed, e + 1);
                for (unsigned i = 0; i < width; ++i) {
                    if (!own && i == spare) {
                        ASSERT_EQ(load(n.values[i]), log_word::cleared);
                    } else {
                        ASSERT_EQ(load(n.values[i]), i == s ? n.sealed_value(old)
                                                            : value_word::of_record(16 * (i + 1)))
                            << e << " " << s << " " << place << " " << i;
                    }
                }
                ASSERT_EQ(load(n.order), p.word());
                ASSERT_EQ(n.epoch(), e + 1);
            }
        }
    }
}

/// Bytes of a block's last owner must not be interpreted as logs of the new leaf.
TEST(new_leaf, reused_block_keeps_no_logs_of_its_last_owner) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    auto& memory = e.machine().memory();
    const auto leaf_at = [&](u64 offset) -> durable_leaf& {
        return *object_at<durable_leaf>(e.tree().base(), offset);
    };
    std::vector<u64> blocks;
    {
        operation op(e.checkpoint());
        for (int i = 0; i < 40; ++i) {
            blocks.push_back(must(memory.allocate(op, node_payload)));
            durable_leaf& n = leaf_at(blocks.back());
            store(n.order, leaf_permutation::filled(durable_leaf::width).word());
            for (unsigned s = 0; s < durable_leaf::width; ++s) {
                store(n.values[s], log_word::make(1, s % slots_per_line, 16, n.place()));
            }
        }
        for (const u64 b : blocks) memory.deallocate(op, b, node_payload);
    }
    e.epochs().end_epoch();
    for (unsigned i = 10; i < 90; ++i) e.put("key " + std::to_string(i), "value");
    const auto& root = *object_at<interior>(e.tree().base(), e.tree().root());
    unsigned again = 0;
    for (u64 i = 0; i <= load(root.count); ++i) {
        const u64 offset = load(root.children[i]);
        again += static_cast<unsigned>(std::count(blocks.begin(), blocks.end(), offset));
        const durable_leaf& n = leaf_at(offset);
        const unsigned used = leaf_permutation(load(n.order)).used();
        for (unsigned s = 0; s < durable_leaf::width; ++s) {
            EXPECT_FALSE((used >> s & 1) == 0 && log_word::is_log(load(n.values[s]))) << s;
        }
    }
    EXPECT_GT(again, 2U) << "blocks are used again";
}

/// Every kind of update makes the clock end its epoch.
template <class D>
void expect_epochs_of_updates_to_end() {
    scratch_file file;
    engine_options o = by_hand();
    o.epochs.epoch = std::chrono::milliseconds(1);
    test_engine<D> e(file.path(), o);
    const auto becomes_durable = [&](auto&& change) {
        const u64 epoch = e.epochs().current_epoch();
        change();
        for (int tries = 0; tries < 5000; ++tries) {
            if (e.epochs().durable_epoch() >= epoch) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    };
    for (int i = 0; i < 20; ++i) {
        const std::string key = std::to_string(i);
        ASSERT_TRUE(becomes_durable([&] { e.put(key, "1"); })) << "new, " << i;
        ASSERT_TRUE(becomes_durable([&] { e.put(key, "2"); })) << "replaced, " << i;
        ASSERT_TRUE(i % 2 == 0 || becomes_durable([&] { e.remove(key); })) << "gone, " << i;
    }
}

/// Both lines have free slots that may serve as logs, in a leaf that was filled and in one that was
/// split.
TEST(durable_leaf, leaf_with_free_slots_logs_several_values_per_line) {
    scratch_file file;
    test_engine<incll_discipline> e(file.path(), by_hand());
    const auto key = [](u64 i) { return "k" + std::to_string(10 + i); };
    const auto leaf_at = [&](u64 offset) -> durable_leaf& {
        return *object_at<durable_leaf>(e.tree().base(), offset);
    };
    const auto expect_in_line = [&](u64 offset, u64 first, u64 count) {
        e.epochs().end_epoch();
        for (u64 i = first; i < first + count; ++i) e.put(key(i), "another");
        const durable_leaf& n = leaf_at(offset);
        operation op(e.checkpoint());
        EXPECT_LT(load(n.log_epoch), op.epoch()) << count << " keys from " << first << " on";
    };
    for (u64 i = 0; i < 10; ++i) e.put(key(i), "one");
    const u64 root = e.tree().root();
    for (u64 first = 0; first < 5; ++first) expect_in_line(root, first, 6);
    for (u64 i = 10; i < 20; ++i) e.put(key(i), "one");
    const auto& parent = *object_at<interior>(e.tree().base(), root);
    ASSERT_EQ(load(parent.count), 1U);
    const u64 right = load(parent.children[1]);
    const unsigned there = leaf_permutation(load(leaf_at(right).order)).size();
    ASSERT_GE(there, 6U);
    expect_in_line(right, 20 - there, 6);
}

TEST(masstree_updates, updates_make_the_clock_end_their_epoch) {
    expect_epochs_of_updates_to_end<incll_discipline>();
    expect_epochs_of_updates_to_end<logged_discipline>();
    expect_epochs_of_updates_to_end<transient_discipline>();
}

TEST(record, make_record_fails_without_memory) {
    scratch_file file;
    engine_options o = by_hand();
    o.file.initial_size = u64{16} << 20;
    o.file.max_size = u64{16} << 20;
    test_engine<incll_discipline> e(file.path(), o);
    operation op(e.checkpoint());
    const auto header = [&] {
        return std::string(reinterpret_cast<const char*>(e.tree().base()), page_size);
    };
    for (unsigned made = 0;; ++made) {
        const std::string before = header();
        ASSERT_LT(made, 20'000U);
        const auto offset = e.tree().make_record(op, "key of many bytes", std::string(1000, 'v'));
        if (offset) continue;
        EXPECT_EQ(offset.error().code, errc::no_space);
        EXPECT_TRUE(header() == before) << "it was written to no place";
        return;
    }
}

}  // namespace
}  // namespace hf::test
