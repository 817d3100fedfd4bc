// Leaves with inlined values: after any changes in an epoch, and with any subset of its lines
// written at a power failure, the leaf's logs or the external log restore the epoch's start; every
// slot's check matches its contents; and a flipped bit is detected.
#include "base/random.hpp"
#include "index/masstree/inlined/log.hpp"
#include "index/masstree/tree_fixture.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace hf::test {
namespace {

using namespace masstree_detail;
namespace head = inlined::head;

class inlined_log : public ::testing::Test {
   protected:
    static constexpr unsigned width = inlined_leaf::width;
    using image = std::array<std::byte, sizeof(inlined_leaf)>;

    void start(u64 first_epoch) {
        engine_options o = by_hand();
        o.file.first_epoch = first_epoch;
        e_.emplace(file_.path(), o);
        hooks_.emplace(e_->machine().memory(), true, true);
        operation op(e_->checkpoint());
        const u64 offset = must(e_->machine().memory().allocate(op, inlined_node_payload));
        leaf_ = object_at<inlined_leaf>(e_->tree().base(), offset);
        ASSERT_EQ(reinterpret_cast<u64>(leaf_->lines.data()) % line_size, 0U);
        // arbitrary bytes of the block's last owner
        std::memset(static_cast<void*>(leaf_), 0xa5, sizeof *leaf_);
        leaf_->version.init(true, 0);
        store(leaf_->lengths, 0);
        store(leaf_->order, leaf_->sealed_order(leaf_permutation::empty().word()));
        hooks_->fresh_leaf(op, reinterpret_cast<durable_leaf&>(*leaf_));
        ASSERT_NO_THROW(inlined::check_logs(*leaf_, {}));
        store(leaf_->log_epoch, 0);  // so that its in-line logs are used
        remember();
    }
    [[nodiscard]] durable_leaf& hooked() const { return reinterpret_cast<durable_leaf&>(*leaf_); }

    void remember() {
        order_ = load(leaf_->order);
        for (unsigned s = 0; s < width; ++s) cells_[s] = leaf_->at(s);
        std::memcpy(at_start_.data(), static_cast<const void*>(leaf_), at_start_.size());
    }
    cell some_cell(unsigned length) {
        const u64 dice = r_.below(10);
        if (length == longer || dice < 2) {
            const u64 offset = 16 * (1 + r_.below(window_size / 16 - 1));
            return length == longer && dice < 3
                       ? cell{leaf_->sealed_value(value_word::of_layer(offset)), cell_kind::layer}
                       : cell{leaf_->sealed_value(value_word::of_record(offset)),
                              cell_kind::record};
        }
        std::string bytes(dice < 7 ? 8 : r_.below(9), '\0');
        for (char& c : bytes) c = static_cast<char>(r_.below(256));
        return cell::of_value(bytes);
    }

    void change(operation& op) {
        inlined_leaf& n = *leaf_;
        const leaf_permutation p(load(n.order));
        const u64 dice = r_.below(10);
        n.version.lock(0);
        if (dice < 5 && p.size() > 0) {
            const unsigned s = p.slot(static_cast<unsigned>(r_.below(p.size())));
            must(hooks_->before_value_change(op, hooked(), s));
            n.put(s, some_cell(length_class(load(n.lengths), s)));
        } else if (dice < 7 && p.size() > 0) {
            must(hooks_->before_removal(op, hooked()));
            const auto rank = static_cast<unsigned>(r_.below(p.size()));
            store(n.order, n.sealed_order(p.removed(rank).word()));
        } else if (!p.full()) {
            const unsigned s = must(hooks_->choose_slot_for_insert(op, hooked(), p));
            ASSERT_EQ(p.used() >> s & 1, 0U);
            const unsigned length = r_.below(4) == 0 ? longer : 8;
            store(n.keys[s], r_());
            store(n.lengths, with_length_class(load(n.lengths), s, length));
            n.put(s, some_cell(length));
            const auto rank = static_cast<unsigned>(r_.below(p.size() + 1));
            store(n.order, n.sealed_order(p.inserted(rank, s).word()));
        }
        n.version.unlock();
        for (unsigned s = 0; s < width; ++s) {
            if (leaf_permutation(load(n.order)).uses(s)) {
                ASSERT_TRUE(n.is_sound(s)) << s;
            }
        }
    }

