// map_impl.hpp: the implementation of the public map (include/holdfast/map.hpp): engine<incll>, or
// an eager index.
//
// map.cpp opens, closes and describes it; map_read.cpp and map_write.cpp contain its operations.
#pragma once

#include <holdfast/map.hpp>

#include "base/check.hpp"
#include "base/damage.hpp"
#include "map/eager_side.hpp"
#include "map/engine.hpp"
#include "map/large_value.hpp"
#include "sync/fork.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf::map_detail {

[[nodiscard]] inline error too_large(const char* what, std::size_t size, std::size_t most) {
    return {errc::too_large, what, "argument",
            std::to_string(size) + " bytes where " + std::to_string(most) + " are the most",
            "use a shorter one"};
}

[[nodiscard]] inline result<void> check_key(std::string_view key) {
    if (key.size() > max_key_size) {
        return failure(too_large("use the key", key.size(), max_key_size));
    }
    return {};
}

[[nodiscard]] inline error closed(const char* what) {
    return {errc::usage, what, "the map", "it was closed", "open it anew"};
}

}  // namespace hf::map_detail

namespace hf {

static_assert(max_key_size == masstree_detail::most_key_bytes);

struct map::impl {
    using tree_type = masstree<incll_discipline>;
    using record = tree_type::record;

    /// Exactly one of the two is set; none after close().
    std::unique_ptr<engine<incll_discipline>> machine;
    std::unique_ptr<eager_side> eager;
    bool verifies_reads = true;  ///< map_options::verify_reads
    process_mark made_in;

    [[nodiscard]] engine<incll_discipline>& live() const {
        HF_ASSERT(machine != nullptr, "the map was closed");
        return *machine;
    }
    [[nodiscard]] epoch_manager& epochs() const { return live().epochs(); }
    [[nodiscard]] checkpoint_state& checkpoint() const { return live().checkpoint(); }
    [[nodiscard]] tree_type& tree() const { return live().tree(); }
    [[nodiscard]] bool log_ran_full(u64 epoch) const {
        return checkpoint().log_ran_full(epochs().my_lane(), epoch);
    }
    [[nodiscard]] heap<incll_discipline>& memory() const { return live().memory(); }

    /// Returns act(). Returns an error if the map was closed, or if act() throws damage.
    template <class F>
    auto meeting_damage(const char* doing, F act) const -> decltype(act()) {
        if (machine == nullptr) [[unlikely]] {
            return failure(map_detail::closed(doing));
        }
        try {
            return act();
        } catch (const damage& d) {
            return failure(d.to_error(doing, live().file().path()));
        }
    }

    /// meeting_damage() for an eager index.
    template <class F>
    auto meeting_eager_damage(const char* doing, F act) const -> decltype(act()) {
        try {
            return act();
        } catch (const damage& d) {
            return failure(d.to_error(doing, eager->space().file().path()));
        }
    }

    // --- map_read.cpp ---
    bool get(std::string_view key, std::string& out) const;
    result<std::size_t> get_many(std::span<const std::string_view> keys, const finder& found) const;

    // --- map_write.cpp ---
    using condition = write_condition;

    /// put_if(); `allowed` may be null.
    result<write_outcome> store(std::string_view key, std::string_view value,
                                const condition* allowed) const;
    result<write_outcome> store_small(std::string_view key, std::string_view value,
                                      const condition* allowed) const;
    /// remove_if(); `allowed` may be empty.
    result<write_outcome> erase(std::string_view key,
                                const std::function<bool(std::string_view)>& allowed) const;
    using modification =
        std::function<edit(std::optional<std::string_view> old, std::string& fresh)>;
    result<write_outcome> change(std::string_view key, const modification& change) const;

    /// Calls attempt() until it has space, or cannot get any.
    /// 1. Log full: the next epoch has an empty log, unless other threads fill a shared one. A
    ///    removal that succeeded although the log ran full has left an empty leaf, which is removed
    ///    then.
    /// 2. Heap full: blocks freed in this epoch can be reused in the next one, so it is retried
    ///    there.
    /// 3. Empty slabs are given back, and what idle threads have freed becomes available to all.
    ///    It is retried in the epoch after that.
    /// 4. Larger size classes may serve the request.
    /// If all of that fails, later attempts in the same epoch fail at once unless memory has been
    /// freed: otherwise each write to a full map would end an epoch in vain.
    template <class Attempt>
    result<write_outcome> with_room(std::string_view key, Attempt attempt) const {
        const auto checked = [&] { return meeting_damage("write to the map", attempt); };
        u64 epoch = epochs().current_epoch();
        auto done = checked();
        const auto attempt_behind = [&](u64 ended) {
            epochs().end_epoch(ended);
            epoch = epochs().current_epoch();
            done = checked();
            return done || done.error().code != errc::no_space;
        };
        constexpr unsigned most_logs = 100;
        for (unsigned i = 0; i < most_logs && !done && log_ran_full(epoch); ++i) {
            if (attempt_behind(epoch)) break;
        }
        if (done) {
            if (log_ran_full(epoch)) [[unlikely]] {
                tidy(key);
            }
            if (full_in.load(std::memory_order_relaxed) != 0 && done->changed && done->existed) {
                full_in.store(0, std::memory_order_relaxed);
            }
            return done;
        }
        if (done.error().code != errc::no_space) return done;
        if (full_in == epoch) return explained(std::move(done.error()));
        // The epoch `epoch` may have ended before the attempt, or before the slabs were given back.
        // The slabs can be reused after the epoch that is current now.
        const auto attempt_in_next = [&] { return attempt_behind(epochs().current_epoch()); };
        if (attempt_in_next()) return done;
        const u64 pages = memory().give_back_slabs();
        if ((pages != 0 || memory().has_gathered()) && attempt_in_next()) return done;
        memory().let_larger_stand_in();
        done = checked();
        if (done || done.error().code != errc::no_space) return done;
        idle_when_full = memory().idle_bytes();
        full_in = epoch;
        return explained(std::move(done.error()));
    }
    /// In the next epoch, removes the empty leaf that removing the key has left.
    void tidy(std::string_view key) const;
    /// Extends a no-space error with advice if many free blocks exist but none fits.
    tl::unexpected<error> explained(error why) const;

    mutable std::atomic<u64> full_in{0};
    mutable std::atomic<u64> idle_when_full{0};
};

}  // namespace hf
