// tests/campaigns/kill/writer.hpp: one thread's work on the map, recorded in the journal.
//
// A writer owns its keys, so it knows their expected values, unless an earlier session was killed
// and no observer has read the region since: then a key is unknown until it is written again. The
// writer reports unexpected values at once.
//
// An eager map has no epochs, except on a disk: all acknowledged writes are durable. The judge sees
// that as one epoch for each session, reported as durable before the first write.
#pragma once

#include <holdfast/map.hpp>

#include "journal.hpp"
#include "keys.hpp"
#include "value.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace hf::kill_test {

class writer {
   public:
    writer(map& target, journal& record, const key_set& keys, const value_maker& values, u32 index,
           u32 session, u64 seed, bool small_values);

    /// Runs at most `strokes` strokes, until `stop`, or until its part of the journal is full; then
    /// another thread may continue.
    void run(const std::atomic<bool>& stop, u64 strokes);
    [[nodiscard]] bool full() const noexcept;

   private:
    enum class sureness : u8 { unknown, absent, present };
    struct belief {
        sureness sure = sureness::unknown;
        u32 size = 0;
        u64 number = 0;
    };

    void choose_mixture();

    // A stroke is a short sequence of related operations.
    using stroke = void (writer::*)();
    struct choice {
        u64 weight;
        stroke work;
    };
    void mixed_stroke();
    void hot_stroke();
    void fill_stroke();
    void drain_stroke();
    void churn_stroke();
    void large_stroke();
    void scan_stroke();
    void walk_stroke();
    void wait_stroke();

    void any_operation(u32 key);
    void put(u32 key, u32 size);
    void put_if(u32 key, u32 size, bool wanted);
    void remove(u32 key);
    void modify(u32 key, u32 size);
    void get(u32 key);

    [[nodiscard]] value_id next_value(u32 key, u32 size);
    [[nodiscard]] write_record& begin(write_kind kind, const value_id& id);
    void finish(write_record& w, const result<write_outcome>& done, bool change_expected);
    void check_outcome(u32 key, const write_outcome& done, bool change_expected);
    [[nodiscard]] bool has_no_epochs() const { return map_.current_epoch() == 0; }
    [[nodiscard]] u64 only_epoch() const { return u64{session_} + 1; }
    [[nodiscard]] u64 current_epoch() const;
    void check_ticket(const write_record& w, u64 written_in);
    void note_durable();
    void check_read(u32 key, std::optional<std::string_view> found, const char* where);
    void complain(u32 key, const std::string& what);

    [[nodiscard]] u32 any_key();
    [[nodiscard]] u32 any_size();
    [[nodiscard]] bool chance(u32 percent) { return random_.below(100) < percent; }
    [[nodiscard]] belief& of(u32 key) { return beliefs_[key]; }

    map& map_;
    journal& journal_;
    const key_set& keys_;
    const value_maker& values_;
    const std::vector<u32>& own_;
    u32 index_;
    u32 session_;
    xoshiro256ss random_;
    std::vector<choice> mixture_;
    u64 total_weight_ = 0;
    std::vector<belief> beliefs_;  ///< of all keys; only the writer's own are used
    u64 last_ticket_ = 0;
    bool is_ordered_;
    bool small_values_;  ///< most values are small enough to be inlined
    std::string value_;
    std::string read_;
};

}  // namespace hf::kill_test
