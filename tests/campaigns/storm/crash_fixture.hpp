// storm/crash_fixture.hpp: a map with power failures at chosen places, and its expected contents.
#pragma once

#include "base/random.hpp"
#include "index/masstree/inlined/log.hpp"
#include "storm/machine.hpp"
#include "storm/shadow_memory.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace hf::test {

using contents = std::map<std::string, std::string>;

class crashing_map : public on_tmpfs {
   protected:
    ~crashing_map() override { machine_.reset(); }

    /// Creates the region, or recovers it after the last crash.
    void open(const machine_options& o) {
        options_ = o;
        options_.small_values = small_values_;
        if (!std::filesystem::exists(file)) {
            machine made(file, options_);
            must(made->close());
        }
        shadow_ = std::make_unique<shadow_memory>(u64{1} << 30, read_file(file));
        machine_.emplace(file, options_);
    }
    void open() { open(options_); }

    machine& m() { return *machine_; }
    shadow_memory& shadow() { return *shadow_; }

    void put(const std::string& key, const std::string& value) {
        note(must(m()->put(key, value)).written_in, key, value);
    }
    /// False: no space.
    bool try_put(const std::string& key, const std::string& value) {
        const auto done = m()->put(key, value);
        if (done) {
            note(done->written_in, key, value);
        } else {
            EXPECT_EQ(done.error().code, errc::no_space) << done.error().to_string();
        }
        return done.has_value();
    }
    void remove(const std::string& key) {
        note(must(m()->remove(key)).written_in, key, std::nullopt);
    }
    void note(u64 epoch, const std::string& key, std::optional<std::string> value) {
        apply(now_, key, value);
        history_.push_back({epoch, key, std::move(value)});
    }
    void end_epoch() { m().end_epoch(); }

    /// Starts over with a new region.
    void forget() {
        machine_.reset();
        shadow_.reset();
        std::filesystem::remove(file);
        now_.clear();
        kept_.clear();
        history_.clear();
    }

    /// The part of the unflushed lines that reached the medium before the power failure.
    enum class evicted { nothing, half, everything };

    /// Power failure: the file gets the medium's contents, and is closed.
    void crash(evicted how) {
        xoshiro256ss r(++crashes_);
        const u64 bytes = m().behind().file().size();
        for (u64 line = 0; line < bytes && how != evicted::nothing; line += line_size) {
            if (how == evicted::everything || r.below(2) == 0) shadow().evict_at(line);
        }
        shadow().cut(file);
        const auto image = shadow().image();
        machine_.reset();
        shadow_.reset();
        write_file(file, image);
        // A background pass also ends epochs, so each write has its epoch recorded.
        const u64 failed = epoch_of_image(image);
        for (done_write& w : history_) {
            if (w.epoch < failed) apply(kept_, w.key, w.value);
        }
        history_.clear();
        now_ = kept_;
    }

    /// Checks the recovered contents, and the result of `holdfast check`.
    void expect_kept(const std::string& when) {
        ASSERT_EQ(audit_of(file), std::vector<std::string>{}) << when;
        const auto copy = dir / "copy.hf";
        write_file(copy, read_file(file));
        machine looked(copy, options_);
        expect_contents(looked, when);
    }
    void expect_contents(machine& where, const std::string& when) {
        contents found;
        must(where->scan("", [&](std::string_view k, std::string_view v) {
            found.emplace(k, v);
            return true;
        }));
        ASSERT_EQ(found.size(), now_.size()) << when;
        for (const auto& [k, v] : now_) {
            ASSERT_TRUE(found.contains(k)) << when << ": " << k << " is missing";
            ASSERT_TRUE(found[k] == v) << when << ": " << k << " has another value";
        }
    }

    struct done_write {
        u64 epoch;
        std::string key;
        std::optional<std::string> value;
    };
    static void apply(contents& to, const std::string& key,
                      const std::optional<std::string>& value) {
        if (value) {
            to[key] = *value;
        } else {
            to.erase(key);
        }
    }

    bool small_values_ = false;  ///< inlined values
    machine_options options_;
    contents now_;                     ///< all writes
    contents kept_;                    ///< the contents after the last crash
    std::vector<done_write> history_;  ///< since then
    u64 crashes_ = 0;
    std::unique_ptr<shadow_memory> shadow_;
    std::optional<machine> machine_;
};

/// As crashing_map, for maps with inlined values (true) and without.
class crashing_map_of_a_kind : public crashing_map, public ::testing::WithParamInterface<bool> {
   protected:
    void SetUp() override { small_values_ = GetParam(); }
    /// An epoch at which the upper bits change that a leaf's value logs do not contain.
    [[nodiscard]] u64 wrap() const {
        return u64{1} << (small_values_ ? masstree_detail::inlined::epoch_bits : 16);
    }
};
inline std::string name_of_kind(const ::testing::TestParamInfo<bool>& of) {
    return of.param ? "small_values_in_leaves" : "records_alone";
}

}  // namespace hf::test