    /// Simulates a power failure now, with each subset of the lines written.
    void expect_recovery(operation& op) {
        if (load(leaf_->log_epoch) == op.epoch()) {
            ++externally_logged_;
            return;  // the external log restores it
        }
        failed_set failed;
        failed.add(op.epoch());
        image now;
        std::memcpy(now.data(), static_cast<const void*>(leaf_), now.size());
        constexpr unsigned lines = inlined_node_block / line_size;
        for (unsigned written = 0; written < 1U << lines; ++written) {
            for (unsigned line = 0; line < lines; ++line) {
                const std::size_t from = line == 0 ? 0 : line * line_size - block_header_size;
                const std::size_t to = (line + 1) * line_size - block_header_size;
                const image& its = (written >> line & 1) != 0 ? now : at_start_;
                std::memcpy(reinterpret_cast<std::byte*>(leaf_) + from, its.data() + from,
                            to - from);
            }
            roll_back(op, failed);
            if (HasFatalFailure()) FAIL() << "lines written: " << written;
        }
        std::memcpy(static_cast<void*>(leaf_), now.data(), now.size());
    }
    void roll_back(operation& op, const failed_set& failed) {
        inlined_leaf& n = *leaf_;
        ASSERT_NO_THROW(inlined::check_logs(n, failed));
        inlined::settle(n, op.my_lane(), failed, op.epoch() + 1);
        ASSERT_NO_THROW(inlined::check_logs(n, failed));
        ASSERT_FALSE(inlined::needs_recovery(n, failed));
        ASSERT_EQ(load(n.order), order_);
        for (unsigned s = 0; s < width; ++s) {
            if (!leaf_permutation(order_).uses(s)) continue;
            ASSERT_EQ(n.at(s), cells_[s]) << s;
            ASSERT_TRUE(n.is_sound(s)) << s;
        }
        ++recovered_;
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
                    if (HasFatalFailure()) FAIL() << "epoch " << op.epoch() << ", change " << k;
                }
            }
            e_->epochs().end_epoch();
        }
    }
    /// Adds a key above all others. Returns its slot.
    unsigned append(operation& op, u64 key, u64 value) {
        const leaf_permutation p(load(leaf_->order));
        const unsigned s = must(hooks_->choose_slot_for_insert(op, hooked(), p));
        store(leaf_->keys[s], key);
        store(leaf_->lengths, with_length_class(load(leaf_->lengths), s, 8));
        leaf_->put(s, {value, 8});
        store(leaf_->order, leaf_->sealed_order(p.inserted(p.size(), s).word()));
        return s;
    }
    /// Fills `count` slots of an empty leaf.
    void fill(operation& op, unsigned count) {
        for (unsigned i = 0; i < count; ++i) append(op, i, i);
    }
    /// Fills the leaf in an earlier epoch than the running one.
    void start_with(unsigned count) {
        start(1000);
        {
            operation op(e_->checkpoint());
            fill(op, count);
        }
        e_->epochs().end_epoch();
    }

    scratch_file file_;
    std::optional<test_engine<incll_discipline>> e_;
    std::optional<incll_adapter> hooks_;
    inlined_leaf* leaf_ = nullptr;
    xoshiro256ss r_{7};
    u64 order_ = 0;
    std::array<cell, width> cells_{};
    image at_start_{};
    u64 recovered_ = 0;
    unsigned externally_logged_ = 0;
};

TEST_F(inlined_log, rollback_restores_the_start_of_the_epoch_from_any_lines) {
    start(1000);
    live(2000);
    EXPECT_GT(recovered_, 1000U * 64);
    EXPECT_GT(externally_logged_, 100U);
}

TEST_F(inlined_log, rollback_works_across_a_change_of_the_upper_epoch_bits) {
    start((u64{3} << inlined::epoch_bits) - 100);
    live(300);
    EXPECT_GT(recovered_, 100U * 64);
}

