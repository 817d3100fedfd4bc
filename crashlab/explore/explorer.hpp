// explore/explorer.hpp: enumerates the states that a crash can leave, and checks recovery.
//
// At each crash point of a trace (before every fence and sync, at each persist point and
// announcement, at the end) it explores
//
//   lazily  recovery runs once for every combination of contents of the lines that it reads; after
//           each, every question runs once for every combination of the lines that it reads.
//           Questions are independent, so the cost is a sum over them. Beyond the limits,
//           combinations are drawn at random.
//   whole   images with all lines old, all new, one different, or random contents: everything is
//           inspected, and the survivor runs further operations.
//   nested  some of the whole runs are themselves recorded, recovery included, and explored in the
//           same way: a crash during recovery, and one during the recovery from that.
//   killed  the process dies and the machine goes on: recovery and further operations run on the
//           contents of the caches, and the power cut comes during them. Stores of the dead process
//           that were not durable are still possibly volatile, unless recovery makes them durable.
#pragma once

#include "crashlab/explore/digest_set.hpp"
#include "crashlab/explore/image.hpp"
#include "crashlab/targets/target.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <set>

namespace hf::lab {

struct limits {
    u64 openings = 64;         ///< recoveries at one crash point, enumerated; as many at random
    u64 states = 2000;         ///< states of one question, enumerated
    u64 random_states = 200;   ///< states of one question at random, if these did not suffice
    u32 whole = 6;             ///< random whole images of a crash point
    u32 nested = 1;            ///< whole runs that are recorded and explored
    u32 kills = 4;             ///< the process is killed at one in `kills` crash points; 0: never
    unsigned depth = 2;        ///< nesting depth of crashes during recovery
    u32 nested_points = 12;    ///< crash points of a recovery, evenly distributed
    u32 points = 0;            ///< crash points of the workload, evenly distributed; 0: all
    bool behind_ends = false;  ///< only crash points after an operation's end, and no whole images:
                               ///< a premature read shows in stores that were not written back
};

struct counts {
    u64 traces = 0;
    u64 events = 0;
    u64 crash_points = 0;
    u64 openings = 0;
    u64 states = 0;  ///< recoveries and questions run, each on its own image
    u64 nested_traces = 0;
    u64 kills = 0;         ///< part of them, recorded after the death of a process
    u64 incomplete = 0;    ///< crash points at which combinations were drawn at random
    std::set<u64> points;  ///< persist points at which a crash was explored
    digest_set images;
};

/// One crash of a chain: at this event, with these contents. If the process was `killed`, the trace
/// continues, and the next crash's event is counted from the same beginning.
struct stage {
    u32 event = 0;
    std::vector<choice> contents = {};
    bool killed = false;
};

/// The part of a run in which the error showed.
enum class probe : u8 {
    recovery,
    question,
    inspection,
    work,
    run,  ///< none: an operation's result was wrong before the crash
};

struct finding {
    std::string what;
    std::vector<stage> stages;
    probe asked = probe::recovery;
    unsigned question = 0;
};

class explorer {
   public:
    explorer(image& memory, const limits& most, counts& counted, u64 seed)
        : image_(memory), limits_(most), counts_(counted), seed_(seed) {}

    /// If set: returns true to stop early.
    std::function<bool()> out_of_time;

    /// Explores all crash points of `trace`, up to the first finding.
    [[nodiscard]] std::optional<finding> explore(const std::vector<event>& trace,
                                                 const crash_model& before, victim& who);
    /// Called with the trace and the initial model of each crash of a chain.
    using stage_listener = std::function<void(const std::vector<event>& trace, const crash_model&)>;

    /// Repeats one run. nullopt: no error. `listener` may be null.
    [[nodiscard]] std::optional<std::string> replay(const std::vector<event>& trace,
                                                    const crash_model& before, victim& who,
                                                    const finding& f,
                                                    const stage_listener& listener = {});

   private:
    /// Explores the crash points from event number `from` on; `m` is the model there.
    [[nodiscard]] std::optional<finding> explore_trace(const std::vector<event>& trace, u32 from,
                                                       crash_model m, victim& who, unsigned depth);
    [[nodiscard]] std::optional<finding> explore_point(const crash_model& m, victim& who,
                                                       unsigned depth, bool hurry);
    [[nodiscard]] std::optional<finding> explore_lazily(const crash_model& m, victim& who);
    [[nodiscard]] std::optional<finding> open_once(const crash_model& m, victim& who, choices& how);
    [[nodiscard]] std::optional<finding> ask(survivor& s, unsigned number, choices& how);
    [[nodiscard]] std::optional<finding> explore_whole(const crash_model& m, victim& who,
                                                       unsigned depth);
    [[nodiscard]] std::optional<finding> run_whole(const crash_model& m, victim& who, choices& how,
                                                   bool nest, unsigned depth);
    [[nodiscard]] std::optional<finding> explore_nested(const crash_model& m,
                                                        std::unique_ptr<survivor> who,
                                                        const std::vector<event>& trace,
                                                        const choices& how, unsigned depth);
    [[nodiscard]] std::optional<finding> explore_killed(const std::vector<event>& trace,
                                                        const crash_model& m, victim& who,
                                                        unsigned depth);
    [[nodiscard]] finding found(std::string what, const choices& how, probe asked,
                                unsigned question = 0) const;
    [[nodiscard]] bool is_kill_point(unsigned depth);
    void count_state();
    [[nodiscard]] std::vector<u32> some_of(const std::vector<u32>& points, u32 most);
    [[nodiscard]] bool must_stop() const { return out_of_time && out_of_time(); }

    image& image_;
    limits limits_;
    counts& counts_;
    u64 seed_;
    u64 draws_ = 0;
    u32 at_event_ = 0;
    bool sampled_ = false;  ///< not all combinations were tried at this crash point
};

/// Numbers of the events before which a crash is worth exploring, and of the trace's end.
[[nodiscard]] std::vector<u32> crash_points_of(const std::vector<event>& trace,
                                               persistence mode = persistence::pcso);

/// The model of the crash in `m` after the choices of one run.
[[nodiscard]] crash_model settled(const crash_model& m, const choices& how);

}  // namespace hf::lab
