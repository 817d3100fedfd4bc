#include "checkpoint/checkpoint_state.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "checkpoint/checkpoint_area.hpp"

#include <algorithm>
#include <thread>

namespace hf {

checkpoint_state::checkpoint_state(epoch_manager& epochs)
    : epochs_(epochs), logs_(std::make_unique<std::array<lane_log, max_lanes>>()) {
    if (!epochs.durable()) return;
    const checkpoint_area saved = checkpoint_area_of(file().super());
    for (u32 i = 0; i < saved.failed_count; ++i) {
        failed_.add_range(saved.failed[i].first, saved.failed[i].last);
    }
    if (needs_recovery()) failed_.add(*epochs.interrupted_epoch());
    horizon_ = failed_.horizon();
}

result<void> checkpoint_state::recover_log(unsigned threads) {
    log_applied_ = true;
    if (const auto crashed = epochs_.interrupted_epoch()) {
        if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
        auto applied = apply_log(file(), *crashed, threads);
        if (!applied) return tl::unexpected(applied.error());
        recovered_entries_ = applied->entries;
    }
    return {};
}

bool checkpoint_state::must_sweep_first() const noexcept {
    return 2 * failed_.ranges().size() >= max_failed_ranges;
}

result<void> checkpoint_state::start() {
    HF_CHECK(log_applied_, "R1: a session begins before the external log was applied");
    if (failed_.ranges().size() > max_failed_ranges) {
        return failure({errc::corrupt, "open the map", file().path().string(),
                        "it has crashed in more epochs than can be remembered, without ever being "
                        "up for long enough to undo them",
                        "open it with nothing else running until an open has succeeded"});
    }
    return epochs_.start([this](layout::superblock& s) {
        const bool is_new = s.generation == 1;  // with this session
        change_checkpoint_area(s, [&](checkpoint_area& c) {
            if (is_new) c.last_pass_epoch = epochs_.current_epoch();  // no older stamps exist
            c.failed_count = static_cast<u32>(failed_.ranges().size());
            for (u32 i = 0; i < c.failed_count; ++i) {
                c.failed[i] = {failed_.ranges()[i].first, failed_.ranges()[i].last};
            }
        });
    });
}

result<void> checkpoint_state::clear_failed() {
    const u64 now = epochs_.current_epoch();
    auto written = epochs_.update_super([&](layout::superblock& s) {
        change_checkpoint_area(s, [now](checkpoint_area& c) {
            c.failed_count = 0;
            c.last_pass_epoch = now;
        });
    });
    if (!written) return written;
    // Readers that still have the old horizon check the old set, so it changes with the world
    // stopped.
    epochs_.with_world_stopped([this](lane&) {
        failed_.clear();
        horizon_ = 0;
    });
    return {};
}

bool checkpoint_state::restamp_due() const noexcept {
    constexpr unsigned shift = 33;  // an eighth of the range of compact epochs
    return epochs_.durable() &&
           (epochs_.current_epoch() >> shift) !=
               (checkpoint_area_of(epochs_.file().super()).last_pass_epoch >> shift);
}

result<void> checkpoint_state::log(const lane& l, std::span<const log_object> objects,
                                   u64 epoch) noexcept(!crashes_throw) {
    result<void> done;
    if (l.index != 0) {
        log_writer& mine = log_of(l.index);
        done = mine.append(objects, epoch);
        if (done) [[likely]]
            return done;
        if (mine.has_segments()) {
            (*logs_)[l.index].full_in = epoch;
            return done;
        }
    }
    const ranked_guard guard(lock_rank::shared_undo_log, shared_log_);
    done = log_of(0).append(objects, epoch);
    if (!done) (*logs_)[l.index].full_in = epoch;
    return done;
}

log_writer& checkpoint_state::log_of(u32 lane) {
    HF_ASSERT(epochs_.durable(), "an undo log where nothing is to survive");
    lane_log& mine = (*logs_)[lane];
    if (!mine.attached) [[unlikely]] {
        mine.writer.attach(file(), static_cast<u16>(lane));
        mine.attached = true;
    }
    return mine.writer;
}

u64 checkpoint_state::log_entries() const noexcept {
    u64 n = 0;
    for (const lane_log& of_lane : *logs_) n += of_lane.writer.entries();
    return n;
}

u64 checkpoint_state::log_bytes() const noexcept {
    u64 n = 0;
    for (const lane_log& of_lane : *logs_) n += of_lane.writer.bytes();
    return n;
}

}  // namespace hf
