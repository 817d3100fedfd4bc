// A store over a map of any family. Its sweeper frees expired records: those of group 1.
#include <holdfast/store.hpp>

#include "subject.hpp"
#include "support/must.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>

namespace hf::test {
namespace {

constexpr u64 before = 1000;  // seconds
constexpr u64 expiry = 2000;
constexpr u64 after = 3000;

class map_subject final : public subject {
   public:
    map_subject(const std::filesystem::path& file, const setting& s)
        : expires_(s.by == freed_by::sweeper),
          is_bounded_(s.max_size == s.initial_size),
          records_(open(file, s)) {}

    bool add(unsigned group, unsigned number, std::size_t size) override {
        store::attributes about;
        if (expires_ && group == 1) about.expires = expiry;
        const auto put = records_.set(key(group, number), value(number, size), about);
        if (!put && put.error().code != errc::no_space) {
            ADD_FAILURE() << put.error().to_string();
        }
        return put.has_value();
    }
    void free_group(unsigned group, numbers which) override {
        for (unsigned i = which.first; i < which.end; i += which.step)
            must(records_.remove(key(group, i)));
    }
    /// In a full region nothing else: a write that finds no room frees expired records by itself.
    void sweep() override {
        *now_ = after;
        constexpr unsigned in_vain = 20;  // parts of a hash table may have nothing to free
        for (unsigned n = is_bounded_ ? in_vain : 0; n < in_vain;) {
            n = must(records_.purge(1000)) != 0 ? 0 : n + 1;
        }
    }
    void expect_group(unsigned group, numbers which, std::size_t size) override {
        store::record found;
        for (unsigned i = which.first; i < which.end; i += which.step) {
            ASSERT_TRUE(must(records_.get(key(group, i), found))) << key(group, i);
            ASSERT_EQ(found.data(), value(i, size)) << key(group, i);
        }
    }
    void end_epoch() override { must(records_.sync()); }
    u64 region_bytes() override { return records_.stats().region_bytes; }

   private:
    static std::string key(unsigned group, unsigned number) {
        char text[16];
        std::snprintf(text, sizeof text, "%u%07u", group, number);
        return text;
    }
    static std::string value(unsigned number, std::size_t size) {
        return std::string(size, static_cast<char>('a' + number % 26));
    }
    [[nodiscard]] store open(const std::filesystem::path& file, const setting& s) const {
        map_options o;
        o.region.initial_size = s.initial_size;
        o.region.max_size = s.max_size;
        o.region.medium = s.medium;
        o.epoch = std::chrono::microseconds(0);
        if (s.kind == "inlined") {
            o.small_values_in_leaves = true;
        } else if (s.kind != "incll") {
            o.kind = discipline::eager;
            o.index = s.kind;
        }
        return must(store::over(must(map::open(file, o)), [now = now_] { return now->load(); }));
    }

    bool expires_;
    bool is_bounded_;
    std::shared_ptr<std::atomic<u64>> now_ = std::make_shared<std::atomic<u64>>(before);
    store records_;
};

}  // namespace

std::unique_ptr<subject> make_map_subject(const std::filesystem::path& file, const setting& s) {
    return std::make_unique<map_subject>(file, s);
}

}  // namespace hf::test
