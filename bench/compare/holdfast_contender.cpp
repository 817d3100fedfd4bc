#include "bench/compare/holdfast_contender.hpp"

#include <holdfast/map.hpp>

#include "bench/subject.hpp"
#include "epoch/options.hpp"

#include <fmt/format.h>

#include <optional>
#include <thread>

namespace hf::bench {

namespace {

class holdfast_connection final : public connection {
   public:
    holdfast_connection(map& m, bool waits) : map_(m), waits_(waits) {}

    result<bool> get(std::string_view key, std::string& value) override {
        return map_.get(key, value);
    }
    result<void> put(std::string_view key, std::string_view value) override {
        auto done = map_.put(key, value);
        if (!done) return tl::unexpected(done.error());
        if (waits_) return map_.wait_durable(done->written_in);
        return {};
    }

   private:
    map& map_;
    bool waits_;
};

class holdfast_contender final : public contender {
   public:
    explicit holdfast_contender(const contender_options& options) : options_(options) {}

    result<void> open(medium_kind wanted, bool force) {
        map_options o;
        // A put that waits ends the epoch itself (group commit); the clock serves the others.
        o.epoch = options_.ack == acknowledge::behind ? options_.window : shortest_epoch;
        o.region.initial_size = size_for(options_.records, options_.value_size);
        if (force) o.region.medium = wanted;
        const auto file = options_.directory / "map.hf";
        auto opened = map::open(file, o);
        if (!opened) return tl::unexpected(opened.error());
        map_.emplace(std::move(*opened));
        epoch_ = o.epoch;
        const std::string medium = map_->stats().medium;
        if (medium == to_string(wanted)) return {};
        return failure({errc::medium, "open the map to be measured", file.string(),
                        fmt::format("its medium is {}, not {}", medium, to_string(wanted)),
                        "name a --dir on ext4, xfs, btrfs or f2fs"});
    }

    result<std::unique_ptr<connection>> connect() override {
        return std::make_unique<holdfast_connection>(*map_, options_.ack == acknowledge::durable);
    }
    result<void> begin() override { return {}; }
    result<void> make_durable() override { return map_->sync(); }

    /// Waits until the journal has applied its records to the file.
    result<void> rest() override {
        if (auto done = map_->sync(); !done) return done;
        for (u64 seen = ~u64{0}; seen != base_bytes();) {
            seen = base_bytes();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return {};
    }
    result<void> settle() override { return rest(); }
    result<void> close() override {
        auto done = map_->close();
        map_.reset();
        return done;
    }

    facts settings() const override {
        const statistics s = map_->stats();
        const bool behind = options_.ack == acknowledge::behind;
        return {{"medium", s.medium},
                {"flush", s.flush_instruction},
                {"region", fmt::format("{} MiB", s.region_bytes >> 20)},
                {"journal", fmt::format("{} MiB", s.journal.bytes >> 20)},
                {"epoch", fmt::format("{} us", epoch_.count())},
                {"acknowledged", behind ? "at once" : "after wait_durable()"}};
    }

    counts counters() const override {
        const statistics s = map_->stats();
        return {{"written bytes", s.journal.record_bytes + s.journal.base_bytes},
                {"journal bytes", s.journal.record_bytes},
                {"base bytes", s.journal.base_bytes},
                {"journal syncs", s.journal.syncs},
                {"epochs", s.epoch},
                {"journal late us", s.journal.late_ns / 1000}};
    }

    u64 memory() const override {
        const statistics s = map_->stats();
        return s.region_bytes + s.hint_bytes;
    }

   private:
    [[nodiscard]] u64 base_bytes() const { return map_->stats().journal.base_bytes; }

    contender_options options_;
    std::chrono::microseconds epoch_{0};
    std::optional<map> map_;
};

}  // namespace

result<std::unique_ptr<contender>> open_holdfast(const contender_options& options,
                                                 medium_kind wanted, bool force) {
    auto made = std::make_unique<holdfast_contender>(options);
    if (auto opened = made->open(wanted, force); !opened) return tl::unexpected(opened.error());
    return made;
}

}  // namespace hf::bench
