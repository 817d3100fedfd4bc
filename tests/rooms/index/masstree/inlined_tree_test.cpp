// Compares a tree with inlined values with a std::map, with values that grow into records and
// shrink back, over crashes; the audit must find nothing.
#include "base/random.hpp"
#include "index/masstree/audit.hpp"
#include "index/masstree/inlined/log.hpp"
#include "index/masstree/inspection.hpp"
#include "index/masstree/tree_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hf::test {
namespace {

template <class D>
class inlined_tree : public ::testing::Test {
   protected:
    using model = std::map<std::string, std::string>;

    void open() {
        engine_options o = by_hand();
        o.inline_values = true;
        o.hint_memory = hints_ ? u64{1} << 20 : 0;
        e_.emplace(file_.path(), o);
        ASSERT_TRUE(e_->tree().is_inlined());
    }
    masstree<D>& tree() { return e_->tree(); }

    bool put(std::string_view key, std::string_view value) { return e_->put(key, value); }
    std::string some_key() {
        const u64 dice = r_.below(10);
        std::string key(dice < 6 ? 8 : r_.below(9), '\0');
        for (char& c : key) c = static_cast<char>('a' + r_.below(dice < 3 ? 3 : 2));
        if (dice > 7) key.resize(8, 'a');
        if (dice > 7) key += std::string(1 + r_.below(12), static_cast<char>('a' + r_.below(2)));
        return key;
    }
    std::string some_value() {
        const u64 dice = r_.below(10);
        std::string v(dice < 5 ? 8 : dice < 8 ? r_.below(9) : 9 + r_.below(40), '\0');
        for (char& c : v) c = static_cast<char>(r_.below(256));
        return v;
    }
    void change(model& m) {
        const std::string key = some_key();
        if (r_.below(4) == 0) {
            ASSERT_EQ(e_->remove(key), m.erase(key) != 0);
        } else {
            const std::string value = some_value();
            ASSERT_EQ(put(key, value), m.contains(key));
            m[key] = value;
        }
    }
    void expect_same(const model& m) {
        ASSERT_EQ(e_->all(),
                  (std::vector<std::pair<std::string, std::string>>(m.begin(), m.end())));
        for (int i = 0; i < 50; ++i) {
            const std::string key = some_key();
            const auto found = m.find(key);
            ASSERT_EQ(e_->get(key), found == m.end() ? std::nullopt : std::optional(found->second));
        }
        operation op(e_->checkpoint());
        auto expected = m.rbegin();
        tree().scan_backward(op, std::nullopt, false, [&](std::string_view k, std::string_view v) {
            EXPECT_TRUE(expected != m.rend() && k == expected->first && v == expected->second);
            ++expected;
            return true;
        });
        EXPECT_TRUE(expected == m.rend());
    }
    void expect_sound(const model& m) {
        const audit_report report = audit(e_->machine());
        for (const auto& v : report.violations()) ADD_FAILURE() << v.offset << ": " << v.text;
        EXPECT_EQ(report.tree.records, m.size());
    }

    scratch_file file_;
    bool hints_ = false;
    std::optional<test_engine<D>> e_;
    xoshiro256ss r_{11};
};

using disciplines = ::testing::Types<incll_discipline, logged_discipline>;
TYPED_TEST_SUITE(inlined_tree, disciplines);

TYPED_TEST(inlined_tree, behaves_like_a_map_over_crashes) {
    for (const bool hints : {false, true}) {
        this->hints_ = hints;
        typename TestFixture::model now;
        typename TestFixture::model durable;
        std::filesystem::remove(this->file_.path());
        for (int crash = 0; crash < 12; ++crash) {
            this->open();
            now = durable;
            this->expect_same(now);
            for (int epoch = 0; epoch < 6; ++epoch) {
                const u64 count = this->r_.below(400);
                for (u64 i = 0; i < count; ++i) this->change(now);
                if (::testing::Test::HasFatalFailure()) return;
                if (epoch == 5) break;  // the last epoch is lost
                this->e_->epochs().end_epoch();
                durable = now;
            }
            this->expect_same(now);
            this->expect_sound(now);
            if (::testing::Test::HasFailure()) return;
            this->e_.reset();  // not closed: the memory stays as it was
        }
    }
}

class inlined_audit : public ::testing::Test {
   protected:
    static engine_options options() {
        engine_options o = by_hand();
        o.inline_values = true;
        return o;
    }
    static std::atomic<u64>& word_of_log(masstree_detail::inlined_leaf& n) {
        namespace tree = masstree_detail;
        return n.line_of(tree::leaf_permutation(tree::load(n.order)).slot(0)).old_value;
    }
    scratch_file file_;
};

TEST_F(inlined_audit, counts_leaves_that_it_rolls_back) {
    {
        test_engine<incll_discipline> e(file_.path(), options());
        for (int i = 0; i < 1000; ++i) e.put("key " + std::to_string(i), "12345");
        e.epochs().end_epoch();
        e.put("key 500", "lost");
    }
    using machine = engine<incll_discipline>;
    const audit_report report =
        inspection::open(file_.path(), {machine::root_name, machine::root_type}).audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.records, 1000U);
    EXPECT_EQ(report.tree.value_bytes, 1000U * 5) << "what was lost is still there";
    EXPECT_EQ(report.tree.recovered_leaves, 1U);
}