TEST_F(inlined_log, second_changed_slot_of_a_line_uses_the_external_log) {
    start_with(width);
    operation op(e_->checkpoint());
    leaf_->version.lock(0);
    for (const unsigned s : {0U, 5U, 10U, 0U, 13U}) {
        must(hooks_->before_value_change(op, hooked(), s));
        leaf_->put(s, {s + 100, 8});
        EXPECT_EQ(load(leaf_->log_epoch) == op.epoch(), s == 13) << s;
    }
    leaf_->version.unlock();
}

TEST_F(inlined_log, damaged_log_or_epoch_is_not_overwritten) {
    start_with(width);
    operation op(e_->checkpoint());
    leaf_->version.lock(0);
    for (word* const w : {&leaf_->lines[1].head, &leaf_->node_epoch}) {
        const u64 whole = load(*w);
        store(*w, whole ^ u64{1} << 20);
        image now;
        std::memcpy(now.data(), static_cast<const void*>(leaf_), now.size());
        EXPECT_THROW((void)hooks_->before_value_change(op, hooked(), 7), damage);
        if (w == &leaf_->node_epoch) {
            EXPECT_THROW((void)hooks_->before_removal(op, hooked()), damage);
        }
        EXPECT_EQ(std::memcmp(now.data(), static_cast<const void*>(leaf_), now.size()), 0);
        store(*w, whole);
    }
    must(hooks_->before_value_change(op, hooked(), 7));
    leaf_->version.unlock();
}

// A thread that waited for the recovery lock may find a leaf that another thread has recovered and
// changed since.
TEST_F(inlined_log, leaf_that_was_rolled_back_already_stays_unchanged) {
    start_with(width);
    operation op(e_->checkpoint());
    inlined_leaf& n = *leaf_;
    const cell before = n.at(3);
    n.version.lock(0);
    must(hooks_->before_value_change(op, hooked(), 3));
    n.put(3, {100, 8});
    failed_set failed;
    failed.add(op.epoch());
    const u64 next = op.epoch() + 1;
    inlined::settle(n, op.my_lane(), failed, next);
    EXPECT_EQ(n.at(3), before);
    ASSERT_TRUE(inlined::log_value(n, op.my_lane(), next, 3));
    n.put(3, {200, 8});
    image now;
    std::memcpy(now.data(), static_cast<const void*>(&n), now.size());
    inlined::recover(n, op.my_lane(), failed, next);
    EXPECT_EQ(std::memcmp(now.data(), static_cast<const void*>(&n), now.size()), 0);
    n.version.unlock();
}

TEST_F(inlined_log, slot_filled_in_this_epoch_needs_no_log) {
    start_with(width - 1);
    operation op(e_->checkpoint());
    leaf_->version.lock(0);
    const unsigned s = append(op, 99, 1);
    const u64 head_before = load(leaf_->line_of(s).head) & ~head::check_field;
    must(hooks_->before_value_change(op, hooked(), s));
    leaf_->put(s, {2, 8});
    EXPECT_EQ(load(leaf_->line_of(s).head) & ~head::check_field, head_before);
    // So the line's log is available for another slot.
    const unsigned first = s / inlined_slots_per_line * inlined_slots_per_line;
    must(hooks_->before_value_change(op, hooked(), first == s ? s + 1 : first));
    leaf_->version.unlock();
    EXPECT_NE(load(leaf_->log_epoch), op.epoch());
}

TEST_F(inlined_log, damaged_slot_is_not_logged_in_its_line) {
    start_with(width);
    operation op(e_->checkpoint());
    leaf_->set_check(7, leaf_->check(7) ^ 16);
    leaf_->version.lock(0);
    must(hooks_->before_value_change(op, hooked(), 7));
    leaf_->version.unlock();
    EXPECT_EQ(load(leaf_->log_epoch), op.epoch());
}

TEST_F(inlined_log, cells_are_equal_if_word_and_kind_are) {
    const cell one{77, 8};
    EXPECT_EQ(one, (cell{77, 8}));
    EXPECT_FALSE(one == (cell{78, 8}));
    EXPECT_FALSE(one == (cell{77, 7}));
}

