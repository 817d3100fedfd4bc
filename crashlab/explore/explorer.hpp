// explore/explorer.hpp: enumerates what a crash can leave behind, and judges the recovery.
//
// At each crash point of a trace (before every fence and sync, at each persist point and
// announcement, at the end) it explores:
//   lazily  recovery runs once for every combination of contents of the lines that it reads; after
//           each, every question runs once for every combination of what the question reads.
//           Questions are independent, so the cost is a sum over them. Beyond the limits,
//           combinations are drawn at random
//   whole   all lines old, all new, one different, random: everything is inspected, and the
//           survivor continues working
//   nested  some of the whole runs are recorded, recovery included, and explored in the same way: a
//           crash during recovery, and one during the recovery from that
//   killed  the process dies and the machine continues: recovery and further work run on the
//           caches' contents, and the power fails during them. Stores that the dead process had not
//           made durable may still be lost, unless recovery persists them
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
    u64 openings = 64;        ///< of one crash point, enumerated; and the same number at random
    u64 states = 2000;        ///< of one question, enumerated
    u64 random_states = 200;  ///< of one question, if enumeration was incomplete
    u32 whole = 6;            ///< random whole images of a crash point
    u32 nested = 1;           ///< of these, recorded and explored
    u32 kills = 4;            ///< the process is killed at one in this many crash points; 0: never
    unsigned depth = 2;       ///< nesting of crashes during recovery
    u32 nested_points = 12;   ///< crash points of a recovery, evenly distributed
    u32 points = 0;           ///< crash points of the workload, evenly distributed; 0: all
    /// only crash points after an operation's end, and no whole images: shows early reads
    bool behind_ends = false;
};

struct counts {
    u64 traces = 0;
    u64 events = 0;
    u64 crash_points = 0;
    u64 openings = 0;
    u64 states = 0;  ///< recoveries and questions, each on an image of its own
    u64 nested_traces = 0;
    u64 kills = 0;         ///< of these, recorded after the death of a process
    u64 incomplete = 0;    ///< crash points where combinations were drawn at random
    std::set<u64> points;  ///< persist points at which a crash was explored
    digest_set images;
};

/// One crash of a chain: at this event, with these contents. After a `killed` process the trace
/// continues, so the next crash's event is counted from the same beginning.
struct stage {
    u32 event = 0;
    std::vector<choice> contents = {};
    bool killed = false;
};

/// The step of a run, after recovery, that failed.
enum class probe : u8 {
    recovery,
    question,
    inspection,
    work,
    run,  ///< none: the error was returned before the crash
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

    /// Explores all crash points of `trace`; stops at the first finding.
    [[nodiscard]] std::optional<finding> explore(const std::vector<event>& trace,
                                                 const crash_model& before, victim& who);
    /// Receives the trace and the initial model of each crash in a chain.
    using stage_listener = std::function<void(const std::vector<event>& trace, const crash_model&)>;

    /// Repeats one run. nullopt: no error. `listener` may be empty.
    [[nodiscard]] std::optional<std::string> replay(const std::vector<event>& trace,
                                                    const crash_model& before, victim& who,
                                                    const finding& f,
                                                    const stage_listener& listener = {});

   private:
    /// Explores the crash points from event `from` on; `m`: the model there.
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

/// The events before which a crash is worth exploring, and the trace's end.
[[nodiscard]] std::vector<u32> crash_points_of(const std::vector<event>& trace,
                                               persistence mode = persistence::pcso);

/// The model after the crash in `m` with the choices of one run.
[[nodiscard]] crash_model settled(const crash_model& m, const choices& how);

}  // namespace hf::lab
