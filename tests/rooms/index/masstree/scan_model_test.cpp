// Compares scans with a sorted list of keys: from every bound and from right after it, in both
// directions, with and without the bound, stopped at any visit.
#include "base/random.hpp"
#include "index/masstree/tree_fixture.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using key_list = std::vector<std::string>;

/// Keys that end before, at and after the end of a slice, in three layers; some differ only in the
/// number of trailing zeros.
key_list universe_of_slices() {
    const key_list blocks{std::string(8, '\0'), std::string(7, 'a') + '\0', std::string(8, 'a')};
    key_list prefixes{""};
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
        if (prefixes[i].size() == 16) continue;
        for (const auto& b : blocks) prefixes.push_back(prefixes[i] + b);
    }
    key_list ends{""};
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].size() == 2) continue;
        for (const char c : {'\0', 'a', 'b'}) ends.push_back(ends[i] + c);
    }
    std::set<std::string> all;
    for (const auto& p : prefixes) {
        for (const auto& e : ends) all.insert(p + e);
        all.insert(p + std::string(7, 'a'));
    }
    return {all.begin(), all.end()};
}

/// Bounds of scans: every key, and absent keys next to it.
key_list bounds_of(const key_list& universe) {
    std::set<std::string> all(universe.begin(), universe.end());
    for (const auto& k : universe) {
        all.insert(k + '\0');
        all.insert(k + 'c');
        if (!k.empty() && k.back() != '\0') {
            all.insert(k.substr(0, k.size() - 1) + static_cast<char>(k.back() - 1));
        }
    }
    all.insert(std::string(20, '\xff'));
    return {all.begin(), all.end()};
}

/// The keys that a scan must visit.
key_list expected_scan(const key_list& sorted, const std::optional<std::string>& from,
                       bool exclusive, bool backward, std::size_t stop_after) {
    key_list out;
    for (const auto& k : sorted) {
        const int order = from ? k.compare(*from) : -1;
        const bool in = order == 0 ? !exclusive : (order < 0) == backward;
        if (in) out.push_back(k);
    }
    if (backward) std::reverse(out.begin(), out.end());
    if (out.size() > stop_after) out.resize(stop_after);
    return out;
}

template <class D>
class scan_model : public ::testing::Test {
   protected:
    scan_model() : e_(file_.path(), by_hand()) {}

    void fill(const key_list& keys) {
        keys_ = keys;
        for (const auto& k : keys) e_.put(k, "of " + k);
    }
    void clear() {
        for (const auto& k : keys_) e_.remove(k);
        e_.epochs().end_epoch();
    }
    void expect_scan(const std::optional<std::string>& from, bool exclusive, bool backward,
                     std::size_t stop_after) {
        const key_list wanted = expected_scan(keys_, from, exclusive, backward, stop_after);
        key_list found;
        bool values = true;
        const auto visit = [&](std::string_view k, std::string_view v) {
            found.emplace_back(k);
            values = values && v == "of " + found.back();
            return found.size() < stop_after;
        };
        operation op(e_.checkpoint());
        const bool ended = backward ? e_.tree().scan_backward(op, from, exclusive, visit)
                                    : e_.tree().scan(op, from.value_or(""), exclusive, visit);
        ASSERT_EQ(found, wanted) << "from " << ::testing::PrintToString(from.value_or("(none)"))
                                 << ", exclusive " << exclusive << ", backward " << backward;
        ASSERT_TRUE(values);
        ASSERT_EQ(ended, found.size() < stop_after);
    }
    void expect_all_scans(const key_list& bounds) {
        constexpr std::size_t never = ~std::size_t{0};
        for (const bool backward : {false, true}) {
            std::size_t n = 0;
            for (const auto& b : bounds) {
                for (const bool exclusive : {false, true}) {
                    expect_scan(b, exclusive, backward, never);
                    expect_scan(b, exclusive, backward, 1 + n++ % 5);
                    if (HasFatalFailure()) return;
                }
            }
        }
        for (std::size_t stop = 1; stop <= keys_.size() + 1; ++stop) {
            expect_scan(std::nullopt, true, true, stop);
            expect_scan("", false, false, stop);
            if (HasFatalFailure()) return;
        }
    }

    static bool HasFatalFailure() { return ::testing::Test::HasFatalFailure(); }

    scratch_file file_;
    test_engine<D> e_;
    key_list keys_;
};

using scanned_disciplines = ::testing::Types<transient_discipline, incll_discipline>;
TYPED_TEST_SUITE(scan_model, scanned_disciplines);

TYPED_TEST(scan_model, scans_match_a_sorted_list_from_every_bound) {
    const key_list universe = universe_of_slices();
    const key_list bounds = bounds_of(universe);
    xoshiro256ss r(1);
    for (const unsigned percent : {0U, 3U, 30U, 100U}) {
        SCOPED_TRACE(std::to_string(percent) + " % of the keys");
        key_list some;
        for (const auto& k : universe) {
            if (r.below(100) < percent) some.push_back(k);
        }
        this->fill(some);
        this->expect_all_scans(bounds);
        if (this->HasFatalFailure()) return;
        this->clear();
    }
}

TYPED_TEST(scan_model, scans_of_one_key_match_from_every_bound) {
    const key_list universe = universe_of_slices();
    const key_list bounds = bounds_of(universe);
    for (std::size_t i = 0; i < universe.size(); i += 7) {
        this->fill({universe[i]});
        for (const auto& b : bounds) {
            for (const bool exclusive : {false, true}) {
                this->expect_scan(b, exclusive, false, 100);
                this->expect_scan(b, exclusive, true, 100);
                if (this->HasFatalFailure()) return;
            }
        }
        this->clear();
    }
}

/// Slices at both ends of the range, and leaves that begin and end with each of the keys.
TYPED_TEST(scan_model, leaf_boundaries_neither_hide_nor_repeat_keys) {
    key_list keys{std::string(8, '\0'), std::string(8, '\xff'), std::string(9, '\xff')};
    for (unsigned i = 1; i < 60; ++i) {
        keys.push_back(std::string(7, '\0') + static_cast<char>(4 * i));
        keys.push_back(std::string(7, '\xff') + static_cast<char>(4 * i));
    }
    std::sort(keys.begin(), keys.end());
    this->fill(keys);
    key_list bounds = keys;
    for (const auto& k : keys) {
        bounds.push_back(k.substr(0, 7) + static_cast<char>(k[7] + 1));
        bounds.push_back(k.substr(0, 7) + static_cast<char>(k[7] - 1));
    }
    this->expect_all_scans(bounds);
}

}  // namespace
}  // namespace hf::test
