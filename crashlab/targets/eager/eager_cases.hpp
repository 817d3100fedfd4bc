// targets/eager/eager_cases.hpp: the cases of all eager indexes: workloads over keys by number, and
// the common persist points. Each index has a file with cases of its own.
#pragma once

#include "crashlab/targets/eager/eager_session.hpp"
#include "persist/persist_point.hpp"

namespace hf::lab {

namespace eager_points {

inline constexpr std::string_view p1 =
    "eager P1: all that is unreachable is durable before its publication";
inline constexpr std::string_view p2 =
    "eager P2: a publication is durable before its operation returns";
inline constexpr std::string_view p3 =
    "eager P3: what a reader has seen is durable before it returns";
inline constexpr std::string_view o1 =
    "eager O1: the generation is durable before a lock of it is taken";

}  // namespace eager_points

/// "eager.<index>.<kind><name>"; valid until the program ends.
inline std::string_view eager_case_name(std::string_view index, const char* kind,
                                        const char* name) {
    static std::vector<std::unique_ptr<std::string>> all;
    all.push_back(std::make_unique<std::string>("eager." + std::string(index) + "." + kind + name));
    return *all.back();
}

// --------------------------------------------------------------------------------------- abandoned
// operations

struct left_off {};
/// Arguments of the hook, which is a function pointer.
inline const char* leave_at = nullptr;
inline unsigned leave_next = 0;  ///< number of passes to skip
inline void leave(const char* point) {
    if (leave_at == nullptr || !std::string_view(point).starts_with(leave_at)) return;
    if (leave_next-- == 0) throw left_off{};
}
/// Abandons `work` at a persist point as if the process had been killed there, then crashes.
/// `passed`: number of earlier passes of that point.
template <class S, class Work>
void die_at(S& s, const char* point, Work&& work, unsigned passed = 0) {
    const persist_point_hook before = set_persist_point_hook(leave);
    leave_at = point;
    leave_next = passed;
    bool left = false;
    try {
        work();
    } catch (const left_off&) {
        left = true;
    }
    leave_at = nullptr;
    set_persist_point_hook(before);
    require(left, "a workload does not come to its persist point");
    s.crash();
}

/// `work` fails on damage: it reads a word that differs from the medium's. The lab does not see
/// these stores, so no crash image has the damage.
template <class Work>
void meet_damage(published& there, u64 wrong, Work&& work) {
    const auto put = [&](u64 word) {
        asm volatile("movq %1, %0" : "=m"(there) : "r"(word) : "memory");
    };
    const u64 right = there.load();
    put(wrong);
    bool is_met = false;
    try {
        work();
    } catch (const damage&) {
        is_met = true;
    }
    put(right);
    require(is_met, "a workload does not meet damage");
}

// -------------------------------------------------------------------- workloads of a single thread

/// Inserts keys From to To - 1.
template <class S, u64 From, u64 To>
void come(S& s) {
    for (u64 k = From; k < To; ++k) s.insert(k);
}
/// Inserts keys From to To - 1 as one batch.
template <class S, u64 From, u64 To>
void come_at_once(S& s, splitmix64&) {
    std::vector<u64> keys;
    for (u64 k = From; k < To; ++k) keys.push_back(k);
    s.insert_many(keys);
}
/// Inserts the keys and changes one of them.
template <class S, u64 From, u64 To>
void come_and_change(S& s, splitmix64& r) {
    come<S, From, To>(s);
    s.upsert(From + r() % (To - From));
}
/// Removes the keys, in random order, and inserts one again.
template <class S, u64 From, u64 To>
void go(S& s, splitmix64& r) {
    constexpr u64 n = To - From;
    const u64 first = r() % n;
    for (u64 k = 0; k < n; ++k) s.remove(From + (first + k) % n);
    s.insert(From + first);
}
/// Changes values of keys 0 to 5.
template <class S>
void change_some(S& s, splitmix64& r) {
    const u64 k = r() % 6;
    s.update(k);
    s.upsert((k + 1) % 6);
    s.upsert(9);
    s.update(k);
}
/// Removes some of the keys 0 to Have - 1, and inserts them again.
template <class S, u64 Have>
void remove_some(S& s, splitmix64& r) {
    const u64 k = r() % Have;
    s.remove(k);
    s.remove((k + 2) % Have);
    s.insert(k);
    s.remove(k);
    s.get(k);
}

/// Without memory for allocations, removes still work.
template <class S>
void many_and_no_memory(S& s) {
    come<S, 0, 40>(s);
    s.use_up_memory();
}
template <class S>
void remove_without_memory(S& s, splitmix64& r) {
    for (u64 i = 0; i < 3; ++i) s.remove(13 * i + r() % 13);
    s.get(20);
}

// --------------------------------------------------------------------------- workloads of a thread

/// Changes keys 0 to 5, reads them, and inserts keys of its own.
template <class S>
void work_beside_another(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 5; ++i) {
        const u64 k = r() % 6;
        switch (r() % 4) {
            case 0:
                s.remove(k);
                break;
            case 1:
                s.get(k);
                break;
            case 2:
                s.insert(20 + 10 * thread + i);
                break;
            default:
                s.upsert(k);
        }
    }
}
/// Also reads the neighbours of the key.
template <class S>
void get_with_all(S& s, u64 k, splitmix64& r) {
    switch (const u64 how = r() % 4) {
        case 0:
            s.get_by_walking(k);
            break;
        case 1:
            s.get_by_scanning_on(k);
            break;
        default:
            s.get_by_scanning(k, how == 2);
    }
}
/// Thread 1 reads key 3, alone or with all others; the other thread changes it.
template <class S>
void read_or_change(S& s, unsigned thread, splitmix64& r) {
    for (unsigned i = 0; i < 8; ++i) {
        if (thread == 1 && r() % 4 == 0) {
            get_with_all(s, 3, r);
        } else if (thread == 1) {
            s.get(3);
        } else if (r() % 3 == 0) {
            s.remove(3);
        } else {
            s.upsert(3);
        }
    }
}

