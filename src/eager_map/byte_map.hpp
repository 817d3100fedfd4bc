// eager_map/byte_map.hpp: the public map over an eager index: the functions beyond the
// index concept.
//
// Purpose. An index writes a key unconditionally. A map also has conditional writes (put_if,
// remove_if, modify), incremental iteration, and a record count. These are the same for every
// index, so they are here.
//
// Concurrency. A writer locks its key's stripe, one of 1,024 mutexes chosen by the key's hash, so
// the key cannot change between the condition and the write. Readers take no stripe. Only one
// process uses a region, so the stripes are volatile.
//
// Persist order. None of its own. The value that a condition has read was durable then (eager P3),
// or belongs to an epoch not later than the write's (medium `file`): so after a crash a write never
// survives without the value it depends on.
//
// Full region. A removed record's memory can be reused after its last reader has ended. A write
// without space waits for that once and retries. Full disk: nothing is written (eager/space.hpp).
#pragma once

#include <holdfast/map.hpp>

#include "eager_map/engine.hpp"
#include "map_engine/map_engine.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf {

class eager_byte_map final : public map_engine {
   public:
    [[nodiscard]] static result<std::unique_ptr<map_engine>> open(const std::filesystem::path& path,
                                                                  const map_options& options);

    /// Closes the region and stores the record count for the next session. If it is unknown, the
    /// records are counted, unless that takes more than two seconds.
    [[nodiscard]] result<void> close() override;

    [[nodiscard]] bool get(std::string_view key, std::string& out) const override {
        return engine_->get(key, out);
    }
    [[nodiscard]] std::size_t get_many(std::span<const std::string_view> keys,
                                       const map::finder& found) const override;
    [[nodiscard]] result<write_outcome> store(std::string_view key, std::string_view value,
                                              const write_condition* allowed) override;
    [[nodiscard]] result<write_outcome> erase(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) override;
    [[nodiscard]] result<write_outcome> erase_unverified(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) override;
    [[nodiscard]] result<write_outcome> change(std::string_view key,
                                               const modification& change) override;

    [[nodiscard]] result<std::size_t> scan(std::optional<std::string_view> from, bool exclusive,
                                           bool backwards,
                                           const map::visitor& visit) const override;
    /// Without an order the cursor contains the number of the next part.
    [[nodiscard]] result<std::size_t> walk(std::string& cursor, std::size_t about,
                                           const map::visitor& visit) const override;

    [[nodiscard]] result<void> wait_durable(ticket t) override { return space().wait_durable(t); }
    [[nodiscard]] ticket durable_epoch() const noexcept override { return space().durable_epoch(); }
    [[nodiscard]] ticket current_epoch() const noexcept override { return space().current_epoch(); }
    [[nodiscard]] discipline kind() const noexcept override { return discipline::eager; }
    [[nodiscard]] std::string_view index() const noexcept override { return engine_->name(); }
    [[nodiscard]] bool is_ordered() const noexcept override { return engine_->is_ordered(); }
    [[nodiscard]] std::uint64_t generation() const noexcept override {
        return space().generation();
    }
    [[nodiscard]] region& file() const noexcept override { return space().file(); }
    [[nodiscard]] statistics stats() const override;
    [[nodiscard]] result<void> wait_for_sweep() override { return space().wait_for_sweep(); }
    [[nodiscard]] result<audit_report> audit() override;

   private:
    using engine = detail::eager_engine<std::string_view, std::string>;
    struct alignas(line_size) stripe {
        std::mutex mutex;
        std::atomic<std::int64_t> records{0};  ///< inserted minus removed; written under `mutex`
    };
    static constexpr std::size_t stripes = 1024;

    explicit eager_byte_map(std::unique_ptr<engine> e) : engine_(std::move(e)) {}
    [[nodiscard]] eager_space& space() const noexcept { return engine_->space(); }
    [[nodiscard]] stripe& stripe_of(std::string_view key) const noexcept;
    [[nodiscard]] result<void> check_writable() const;
    /// nullopt: unknown, because the last session crashed or was a program that does not count.
    [[nodiscard]] std::optional<u64> records() const;
    /// Counts the records; no writer may run. nullopt: it takes longer than `patience`.
    [[nodiscard]] std::optional<u64> count_within(std::chrono::nanoseconds patience) const;
    /// The outcome of this thread's last operation.
    [[nodiscard]] write_outcome outcome(bool changed, bool existed) const {
        return {space().last_epoch(), changed, existed};
    }
    [[nodiscard]] result<write_outcome> put(stripe& held, std::string_view key,
                                            std::string_view value);
    [[nodiscard]] write_outcome remove(stripe& held, std::string_view key);
    [[nodiscard]] std::size_t walk_parts(std::string& cursor, std::size_t about,
                                         const map::visitor& visit) const;

    std::unique_ptr<engine> engine_;
    std::unique_ptr<std::array<stripe, stripes>> stripes_ =
        std::make_unique<std::array<stripe, stripes>>();
    u64 opening_ns_ = 0;
};

}  // namespace hf
