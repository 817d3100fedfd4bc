// checkpoint_map/checkpoint_map.hpp: the public map over engine<incll>: a Masstree with
// in-cache-line logs.
//
// checkpoint_map.cpp opens, closes and describes it; read.cpp and write.cpp contain its operations.
#pragma once

#include "base/check.hpp"
#include "base/damage.hpp"
#include "checkpoint_map/compaction.hpp"
#include "checkpoint_map/engine.hpp"
#include "checkpoint_map/large_value.hpp"
#include "map_engine/map_engine.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf {

static_assert(max_key_size == masstree_detail::most_key_bytes);

class checkpoint_map final : public map_engine {
   public:
    using tree_type = masstree<incll_discipline>;
    using record = tree_type::record;
    using condition = write_condition;

    [[nodiscard]] static result<std::unique_ptr<map_engine>> open(const std::filesystem::path& path,
                                                                  const map_options& options);
    [[nodiscard]] engine<incll_discipline>& machine() const noexcept { return *machine_; }

    // --- read.cpp ---
    [[nodiscard]] bool get(std::string_view key, std::string& out) const override;
    [[nodiscard]] std::size_t get_many(std::span<const std::string_view> keys,
                                       const map::finder& found) const override;
    void prefetch(std::span<const std::string_view> keys) const override;
    [[nodiscard]] result<std::size_t> scan(std::optional<std::string_view> from, bool exclusive,
                                           bool backwards,
                                           const map::visitor& visit) const override;

    // --- write.cpp ---
    [[nodiscard]] result<write_outcome> store(std::string_view key, std::string_view value,
                                              const condition* allowed) override;
    [[nodiscard]] result<write_outcome> erase(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) override;
    [[nodiscard]] result<write_outcome> erase_unverified(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) override;
    [[nodiscard]] result<write_outcome> change(std::string_view key,
                                               const modification& change) override;

    // --- checkpoint_map.cpp ---
    [[nodiscard]] result<void> wait_durable(ticket t) override { return epochs().wait_durable(t); }
    [[nodiscard]] ticket durable_epoch() const noexcept override {
        return epochs().durable_epoch();
    }
    [[nodiscard]] ticket current_epoch() const noexcept override {
        return epochs().current_epoch();
    }
    [[nodiscard]] discipline kind() const noexcept override { return discipline::incll; }
    [[nodiscard]] std::string_view index() const noexcept override { return "masstree"; }
    [[nodiscard]] bool has_small_values() const override;
    [[nodiscard]] std::uint64_t generation() const noexcept override {
        return machine_->generation();
    }
    [[nodiscard]] region& file() const noexcept override { return machine_->file(); }
    [[nodiscard]] statistics stats() const override;
    [[nodiscard]] result<void> close() override { return machine_->close(); }

   private:
    checkpoint_map(std::unique_ptr<engine<incll_discipline>> machine, bool verifies_reads)
        : machine_(std::move(machine)), verifies_reads_(verifies_reads) {}

    [[nodiscard]] epoch_manager& epochs() const { return machine_->epochs(); }
    [[nodiscard]] checkpoint_state& checkpoint() const { return machine_->checkpoint(); }
    [[nodiscard]] tree_type& tree() const { return machine_->tree(); }
    [[nodiscard]] bool log_ran_full(u64 epoch) const {
        return checkpoint().log_ran_full(epochs().my_lane(), epoch);
    }
    [[nodiscard]] heap<incll_discipline>& memory() const { return machine_->memory(); }

    [[nodiscard]] result<void> check_writable() const;
    [[nodiscard]] result<write_outcome> store_small(std::string_view key, std::string_view value,
                                                    const condition* allowed) const;
    /// `unverified`: a record whose checksum is wrong is erased, too.
    [[nodiscard]] result<write_outcome> try_erase(
        std::string_view key, const std::function<bool(std::string_view)>& allowed,
        bool unverified) const;
    [[nodiscard]] result<write_outcome> try_change(std::string_view key,
                                                   const modification& change) const;

    /// Calls attempt() until it has space, or cannot get any.
    /// 1. Log full: the next epoch has an empty log, unless other threads fill a shared one. A
    ///    removal that succeeded although the log ran full has left an empty leaf, which is removed
    ///    then.
    /// 2. Heap full: blocks freed in this epoch can be reused in the next one, so it is retried
    ///    there.
    /// 3. Empty slabs are given back, and what idle threads have freed becomes available to all.
    ///    It is retried in the epoch after that.
    /// 4. Records are moved out of sparse slabs, and sparse leaves are joined. It is retried in the
    ///    epoch after that.
    /// 5. Larger size classes may serve the request.
    /// If all of that fails, later attempts in the same epoch fail at once unless memory has been
    /// freed: otherwise each write to a full map would end an epoch in vain.
    template <class Attempt>
    result<write_outcome> with_room(std::string_view key, Attempt attempt) const {
        u64 epoch = epochs().current_epoch();
        auto done = attempt();
        const auto attempt_now = [&] {
            done = attempt();
            return done || done.error().code != errc::no_space;
        };
        const auto attempt_after = [&](u64 ended) {
            epochs().end_epoch(ended);
            epoch = epochs().current_epoch();
            return attempt_now();
        };
        constexpr unsigned most_logs = 100;
        for (unsigned i = 0; i < most_logs && !done && log_ran_full(epoch); ++i) {
            if (attempt_after(epoch)) break;
        }
        if (done) {
            if (log_ran_full(epoch)) [[unlikely]] {
                tidy(key);
            }
            if (full_in_.load(std::memory_order_relaxed) != 0 && done->changed && done->existed) {
                full_in_.store(0, std::memory_order_relaxed);
            }
            return done;
        }
        if (done.error().code != errc::no_space) return done;
        if (full_in_ == epoch) return explained(std::move(done.error()));
        // The epoch `epoch` may have ended before the attempt, or before the slabs were given back.
        // The slabs can be reused after the epoch that is current now.
        const auto attempt_in_next = [&] { return attempt_after(epochs().current_epoch()); };
        if (attempt_in_next()) return done;
        const u64 pages = memory().give_back_slabs();
        const bool has_freed = pages != 0 || memory().has_gathered();
        // If the sweep was of no use, the region may grow now.
        if (has_freed ? attempt_in_next() : attempt_now()) return done;
        if (compact() && attempt_in_next()) return done;
        memory().let_larger_stand_in();
        if (attempt_now()) return done;
        idle_when_full_ = memory().idle_bytes();
        full_in_ = epoch;
        return explained(std::move(done.error()));
    }
    /// Makes the full region compact, or waits until another thread has. False: that is of no use.
    [[nodiscard]] bool compact() const;
    /// In the next epoch, removes the empty leaf that removing the key has left.
    void tidy(std::string_view key) const;
    /// Extends a no-space error with advice if many free blocks exist but none fits.
    tl::unexpected<error> explained(error why) const;

    std::unique_ptr<engine<incll_discipline>> machine_;
    bool verifies_reads_;  ///< map_options::verify_reads
    mutable std::mutex compacting_;
    mutable compaction_budget budget_;  ///< under compacting_
    mutable std::atomic<u64> compactions_{0};
    mutable std::atomic<u64> full_in_{0};
    mutable std::atomic<u64> idle_when_full_{0};
};

}  // namespace hf