// Even if the sum matches it.
TEST_F(inlined_log, unknown_kind_is_not_sound) {
    start(1000);
    operation op(e_->checkpoint());
    fill(op, width);
    inlined_leaf& n = *leaf_;
    for (unsigned s = 0; s < width; ++s) {
        for (unsigned kind = 0; kind < 16; ++kind) {
            const bool known = kind <= 8 || kind == cell_kind::record || kind == cell_kind::layer;
            const cell c{kind <= 8 ? s : n.sealed_value(value_word::of_record(16)), kind};
            store(n.value(s), c.word);
            n.set_check(s, n.check_of(s, c));
            EXPECT_EQ(n.is_sound(s), known) << kind;
        }
        n.put(s, {s, 8});
    }
}

TEST_F(inlined_log, damaged_words_are_detected_before_a_rollback) {
    start_with(width - 1);
    operation op(e_->checkpoint());
    inlined_leaf& n = *leaf_;
    n.version.lock(0);
    must(hooks_->before_value_change(op, hooked(), 3));
    n.put(3, {100, 8});
    n.version.unlock();
    failed_set failed;
    failed.add(op.epoch());
    ASSERT_NO_THROW(inlined::check_logs(n, failed));
    const auto is_damage_if = [&](word& w, u64 becomes) {
        const u64 whole = load(w);
        store(w, becomes);
        EXPECT_THROW(inlined::check_logs(n, failed), damage);
        store(w, whole);
        ASSERT_NO_THROW(inlined::check_logs(n, failed));
    };
    auto& line = n.lines[0];
    is_damage_if(line.old_value, load(line.old_value) ^ 1);
    is_damage_if(line.head, load(line.head) ^ u64{1} << 20);
    is_damage_if(n.order, load(n.order) ^ u64{1} << 60);
    const auto log_of = [&](unsigned slot, unsigned kind) {
        const u64 check = load(n.line_of(slot).head) & head::check_field;
        return check | head::make(op.epoch(), slot % inlined_slots_per_line,
                                  {load(n.line_of(slot).old_value), kind}, n.sum_of_key(slot),
                                  n.place());
    };
    is_damage_if(line.head, log_of(3, 12));               // no value has this kind
    is_damage_if(line.head, log_of(3, cell_kind::none));  // a stamp has no slot
    // The slot that was free when the epoch began cannot have a log of it.
    unsigned none = 0;
    while (leaf_permutation(load(n.order)).uses(none)) ++none;
    is_damage_if(n.line_of(none).head, log_of(none, 8));
    store(n.line_of(none).head, log_of(none, 8));
    EXPECT_NO_THROW(inlined::check_logs(n, {})) << "of an epoch that ended";
}

TEST_F(inlined_log, each_flipped_bit_of_value_check_or_log_is_detected) {
    start(1000);
    operation op(e_->checkpoint());
    fill(op, width);
    inlined_leaf& n = *leaf_;
    for (unsigned round = 0; round < 200; ++round) {
        for (unsigned s = 0; s < width; ++s) {
            store(n.keys[s], r_());
            n.put(s, some_cell(8));
            const u64 word = load(n.value(s));
            const unsigned check = n.check(s);
            for (unsigned bit = 0; bit < 64; ++bit) {
                store(n.value(s), word ^ u64{1} << bit);
                ASSERT_FALSE(n.is_sound(s)) << s << " bit " << bit;
            }
            store(n.value(s), word);
            const cell whole = n.at(s);
            const u64 slice = load(n.keys[s]);
            const unsigned length = length_class(load(n.lengths), s);
            ASSERT_TRUE(n.fits(whole, slice, length));
            for (unsigned bit = 0; bit < 64; ++bit) {
                ASSERT_FALSE(n.fits(whole, slice ^ u64{1} << bit, length)) << "key, bit " << bit;
            }
            for (unsigned bit = 0; bit < 4; ++bit) {
                ASSERT_FALSE(n.fits(whole, slice, length ^ 1U << bit)) << "length, bit " << bit;
            }
            for (unsigned bit = 4; bit < 16; ++bit) {
                n.set_check(s, check ^ 1U << bit);
                ASSERT_FALSE(n.is_sound(s)) << s << " bit " << bit;
            }
            n.set_check(s, check);
            ASSERT_TRUE(n.is_sound(s));
        }
        auto& line = n.lines[round % inlined_lines];
        const cell old = some_cell(8);
        store(line.old_value, old.word);
        const unsigned in_line = round % 4;  // the last line has four
        const unsigned logged = round % inlined_lines * inlined_slots_per_line + in_line;
        inlined::set_head(line, head::make(r_(), in_line, old, n.sum_of_key(logged), n.place()));
        ASSERT_TRUE(inlined::is_sealed_head(n, line, ~0U));
        const u64 key = load(n.keys[logged]);
        for (unsigned bit = 0; bit < 64; ++bit) {
            store(n.keys[logged], key ^ u64{1} << bit);
            ASSERT_FALSE(inlined::is_sealed_head(n, line, ~0U)) << "key, bit " << bit;
        }
        store(n.keys[logged], key);
        for (unsigned bit = 0; bit < 64; ++bit) {
            store(line.old_value, old.word ^ u64{1} << bit);
            ASSERT_FALSE(inlined::is_sealed_head(n, line, ~0U)) << bit;
        }
        store(line.old_value, old.word);
        const u64 w = load(line.head);
        for (unsigned bit = 16; bit < 64; ++bit) {
            // the kind's bits determine which words the sum covers
            if (bit >= 28 && bit < 32) continue;
            store(line.head, w ^ u64{1} << bit);
            ASSERT_FALSE(inlined::is_sealed_head(n, line, ~0U)) << bit;
        }
        store(line.head, w);
    }
}

