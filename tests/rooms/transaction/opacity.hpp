// tests/rooms/transaction/opacity.hpp: judges what attempts at transactions have seen of each
// other.
//
// A history is the attempts of all threads, aborted ones too: when each began and ended, what it
// read, what it wrote. Each value is written once, and who writes a word has read it before, so the
// order of a word's versions is known. Then a history is opaque if this graph has no cycle
// (Guerraoui and Kapalka, "On the correctness of transactional memory", PPoPP 2008, section 5):
//   - a transaction that ended before another began comes before it;
//   - a version's writer comes before its readers, and before the next version's writer;
//   - a version's readers come before the next version's writer.
// Without the aborted attempts and the first kind of edges it would be serializability.
#pragma once

#include "base/bits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hf::test {

struct attempt_seen {
    struct access {
        u64 word;
        u64 value;
    };
    u64 begin = 0;  ///< of one counter, for all threads
    u64 end = 0;
    bool committed = false;
    std::vector<access> reads = {};
    std::vector<access> writes = {};  ///< the last of each word
};

/// "": it is opaque. Every word has the value 0 at first.
class opacity_judge {
   public:
    explicit opacity_judge(const std::vector<attempt_seen>& all) : all_(all) {}

    [[nodiscard]] std::string judge() {
        find_versions();
        if (fault_.empty()) add_reads();
        if (!fault_.empty()) return fault_;
        add_times();
        return find_cycle();
    }

   private:
    using version = std::pair<u64, u64>;  ///< word and value
    static constexpr std::size_t nobody = ~std::size_t{0};

    void edge(std::size_t from, std::size_t to) {
        if (from != to && from != nobody && to != nobody) next_[from].push_back(to);
    }
    [[nodiscard]] static std::string describe(const version& v) {
        return fmt::format("value {} of word {}", v.second, v.first);
    }
    /// The writer of each version, and that of the next one.
    void find_versions() {
        next_.resize(all_.size());
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!all_[i].committed) continue;
            for (const auto& w : all_[i].writes) writer_[{w.word, w.value}] = i;
        }
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!all_[i].committed) continue;
            for (const auto& w : all_[i].writes) {
                const auto read = std::find_if(all_[i].reads.begin(), all_[i].reads.end(),
                                               [&](const auto& r) { return r.word == w.word; });
                const version before{w.word, read->value};
                if (!replaced_by_.emplace(before, i).second) {
                    fault_ =
                        fmt::format("two writers replace {}: an update is lost", describe(before));
                }
            }
        }
    }
    void add_reads() {
        for (std::size_t i = 0; i < all_.size(); ++i) {
            for (const auto& r : all_[i].reads) {
                const version v{r.word, r.value};
                const auto by = writer_.find(v);
                if (by == writer_.end() && r.value != 0) {
                    fault_ = fmt::format("{} was read, and never committed", describe(v));
                    return;
                }
                if (by != writer_.end()) edge(by->second, i);
                if (const auto after = replaced_by_.find(v); after != replaced_by_.end()) {
                    edge(i, after->second);
                }
            }
        }
    }
    /// A node for each moment keeps the number of edges in bounds.
    void add_times() {
        std::map<u64, std::size_t> moments;
        for (const auto& a : all_) moments.emplace(a.begin, 0), moments.emplace(a.end, 0);
        std::size_t before = nobody;
        for (auto& [when, node] : moments) {
            node = next_.size();
            next_.emplace_back();
            edge(before, node);
            before = node;
        }
        for (std::size_t i = 0; i < all_.size(); ++i) {
            edge(moments[all_[i].begin], i);
            edge(i, moments[all_[i].end]);
        }
    }
    /// Removes transactions without predecessors; the rest is in a cycle, or after one.
    [[nodiscard]] std::string find_cycle() const {
        std::vector<std::size_t> before(next_.size(), 0);
        for (const auto& to : next_) {
            for (const std::size_t t : to) ++before[t];
        }
        std::vector<std::size_t> free;
        for (std::size_t i = 0; i < before.size(); ++i) {
            if (before[i] == 0) free.push_back(i);
        }
        std::size_t left = next_.size();
        while (!free.empty()) {
            const std::size_t i = free.back();
            free.pop_back();
            --left;
            for (const std::size_t t : next_[i]) {
                if (--before[t] == 0) free.push_back(t);
            }
        }
        if (left == 0) return "";
        std::string who;
        for (std::size_t i = 0; i < all_.size() && who.size() < 600; ++i) {
            if (before[i] != 0) who += describe(i);
        }
        return "no order explains what was seen; among them:" + who;
    }
    [[nodiscard]] std::string describe(std::size_t i) const {
        const attempt_seen& a = all_[i];
        std::string text = fmt::format("\n  attempt {} ({} to {}{}):", i, a.begin, a.end,
                                       a.committed ? "" : ", aborted");
        for (const auto& r : a.reads) text += fmt::format(" read {}", describe({r.word, r.value}));
        for (const auto& w : a.writes)
            text += fmt::format(" wrote {}", describe({w.word, w.value}));
        return text;
    }

    const std::vector<attempt_seen>& all_;
    std::vector<std::vector<std::size_t>> next_;
    std::map<version, std::size_t> writer_;
    std::map<version, std::size_t> replaced_by_;
    std::string fault_;
};

}  // namespace hf::test