/// Threads 1 to 3 read a key that thread 0 changes, each by another operation: in a schedule in
/// which thread 0 stops before its fence, any of them may be the first to read.
template <class S>
void peek(S& s, u64 k, unsigned thread, splitmix64& r) {
    if (thread == 1) {
        s.get(k);
    } else if (thread == 2) {
        get_with_all(s, k, r);
    } else {
        r() % 2 == 0 ? s.remove(k) : s.update_or_miss(k);
    }
}
/// So short that in many schedules a reader runs in the middle of the change, or while another
/// reader makes it durable.
template <class S, u64 K>
void peek_at_change(S& s, unsigned thread, splitmix64& r) {
    if (thread != 0) {
        peek(s, K, thread, r);
    } else {
        r() % 5 < 2 ? s.upsert(K) : s.remove(K);
    }
}

/// Changes key 0, removes it, or changes another key.
template <class S>
void change_and_remove(S& s, splitmix64& r) {
    const u64 k = r() % 2 == 0 ? 0 : 1 + r() % 5;
    r() % 2 == 0 ? s.update(k) : s.remove(k);
    s.upsert(3);
    s.remove(4);
}
/// The first operation may reclaim a stale lock, or miss a key whose remove was interrupted.
template <class S>
void look_for_two(S& s) {
    s.update_or_miss(0);
    s.remove(4);
}
/// The process after a kill works in the region before it is swept.
template <class S>
eager_case<S> unswept(std::string_view name) {
    return {.name = name,
            .what = "work behind a kill, and before the sweep",
            .prepare = come<S, 0, 6>,
            .run = change_and_remove<S>,
            .points = {eager_points::p2},
            .sweep = sweeping::by_hand,
            .work_first = look_for_two<S>};
}

/// The killed process was changing, by `change`, the last of a node's keys. The next process
/// reclaims the node's lock, changes the first key, which is in another line, and unlocks.
template <class S>
eager_case<S> unswept_far(std::string_view name, void (S::*change)(u64)) {
    constexpr u64 last = 11;
    return {.name = name,
            .what = "the same, in another line of a node",
            .prepare = come<S, 0, last + 1>,
            .run = [change](S& s, splitmix64&) { (s.*change)(last); },
            .points = {eager_points::p2},
            .sweep = sweeping::by_hand,
            .work_first =
                [](S& s) {
                    s.update_or_miss(0);
                    s.get(last);
                }};
}