TEST_F(inlined_audit, impossible_logs_are_reported) {
    namespace tree = masstree_detail;
    namespace head = tree::inlined::head;
    test_engine<incll_discipline> e(file_.path(), options());
    e.put("a", "before");
    e.epochs().end_epoch();
    e.put("a", "now");
    auto& n = *object_at<tree::inlined_leaf>(e.tree().base(), e.tree().root());
    const unsigned slot = tree::leaf_permutation(tree::load(n.order)).slot(0);
    auto& line = n.line_of(slot);
    const u64 whole = tree::load(line.head);
    ASSERT_TRUE(head::is_log(whole));
    ASSERT_TRUE(audit(e.machine()).ok());
    const auto log_of = [&](u64 epoch) {
        return (whole & head::check_field) |
               head::make(epoch, head::slot_in_line(whole),
                          {tree::load(line.old_value), head::kind(whole)}, n.sum_of_key(slot),
                          n.place());
    };
    const u64 running = e.epochs().current_epoch();
    tree::store(line.head, log_of(running));
    EXPECT_TRUE(audit(e.machine()).ok());
    tree::store(line.head, log_of(running + 1));
    EXPECT_FALSE(audit(e.machine()).ok()) << "an epoch that has not begun";
    tree::store(line.head, whole);
    word_of_log(n) ^= 1;
    EXPECT_FALSE(audit(e.machine()).ok()) << "a value that was not logged";
}

TEST_F(inlined_audit, reads_and_writes_do_not_roll_back_a_damaged_log) {
    namespace tree = masstree_detail;
    {
        test_engine<incll_discipline> e(file_.path(), options());
        e.put("a", "before");
        e.epochs().end_epoch();
        e.put("a", "now");
        auto& n = *object_at<tree::inlined_leaf>(e.tree().base(), e.tree().root());
        word_of_log(n) ^= 1;
    }
    test_engine<incll_discipline> e(file_.path(), options());
    EXPECT_THROW((void)e.get("a"), damage);
    EXPECT_THROW((void)e.put("a", "again"), damage);
    EXPECT_THROW((void)e.all(), damage);
}

/// Readers concurrent with a writer that changes a value's kind must neither combine a word with
/// another kind, nor report damage.
TYPED_TEST(inlined_tree, readers_never_combine_a_value_with_another_kind) {
    this->open();
    const std::vector<std::string> values{"aaaaaaaa", "bbbbbbbb", "ccc", "", "a record of its own"};
    this->put("key", values[0]);
    std::atomic<bool> stop{false};
    std::atomic<u64> seen{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; ++t) {
        readers.emplace_back([&, t] {
            while (!stop.load()) {
                std::optional<std::string> found;
                if (t == 0) {
                    found = this->e_->get("key");
                } else {
                    const auto all = this->e_->all();
                    if (all.size() == 1) found = all[0].second;
                }
                ASSERT_TRUE(found.has_value());
                ASSERT_TRUE(std::find(values.begin(), values.end(), *found) != values.end())
                    << *found;
                ++seen;
            }
        });
    }
    for (u64 i = 0; i < 200'000 || seen < 1000; ++i) {
        this->put("key", values[this->r_.below(values.size())]);
        if (i % 1000 == 0) this->e_->epochs().end_epoch();
    }
    stop = true;
    for (auto& t : readers) t.join();
}

}  // namespace
}  // namespace hf::test
