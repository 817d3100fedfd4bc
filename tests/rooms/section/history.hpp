// tests/rooms/section/history.hpp: what a small program with locks did, and which cuts of it are
// allowed.
//
// Purpose. The program's threads tell of each section, each acquire and each store to a persistent
// variable, in memory that outlives them. After a crash the checker is given the variables' values
// and says whether they are an allowed cut (paper, sections 2.2 and 2.3):
//
//   - each outermost section is in the cut with all of its stores, or with none;
//   - a section that had not ended is not in it;
//   - with a section every section that happens before it is in the cut: those before it in its
//     thread, and those that gave a lock back before it took the lock, transitively, sections
//     without a persistent store included.
//
// A variable's value is the number of stores to it so far, each made under the variable's lock: so
// a value says which stores are in the cut. Locks are counted alike.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf::test {

struct history {
    static constexpr u32 max_threads = 4;
    static constexpr u32 max_locks = 8;
    static constexpr u32 max_events = 60'000;  ///< of a thread

    enum class what : u32 { begin, acquire, store, end };
    struct event {
        what kind;
        u32 object;  ///< lock or variable
        u64 number;  ///< of the acquire or store, of that object
    };
    struct thread_log {
        std::atomic<u32> count{0};
        std::array<event, max_events> events;

        /// False: it is full, and the program should stop.
        bool tell(const event& e) {
            const u32 n = count.load(std::memory_order_relaxed);
            if (n == max_events) return false;
            events[n] = e;
            count.store(n + 1, std::memory_order_release);
            return true;
        }
    };
    std::array<thread_log, max_threads> threads;
    std::array<u64, max_locks> acquires{};  ///< each under its lock
};

class cut_checker {
   public:
    explicit cut_checker(const history& h) {
        for (const auto& log : h.threads) read(log);
        order_by_locks();
    }

    /// Describes why these values are not a consistent cut; nullopt: they are one.
    [[nodiscard]] std::optional<std::string> judge(std::span<const u64> values) const {
        std::vector<u32> in;
        for (u32 s = 0; s < sections_.size(); ++s) {
            const section& one = sections_[s];
            const auto is_in = [&](const auto& st) { return st.second <= values[st.first]; };
            const auto n = std::count_if(one.stores.begin(), one.stores.end(), is_in);
            if (n == 0) continue;
            if (!one.has_ended) return about(s, "has not ended, and is in the cut");
            if (static_cast<std::size_t>(n) != one.stores.size()) {
                return about(s, "is in the cut with a part of its stores");
            }
            in.push_back(s);
        }
        return judge_order(std::move(in), values);
    }
    [[nodiscard]] std::size_t sections() const { return sections_.size(); }

   private:
    struct section {
        bool has_ended = false;
        std::vector<std::pair<u32, u64>> stores;
        std::vector<u32> before;  ///< that happen before it, one step back
    };

    [[nodiscard]] static std::string about(u32 s, const char* why) {
        return "section " + std::to_string(s) + " " + why;
    }
    void read(const history::thread_log& log) {
        const u32 n = log.count.load(std::memory_order_acquire);
        bool is_first = true;
        for (u32 i = 0; i < n; ++i) {
            const history::event& e = log.events[i];
            if (e.kind == history::what::begin) {
                sections_.emplace_back();
                if (!is_first) sections_.back().before.push_back(last());
                is_first = false;
                continue;
            }
            if (e.kind == history::what::acquire) acquires_[e.object][e.number] = last_section();
            if (e.kind == history::what::store) {
                sections_.back().stores.emplace_back(e.object, e.number);
            }
            if (e.kind == history::what::end) sections_.back().has_ended = true;
        }
    }
    [[nodiscard]] u32 last_section() const { return static_cast<u32>(sections_.size() - 1); }
    [[nodiscard]] u32 last() const { return static_cast<u32>(sections_.size() - 2); }
    void order_by_locks() {
        for (const auto& [lock, takers] : acquires_) {
            std::optional<u32> previous;
            for (const auto& [number, s] : takers) {
                if (previous && *previous != s) sections_[s].before.push_back(*previous);
                previous = s;
            }
        }
    }
    [[nodiscard]] std::optional<std::string> judge_order(std::vector<u32> in,
                                                         std::span<const u64> values) const {
        std::set<u32> seen(in.begin(), in.end());
        while (!in.empty()) {
            const u32 s = in.back();
            in.pop_back();
            for (const u32 b : sections_[s].before) {
                if (!seen.insert(b).second) continue;
                if (!sections_[b].has_ended)
                    return about(b, "has not ended, and one after it is in");
                for (const auto& [variable, number] : sections_[b].stores) {
                    if (number > values[variable])
                        return about(b, "is lost, and one after it is in");
                }
                in.push_back(b);
            }
        }
        return std::nullopt;
    }

    std::vector<section> sections_;
    std::map<u32, std::map<u64, u32>> acquires_;
};

}  // namespace hf::test
