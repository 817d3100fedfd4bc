// section/cutter.hpp: the thread that makes the cuts, and how long each attempt may take.
//
// Pace. A cut is tried once a period, if a section has run since the last one. An attempt has a
// time-out (cut_pace below). After a failure the thread sleeps for so long that the gate is closed
// at most 1/50 of the time: a failed attempt costs the program no more than a cut (rule C7). After
// every third failure in a row the time-out doubles. A success sets it back to its first value.
//
//     attempts 1 to 3: .5 ms, sleep 25 ms; attempts 4 to 6: 1 ms, sleep 49 ms; ... up to 100 ms
//
// Three, because most failures are a thread that lost its processor inside a short section: it is
// outside at the next attempt, and a longer time-out would only make the pause longer.
//
// While the journal still writes the cuts before (cut_outcome::disk_busy), the gate stays open and
// no section is in the way: the next attempt comes after a period, with the same time-out.
//
// While the undo log is nearly full, the time-out is at its limit and there is no sleep: new
// sections are held, those in flight end, and the cut empties the log (rule C9).
#pragma once

#include "base/bits.hpp"
#include "section/pauses.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hf::section {

enum class cut_outcome : u8 {
    cut,
    section_in_the_way,  ///< a thread inside did not end within the time-out
    disk_busy,           ///< the gate was not closed: the journal still writes the cuts before
};

struct cutter_pace {
    u64 period_ns = 10'000'000;
    u64 patience_ns = 500'000;
    u64 max_patience_ns = 100'000'000;
    u64 look_ns = 5'000'000;  ///< from one check whether the log is nearly full to the next
};

/// The time-out and the sleep of the next attempt, from the attempts before it. A value: tests
/// step through it.
class cut_pace {
   public:
    explicit cut_pace(const cutter_pace& p) noexcept : pace_(p), patience_(p.patience_ns) {}

    [[nodiscard]] u64 patience() const noexcept { return patience_; }
    /// Returns how long to sleep before the next attempt.
    u64 succeeded() noexcept {
        patience_ = pace_.patience_ns;
        failures_ = 0;
        return pace_.period_ns;
    }
    u64 failed() noexcept {
        const u64 pause = stall_share * patience_ - patience_;
        if (++failures_ % attempts_each == 0) {
            patience_ = std::min(2 * patience_, std::max(pace_.max_patience_ns, pace_.patience_ns));
        }
        return pause;
    }
    /// As succeeded() or failed(). After disk_busy, which says nothing about sections, the time-out
    /// stays.
    u64 after(cut_outcome how) noexcept {
        if (how == cut_outcome::disk_busy) return pace_.period_ns;
        return how == cut_outcome::cut ? succeeded() : failed();
    }
    static constexpr u64 stall_share = 50;
    static constexpr u64 attempts_each = 3;  ///< with one time-out

   private:
    cutter_pace pace_;
    u64 patience_;
    u64 failures_ = 0;  ///< in a row
};

struct cut_numbers {
    std::atomic<u64> cuts{0};
    std::atomic<u64> failed{0};
    std::atomic<u64> disk_busy{0};
    std::atomic<u64> last_cut_ns{0};  ///< when
    std::atomic<u64> longest_ns{0};   ///< between two
    std::atomic<u64> last_pause_ns{0};
    std::atomic<u64> longest_pause_ns{0};
    std::atomic<u64> stalled_ns{0};
    pauses all_pauses;
    std::atomic<const void*> site{nullptr};
    std::atomic<u64> site_ns{0};
};

class cutter {
   public:
    /// Tries to cut within that time-out.
    using attempt = std::function<cut_outcome(u64 patience_ns)>;
    struct needs {
        bool cut;     ///< a section has run since the last cut
        bool urgent;  ///< the log is nearly full
    };

    cutter() = default;
    cutter(const cutter&) = delete;
    cutter& operator=(const cutter&) = delete;
    ~cutter() { stop(); }

    void start(const cutter_pace& pace, std::function<needs()> ask, attempt cut);
    void stop();
    /// The next attempt is made at once, even if no section has run.
    void hurry();
    /// Whether it was started, and not stopped since.
    [[nodiscard]] bool is_running() const noexcept { return thread_.joinable(); }

   private:
    void run(const cutter_pace& pace, const std::function<needs()>& ask, const attempt& cut);

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    bool hurried_ = false;
    std::thread thread_;
};

}  // namespace hf::section