/// An update and a remove of absent keys, then reads that make room for crash points.
template <class S>
void miss_two(S& s) {
    s.update_or_miss(2);
    s.remove(1);
    for (unsigned i = 0; i < 20; ++i) s.get(5);
}
/// The first operations after a kill find two keys absent.
template <class S>
eager_case<S> missed_unswept(std::string_view name) {
    return {.name = name,
            .what = "keys are missed behind a kill, and before the sweep",
            .prepare = come<S, 0, 6>,
            .run =
                [](S& s, splitmix64&) {
                    s.remove(2);
                    s.remove(1);
                },
            .points = {eager_points::p2},
            .sweep = sweeping::by_hand,
            .work_first = miss_two<S>};
}
/// Inserts keys 20 to 25 as one batch.
template <class S>
void batch_and_change(S& s, splitmix64& r) {
    come_at_once<S, 20, 26>(s, r);
    s.upsert(20 + r() % 6);
}
/// A batch of new keys meets what an interrupted batch has left.
template <class S>
void bring_another(S& s) {
    const u64 k = s.keys();
    s.insert_many({k, k + 1, k + 2, k + 3, k + 4, k + 5});
    s.update_or_miss(20);
    s.remove(22);
}
/// A process is killed within a batch; the next one begins with a batch, before the sweep.
template <class S>
eager_case<S> unswept_batch(std::string_view name) {
    return {.name = name,
            .what = "a batch behind a kill, and before the sweep",
            .prepare = come<S, 0, 20>,
            .run = batch_and_change<S>,
            .points = {eager_points::p1, eager_points::p2},
            .sweep = sweeping::by_hand,
            .work_first = bring_another<S>};
}
/// Both threads insert batches into the same nodes, read each other's keys, and change old ones.
template <class S>
void bring_together(S& s, unsigned thread, splitmix64& r) {
    s.upsert(r() % 6);
    s.insert_many({20 + thread, 22 + thread, 24 + thread, 26 + thread});
    s.get(20 + r() % 8);
    s.upsert(r() % 6);
    s.get(21 - thread);
}

/// A case with two threads.
template <class S>
eager_case<S> two_threads(std::string_view name, std::string_view what,
                          std::function<void(S&)> prepare, std::vector<std::string_view> points,
                          void (*run)(S&, unsigned, splitmix64&)) {
    return {name, what, std::move(prepare), nullptr, std::move(points), false, 2, run};
}

template <class S>
eager_case<S> batch_threads(std::string_view name) {
    return two_threads<S>(name, "two threads bring batches", come<S, 0, 6>,
                          {eager_points::p1, eager_points::p2}, bring_together<S>);
}

/// A full region.
template <class S>
eager_case<S> without_memory(std::string_view name) {
    return {.name = name,
            .what = "keys go where there is no memory",
            .prepare = many_and_no_memory<S>,
            .run = remove_without_memory<S>,
            .points = {eager_points::p2},
            .most_bytes = u64{2} << 20};
}

/// The record that one thread reads is pushed down into a new node with another record, and is then
/// updated there.
template <class S>
void push_down_and_change(S& s, unsigned thread, splitmix64& r) {
    if (thread != 0) {
        r() % 2 == 0 ? s.get(0) : get_with_all(s, 0, r);
        return;
    }
    s.upsert(1);
    s.upsert(0);
}
template <class S>
eager_case<S> pushing_down(std::string_view name) {
    auto c = two_threads<S>(name, "a thread reads what is pushed down, and changes there",
                            come<S, 0, 1>, {}, push_down_and_change<S>);
    c.steps = 60;
    return c;
}

constexpr unsigned peeking_threads = 4;

/// Threads read key K while another thread changes it. P3 is in each index's own cases, or comes
/// with its lock marks.
template <class S, u64 K = 3>
eager_case<S> peeking(std::string_view name, std::function<void(S&)> prepare) {
    auto c = two_threads<S>(name, "threads look at a change under way", std::move(prepare), {},
                            peek_at_change<S, K>);
    c.threads = peeking_threads;
    c.steps = 100;
    return c;
}

/// As peeking(), for a key K that is inserted together with nodes: many lines are flushed before
/// the store that publishes them.
template <class S, u64 K>
eager_case<S> peeking_at_new(std::string_view name, std::function<void(S&)> prepare) {
    auto c = peeking<S, K>(name, std::move(prepare));
    c.run_thread = [](S& s, unsigned thread, splitmix64& r) {
        thread == 0 ? s.upsert(K) : peek(s, K, thread, r);
    };
    c.steps = 200;
    return c;
}

}  // namespace hf::lab