// Readers check the logs without a lock, concurrently with writers. A head, its old value and its
// key are stored one by one, and must not be reported as damage if they are from different times.
TEST_F(inlined_log, concurrent_writer_is_not_reported_as_damage) {
    start_with(width);
    failed_set failed;
    failed.add(999);
    std::atomic<bool> done{false};
    std::thread reader([&] {
        while (!done) {
            const operation op(e_->checkpoint());
            for (unsigned i = 0; i < 100; ++i) ASSERT_NO_THROW(inlined::check_logs(*leaf_, failed));
        }
    });
    for (unsigned i = 0; i < effort(4000U, 1000U) && !HasFailure(); ++i) {
        {
            operation op(e_->checkpoint());
            for (u64 left = r_.below(6); left > 0; --left) change(op);
        }
        e_->epochs().end_epoch();
    }
    done = true;
    reader.join();
}

TEST_F(inlined_log, concurrent_recovery_is_not_reported_as_damage) {
    start_with(width);
    inlined_leaf& n = *leaf_;
    for (unsigned round = 0; round < effort(3000U, 300U) && !HasFailure(); ++round) {
        failed_set failed;
        {
            operation op(e_->checkpoint());
            for (u64 left = r_.below(6); left > 0; --left) change(op);
            store(n.log_epoch, 0);
            failed.add(op.epoch());
        }
        e_->epochs().end_epoch();
        std::atomic<unsigned> ready{0};
        const auto arrive = [&] {
            operation op(e_->checkpoint());
            for (++ready; ready < 2;) {
            }
            for (unsigned i = 0; i < 3; ++i) {
                ASSERT_NO_THROW(inlined::check_logs(n, failed));
                if (n.epoch() < failed.horizon())
                    inlined::settle(n, op.my_lane(), failed, op.epoch());
                ASSERT_FALSE(inlined::needs_recovery(n, failed));
            }
        };
        std::thread reader(arrive);
        arrive();
        {
            operation op(e_->checkpoint());
            change(op);
        }
        reader.join();
    }
}

// Another recovery is still running: for example no log of a failed epoch is left, and line 0 is
// not stored yet.
TEST_F(inlined_log, reader_waits_for_a_running_recovery) {
    start_with(width);
    const failed_set failed = [] {
        failed_set f;
        f.add(999);
        return f;
    }();
    ASSERT_FALSE(inlined::needs_recovery(*leaf_, failed));
    std::atomic<bool> comes{false};
    std::atomic<bool> is_done{false};
    std::unique_lock other(recovery_lock(*leaf_));
    std::thread late([&] {
        operation op(e_->checkpoint());
        comes = true;
        inlined::settle(*leaf_, op.my_lane(), failed, op.epoch());
        EXPECT_TRUE(is_done) << "it has got past what another is changing";
    });
    while (!comes) std::this_thread::yield();
    // a thread that does not wait would proceed
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    is_done = true;
    other.unlock();
    late.join();
}

}  // namespace
}  // namespace hf::test
