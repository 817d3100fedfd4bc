// An index's audit of nodes and records with random damage: if the audit finds nothing, reads must
// return the original contents.
#pragma once

#include "alloc/swept/audit_view.hpp"
#include "base/damage.hpp"
#include "base/random.hpp"
#include "index/common/index_fixture.hpp"
#include "support/effort.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hf::test {

template <class Family>
class index_audits : public on_tmpfs {};
TYPED_TEST_SUITE_P(index_audits);

/// Keys that are close to each other, share long prefixes, or are prefixes of others.
template <class Kept>
Kept key_for_audit(u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        constexpr u64 golden = 0x9e3779b97f4a7c15;
        return n % 4 == 0 ? n : n % 4 == 1 ? n << 56 | n : n % 4 == 2 ? n * golden : n << 20;
    } else {
        const std::string number = std::to_string(n);
        if (n % 4 == 0) return number;
        if (n % 4 == 1) return std::string(n % 60, 'p');
        if (n % 4 == 2) return "a beginning longer than a node has room for " + number;
        return number.substr(0, 1) + std::string(n % 3 * 9, '\0') + number;
    }
}
template <class Kept>
Kept value_for_audit(u64 n) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return n * 5;
    } else {
        return std::string(n == 70 ? 5000 : n % 40, static_cast<char>('a' + n % 26));
    }
}

/// Whether some damage turns a node into an earlier state, or into one that another remove would
/// have left, so that an audit cannot detect it.
template <class Index>
inline constexpr bool has_other_states = false;

template <class Tree>
struct contents {
    typename Tree::entries ever;
    typename Tree::entries now;
};

/// Fills a tree that has grown and shrunk, and opens it again, so that its nodes' hints are
/// invalid.
template <class Tree>
contents<Tree> fill_for_audit(Tree& t) {
    using kept = typename Tree::kept;
    std::map<kept, kept> model;
    for (u64 n = 0; n < 700; ++n) {
        const kept k = key_for_audit<kept>(n);
        const kept v = value_for_audit<kept>(n);
        if (t.insert(k, v)) model.emplace(k, v);
    }
    const auto ever = model;
    for (u64 n = 0; n < 700; n += 1 + n % 5) {
        if (t.remove(key_for_audit<kept>(n))) model.erase(key_for_audit<kept>(n));
    }
    t.open_again();
    return {{ever.begin(), ever.end()}, {model.begin(), model.end()}};
}

/// The blocks that the index claims, by the audit's names for them.
template <class Tree>
std::map<std::string, std::vector<heap_audit::place>> blocks_of(Tree& t) {
    std::map<std::string, std::vector<heap_audit::place>> found;
    audit_report report;
    const auto caches = t.space->grace().caches();
    swept::view books(t.space->heap(), caches);
    heap_audit a(t.space->file(), books, report);
    a.read_runs();
    a.tell_claims(
        [&](const heap_audit::place& p, const char* what, u64) { found[what].push_back(p); });
    t.index->audit(a);
    return found;
}

/// Damages a block: flips a bit, clears a word, changes a word by a small amount, replaces it by
/// another one of the block, or copies another block over it.
inline void spoil(char* block, u64 bytes, const char* other, xoshiro256ss& random) {
    const u64 words = bytes / 8;
    char* const word = block + random.below(words) * 8;
    u64 w = 0;
    std::memcpy(&w, word, sizeof w);
    switch (random.below(8)) {
        case 0:
            w = 0;
            break;
        case 1:
            w += 1 + random.below(16);
            break;
        case 2:
            std::memcpy(&w, block + random.below(words) * 8, sizeof w);
            break;
        case 3:
            std::memcpy(block, other, bytes);
            return;
        default:
            w ^= u64{1} << random.below(64);
    }
    std::memcpy(word, &w, sizeof w);
}

/// Checks that all ways of reading agree, and return the original contents. Integers are in the
/// nodes without checksums, so a changed integer is not detected.
template <class Tree>
void expect_reads(Tree& t, const contents<Tree>& wanted, u64 records) {
    const auto all = t.all();
    if constexpr (std::is_same_v<typename Tree::kept, std::string>) {
        if constexpr (has_other_states<typename Tree::tree>) {
            for (const auto& e : all) ASSERT_TRUE(std::ranges::binary_search(wanted.ever, e));
        } else {
            ASSERT_TRUE(all == wanted.now);
        }
    }
    ASSERT_EQ(all.size(), records);
    for (const auto& [k, v] : all) ASSERT_EQ(t.get(k), v) << k;
    u64 found = 0;
    for (const auto& [k, v] : wanted.ever) {
        if (!t.get(k)) continue;
        ++found;
        ASSERT_TRUE(std::ranges::binary_search(all, k, {}, [](const auto& e) { return e.first; }))
            << k;
    }
    if constexpr (std::is_same_v<typename Tree::kept, std::string>) {
        ASSERT_EQ(found, all.size());
    }
    if constexpr (Tree::is_ordered) {
        auto back = t.scan_back(all.back().first, all.size() + 1);
        std::reverse(back.begin(), back.end());
        ASSERT_TRUE(back == all);
    }
}

