// map/eager_side.hpp: the public map over an eager index: what it has beyond the indexes' concept.
//
// Purpose. An index writes a key or does not; a map also asks before it writes (put_if, remove_if,
// modify), walks in steps, and counts. All of that is the same for every index, so it is here.
//
// Concurrency. Whoever writes holds its key's stripe, a mutex of 1,024 by the key's hash: between
// the question and the write nobody changes the key. Readers take none. The stripes are of this
// process, like all who use the region.
//
// Persist order. None of its own. The answer to a question was durable when it was read (eager P3),
// or is of no later epoch than the write (medium `file`): so a write that rests on it never
// outlives what it rests on.
//
// Full region. What was removed can be used when its last reader has left: a write that finds no
// room waits for that, once, and tries again. Full disk: nothing is written (eager/space.hpp).
#pragma once

#include <holdfast/map.hpp>

#include "eager_map/engine.hpp"
#include "map/large_value.hpp"

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

class eager_side {
   public:
    [[nodiscard]] static result<std::unique_ptr<eager_side>> open(const std::filesystem::path& path,
                                                                  const map_options& options);

    /// Leaves the number of records for the next opening. Where it isn't known they are counted,
    /// as far as that takes no longer than two seconds.
    [[nodiscard]] result<void> close();

    [[nodiscard]] bool get(std::string_view key, std::string& out) const {
        return engine_->get(key, out);
    }
    [[nodiscard]] std::size_t get_many(std::span<const std::string_view> keys,
                                       const map::finder& found) const;
    /// put_if; `allowed` may be null.
    [[nodiscard]] result<write_outcome> store(std::string_view key, std::string_view value,
                                              const write_condition* allowed);
    /// remove_if; `allowed` may be empty.
    [[nodiscard]] result<write_outcome> erase(std::string_view key,
                                              const std::function<bool(std::string_view)>& allowed);
    [[nodiscard]] result<write_outcome> change(
        std::string_view key,
        const std::function<map::edit(std::optional<std::string_view>, std::string&)>& change);

    /// nullopt: from the end of all.
    [[nodiscard]] result<std::size_t> scan(std::optional<std::string_view> from, bool exclusive,
                                           bool backwards, const map::visitor& visit) const;
    /// Of an index without order; the cursor names its next part.
    [[nodiscard]] std::size_t walk(std::string& cursor, std::size_t about,
                                   const map::visitor& visit) const;

    [[nodiscard]] statistics stats() const;
    [[nodiscard]] std::string_view index() const noexcept { return engine_->name(); }
    [[nodiscard]] bool is_ordered() const noexcept { return engine_->is_ordered(); }
    [[nodiscard]] eager_space& space() const noexcept { return engine_->space(); }
    void audit(heap_audit& a) const { engine_->audit(a); }

   private:
    using engine = detail::eager_engine<std::string_view, std::string>;
    struct alignas(line_size) stripe {
        std::mutex mutex;
        std::atomic<std::int64_t> records{0};  ///< come less gone; written under `mutex`
    };
    static constexpr std::size_t stripes = 1024;

    explicit eager_side(std::unique_ptr<engine> e) : engine_(std::move(e)) {}
    [[nodiscard]] stripe& stripe_of(std::string_view key) const noexcept;
    [[nodiscard]] result<void> check_writable() const;
    /// nullopt: not known, for before this opening was a crash, or a program that doesn't count.
    [[nodiscard]] std::optional<u64> records() const;
    /// Nobody is writing. nullopt: it would take longer.
    [[nodiscard]] std::optional<u64> count_within(std::chrono::nanoseconds patience) const;
    /// Of this thread's last operation.
    [[nodiscard]] write_outcome outcome(bool changed, bool existed) const {
        return {space().last_epoch(), changed, existed};
    }
    [[nodiscard]] result<write_outcome> put(stripe& held, std::string_view key,
                                            std::string_view value);
    [[nodiscard]] write_outcome remove(stripe& held, std::string_view key);

    std::unique_ptr<engine> engine_;
    std::unique_ptr<std::array<stripe, stripes>> stripes_ =
        std::make_unique<std::array<stripe, stripes>>();
    u64 opening_ns_ = 0;
};

}  // namespace hf
