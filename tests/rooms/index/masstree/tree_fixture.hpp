// tree_fixture.hpp: a tree of any discipline in a region of its own, for tests and benchmarks.
#pragma once

#include "checkpoint_map/engine.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace hf::test {

/// A unique path in tmpfs; the destructor removes the file.
class scratch_file {
   public:
    scratch_file() {
        static int n = 0;
        const char* parent = std::getenv("HF_TEST_DIR");
        path_ = std::string(parent == nullptr ? "/dev/shm" : parent) + "/hf-test-" +
                std::to_string(::getpid()) + "-" + std::to_string(n++) + ".hf";
        std::filesystem::remove(path_);
    }
    ~scratch_file() { std::filesystem::remove(path_); }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
};

/// The parameter of a typed test: a tree of a discipline, with or without leaf hints.
template <class D>
struct without_hints {
    using discipline = D;
    static constexpr u64 hint_memory = 0;
    static constexpr bool inline_values = false;
};
template <class D>
struct with_hints : without_hints<D> {
    static constexpr u64 hint_memory = u64{1} << 20;
};
/// With small values inlined in the leaves.
template <class Variant>
struct in_leaves : Variant {
    static constexpr bool inline_values = true;
};

/// Epochs end only when the test ends them, and no background work runs.
inline engine_options by_hand() {
    engine_options o;
    o.epochs.epoch = std::chrono::microseconds(0);
    o.background_pass = false;
    return o;
}

/// An engine with the functions that tests call.
template <class D>
class test_engine {
   public:
    explicit test_engine(const std::string& path, const engine_options& options = {}) {
        machine_ = must(D::durable ? engine<D>::open(path, options)
                                   : engine<D>::open_volatile(u64{64} << 20, options));
    }

    engine<D>& machine() { return *machine_; }
    masstree<D>& tree() { return machine_->tree(); }
    epoch_manager& epochs() { return machine_->epochs(); }
    checkpoint_state& checkpoint() { return machine_->checkpoint(); }

    bool put(std::string_view key, std::string_view value) {
        operation op(checkpoint());
        const decision d = to_store(op, key, value);
        return must(tree().update(op, key, [&](const auto*) { return d; })).existed;
    }
    /// A decision to store the value: inlined if possible, otherwise with a new record.
    decision to_store(operation& op, std::string_view key, std::string_view value) {
        if (tree().lies_inline(key, value)) {
            return decision::to_store(masstree_detail::cell::of_value(value));
        }
        return {decision::action::store, must(tree().make_record(op, key, value))};
    }
    bool remove(std::string_view key) {
        operation op(checkpoint());
        return must(tree().update(op, key,
                                  [&](const auto* old) {
                                      return decision{
                                          old ? decision::action::erase : decision::action::keep,
                                          0};
                                  }))
            .changed;
    }
    /// Whether two leaves were joined; not if a log was full.
    bool join(std::string_view key) {
        operation op(checkpoint());
        const auto joined = tree().join(op, key);
        if (joined) return joined->joined;
        EXPECT_EQ(joined.error().code, errc::no_space) << joined.error().to_string();
        return false;
    }
    std::optional<std::string> get(std::string_view key) {
        operation op(checkpoint());
        std::optional<std::string> out;
        tree().get(op, key, [&](std::string_view v) { out = std::string(v); });
        return out;
    }
    /// All records, in ascending order.
    std::vector<std::pair<std::string, std::string>> all() {
        operation op(checkpoint());
        std::vector<std::pair<std::string, std::string>> out;
        tree().scan(op, "", false, [&](std::string_view k, std::string_view v) {
            out.emplace_back(k, v);
            return true;
        });
        return out;
    }

   private:
    std::unique_ptr<engine<D>> machine_;
};

}  // namespace hf::test