template <class Tree>
void spoil_and_audit(Tree& t, u64 seed) {
    const auto wanted = fill_for_audit(t);
    const auto blocks = blocks_of(t);
    ASSERT_NO_FATAL_FAILURE(expect_reads(t, wanted, wanted.now.size()));
    xoshiro256ss random(seed);
    u64 noticed = 0;
    const u64 rounds = scaled(400);
    for (u64 round = 0; round < rounds; ++round) {
        const auto& some =
            std::next(blocks.begin(), static_cast<long>(random.below(blocks.size())));
        const auto& places = some->second;
        const heap_audit::place& p = places[random.below(places.size())];
        const heap_audit::place& other = places[random.below(places.size())];
        const u64 bytes = std::min(p.room, other.room);
        char* const block = t.space->file().template at<char>(p.payload);
        const std::string before(block, bytes);
        spoil(block, bytes, t.space->file().template at<char>(other.payload), random);
        SCOPED_TRACE(some->first + " at " + std::to_string(p.payload) + ", round " +
                     std::to_string(round));
        const auto report = t.audit();
        if (!report.ok()) {
            ++noticed;
        } else {
            ASSERT_NO_FATAL_FAILURE(expect_reads(t, wanted, report.tree.records));
        }
        std::memcpy(block, before.data(), bytes);
    }
    EXPECT_GT(noticed, rounds / 8);
    t.expect_sound();
}

TYPED_TEST_P(index_audits, audit_reports_damage_that_reads_would_return) {
    for (u64 seed = 0; seed < 2; ++seed) {
        typename TypeParam::bytes_in_file t(this->dir / std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(spoil_and_audit(t, seed)) << "seed " << seed;
    }
}

TYPED_TEST_P(index_audits, audit_of_integers_reports_damage_that_reads_would_return) {
    for (u64 seed = 0; seed < 3; ++seed) {
        typename TypeParam::numbers_in_file t(this->dir / std::to_string(seed));
        ASSERT_NO_FATAL_FAILURE(spoil_and_audit(t, seed)) << "seed " << seed;
    }
}

// Every read of a long value verifies its checksum.
TYPED_TEST_P(index_audits, reads_never_return_a_damaged_long_value) {
    typename TypeParam::bytes_in_file t(this->file);
    const std::string v(10'000, 'v');
    t.insert("a", "short");
    t.insert("k", v);
    t.insert("z", "short");
    const auto read_all = [&] {
        EXPECT_EQ(t.get("k"), v);
        EXPECT_EQ(t.get("k"), v);  // an index may have two implementations of get
        EXPECT_EQ(t.all().size(), 3U);
        if constexpr (TypeParam::bytes_in_file::is_ordered) {
            EXPECT_EQ(t.scan("b", 1).size(), 1U);
            EXPECT_EQ(t.scan_back("y", 1).size(), 1U);
        }
    };
    read_all();
    const auto blocks = blocks_of(t);
    for (const heap_audit::place& p : blocks.at("a record")) {
        if (p.room < v.size()) continue;
        char& byte = t.space->file().template at<char>(p.payload)[v.size() / 2];
        byte = 'w';
        EXPECT_THROW(std::ignore = t.get("k"), damage);
        EXPECT_THROW(std::ignore = t.get("k"), damage);
        EXPECT_THROW(std::ignore = t.all(), damage);
        if constexpr (TypeParam::bytes_in_file::is_ordered) {
            EXPECT_THROW(std::ignore = t.scan("b", 1), damage);
            EXPECT_THROW(std::ignore = t.scan_back("y", 1), damage);
        }
        EXPECT_FALSE(t.audit().ok());
        byte = 'v';
    }
    EXPECT_EQ(t.get("a"), "short");
    read_all();
}

REGISTER_TYPED_TEST_SUITE_P(index_audits, audit_reports_damage_that_reads_would_return,
                            audit_of_integers_reports_damage_that_reads_would_return,
                            reads_never_return_a_damaged_long_value);

}  // namespace hf::test
