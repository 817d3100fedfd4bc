#include "crashlab/targets/journal/journal_cases.hpp"

#include "crashlab/disk/journal_machine.hpp"
#include "crashlab/disk/journal_threads.hpp"
#include "crashlab/explore/explorer.hpp"
#include "crashlab/schedule/fibers.hpp"
#include "crashlab/trace/recorder.hpp"
#include "persist/persist_point.hpp"

#include <sched.h>

#include <map>
#include <set>
#include <utility>

namespace hf::lab {
namespace {

/// With so few sectors in flight, each combination is one draw.
constexpr std::size_t few = 6;

std::set<u64>* reached = nullptr;
disk_story* told = nullptr;

/// Counts the persist points that the machine passes.
class point_watch {
   public:
    explicit point_watch(std::set<u64>* into, disk_story* story = nullptr) {
        reached = into;
        told = story;
        old_ = set_persist_point_hook([](const char* name) {
            if (reached != nullptr) reached->insert(number_of_point(name));
            if (told != nullptr) told->calls.push_back({name, disk_act::point});
        });
    }
    point_watch(const point_watch&) = delete;
    point_watch& operator=(const point_watch&) = delete;
    ~point_watch() {
        set_persist_point_hook(old_);
        reached = nullptr;
        told = nullptr;
    }

   private:
    persist_point_hook old_ = nullptr;
};

/// Decides for each write in flight whether it is durable in this draw: systematic for few writes,
/// random otherwise.
std::function<bool(std::size_t)> taken_in(u32 draw, std::size_t unsure, xoshiro256ss& random) {
    if (unsure <= few) return [draw](std::size_t i) { return (draw >> i & 1U) != 0; };
    return journal_machine::by_chance(random);
}

/// Remembers the answers, so that repeated calls return the same in any order.
std::function<bool(std::size_t)> remembering(std::function<bool(std::size_t)> taken) {
    return
        [taken = std::move(taken), known = std::map<std::size_t, bool>()](std::size_t i) mutable {
            const auto found = known.find(i);
            return found != known.end() ? found->second : known.emplace(i, taken(i)).first->second;
        };
}

/// A run of a machine that ends with a power cut at one of its disk calls.
template <class Machine>
struct life {
    std::unique_ptr<Machine> machine;
    bool was_cut = false;              ///< the cut came before the work was done
    std::optional<std::string> wrong;  ///< a violation
};

struct two_sessions {
    using machine = journal_machine;

    static life<machine> live(u64 seed, u64 calls, disk_story* story) {
        auto m = std::make_unique<machine>(seed);
        if (story != nullptr) m->tell(*story);
        m->live_before();
        const bool cut = m->live(calls);
        return {std::move(m), cut, std::nullopt};
    }
};

/// The seed determines the schedule, and whether the disks have space at each call.
struct threads_on_fibers {
    using machine = journal_threads;

    static life<machine> live(u64 seed, u64 calls, disk_story* story) {
        life<machine> l;
        run_on_fibers(1, seed, [&](unsigned) {
            l.machine = std::make_unique<machine>(seed, calls + 1, seed % 2 == 0,
                                                  [] { static_cast<void>(sched_yield()); });
            if (story != nullptr) l.machine->tell(*story);
            l.wrong = l.machine->run();
        });
        l.was_cut = l.machine->was_cut();
        return l;
    }
};

/// Cuts a run at each of its disk calls in turn.
template <class Life>
class journal_target final : public disk_target {
   public:
    [[nodiscard]] std::optional<disk_finding> explore(
        u64 seed, u64 draws, counts& counted,
        const std::function<bool()>& out_of_time) const override {
        const point_watch watch(&counted.points);
        ++counted.traces;
        for (u32 calls = 0; !out_of_time || !out_of_time(); ++calls) {
            const auto l = Life::live(seed, calls, nullptr);
            ++counted.crash_points;
            const std::size_t unsure = l.machine->unsure();
            if (unsure > few) ++counted.incomplete;
            const u64 all = unsure <= few ? u64{1} << unsure : draws;
            for (u32 draw = 0; draw < all; ++draw) {
                u64 digest = 0;
                const auto wrong = judge(l, seed, calls, draw, &digest);
                ++counted.states;
                counted.images.insert(digest);
                if (wrong) return disk_finding{*wrong, calls, draw};
            }
            if (!l.was_cut) break;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string> replay(u64 seed, u32 calls, u32 draw,
                                                    disk_story* story) const override {
        life<typename Life::machine> l;
        {
            const point_watch watch(nullptr, story);
            l = Life::live(seed, calls, story);
        }
        if (story != nullptr) {
            auto random = random_of(seed, calls, draw);
            l.machine->tell_fates(remembering(taken_in(draw, l.machine->unsure(), random)));
        }
        return judge(l, seed, calls, draw, nullptr);
    }

   private:
    static xoshiro256ss random_of(u64 seed, u32 calls, u32 draw) {
        return xoshiro256ss(seed * 1000003 + u64{calls} * 1009 + draw);
    }

    static std::optional<std::string> judge(const life<typename Life::machine>& l, u64 seed,
                                            u32 calls, u32 draw, u64* digest) {
        if (l.wrong) return l.wrong;
        auto random = random_of(seed, calls, draw);
        return l.machine->judge(taken_in(draw, l.machine->unsure(), random), digest);
    }
};

}  // namespace

const std::vector<target_description>& journal_cases() {
    static const journal_target<two_sessions> journal;
    static const journal_target<threads_on_fibers> threads;
    static const std::vector<target_description> all{
        {"journal",
         "journal",
         "two sessions of a redo journal, power cuts at every call of its disks, in recovery too",
         {},
         {"journal J0: the base's length durable before a record that needs it",
          "journal J1: a record durable before its epoch is announced",
          "journal J3: lines durable in the base before their records are given up",
          "journal J4: the header durable before a segment is used again",
          "journal J5: the journal's length durable before it is said",
          "journal K0: records durable before recovery brings them to the base",
          "journal K1: base complete before the old journal is reset"},
         &journal},
        {"journal.threads",
         "journal",
         "a journal's two threads as fibers, on disks without room and with power cuts at any call",
         {},
         {"journal J0: the base's length durable before a record that needs it",
          "journal J1: a record durable before its epoch is announced",
          "journal J3: lines durable in the base before their records are given up",
          "journal J4: the header durable before a segment is used again",
          "journal J5: the journal's length durable before it is said"},
         &threads}};
    return all;
}

}  // namespace hf::lab
