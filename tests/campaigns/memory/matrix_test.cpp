// Freed memory can be used again: by any thread, for any size, without reopening the region
// A matrix of {structure} x {freed by} x {used for} x {bounded, growing} x {medium}.
//
// With HF_MEMORY_TABLE=1 each test prints its cells: percent of the freed bytes that were stored
// again.
#include "subject.hpp"
#include "support/scratch.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tuple>

namespace hf::test {
namespace {

constexpr u64 mib = u64{1} << 20;
constexpr std::size_t usual = 4000;
constexpr unsigned kept = 64;      // records of group 0, which stay
constexpr u64 least_percent = 85;  // of the freed bytes are stored again

enum class used_for { same_keys, new_keys, smaller, larger };
constexpr std::array uses = {used_for::same_keys, used_for::new_keys, used_for::smaller,
                             used_for::larger};

const char* to_string(used_for u) {
    constexpr std::array names = {"the same keys", "new keys", "smaller ones", "larger ones"};
    return names[static_cast<std::size_t>(u)];
}
const char* to_string(freed_by by) {
    constexpr std::array names = {"same_thread", "living_thread", "ended_thread", "sweeper"};
    return names[static_cast<std::size_t>(by)];
}
std::size_t size_for(used_for u) {
    if (u == used_for::smaller) return 1000;
    return u == used_for::larger ? 12000 : usual;
}

/// Frees group 1 in the way that the matrix asks for. A thread that is to live on ends with the
/// object.
class freeing {
   public:
    freeing(subject& s, freed_by by, unsigned n) {
        if (by == freed_by::same_thread) s.free_group(1, n);
        if (by == freed_by::sweeper) s.sweep();
        if (by != freed_by::living_thread && by != freed_by::ended_thread) return;
        other_ = std::thread([this, &s, by, n] {
            s.free_group(1, n);
            is_done_ = true;
            is_done_.notify_one();
            if (by == freed_by::living_thread) may_end_.wait(false);
        });
        is_done_.wait(false);
        if (by == freed_by::ended_thread) other_.join();
    }
    freeing(const freeing&) = delete;
    freeing& operator=(const freeing&) = delete;
    ~freeing() {
        may_end_ = true;
        may_end_.notify_one();
        if (other_.joinable()) other_.join();
    }

   private:
    std::atomic<bool> is_done_{false};
    std::atomic<bool> may_end_{false};
    std::thread other_;
};

class freed_memory : public ::testing::Test {
   protected:
    static std::unique_ptr<subject> make(const std::filesystem::path& file, const setting& s) {
        return s.kind == "heap" ? make_heap_subject(file, s) : make_map_subject(file, s);
    }
    /// Fills a region, frees nearly all of it, and stores as much again, until the region is full
    /// or (`growing`) has grown. Expects that this is most of what was freed.
    void expect_reuse(setting s, used_for use, bool growing) {
        s.initial_size = growing ? 16 * mib : 6 * mib;
        s.max_size = growing ? 512 * mib : 6 * mib;
        const scratch_directory dir;
        const auto filled = make(dir / "store.hf", s);
        for (unsigned i = 0; i < kept; ++i) ASSERT_TRUE(filled->add(0, i, usual));
        const u64 most = growing ? 11 * mib / usual : ~u64{0};
        unsigned n = 0;
        while (n < most && filled->add(1, n, usual)) ++n;
        ASSERT_GT(n, 700U);
        const freeing done(*filled, s.by, n);
        filled->end_epoch();
        const u64 size_before = filled->region_bytes();  // with the logs of both threads
        // While a region can grow, a thread's last batch of retired blocks may wait
        // (eager/grace.hpp).
        const u64 freed = u64{n} * usual - (growing ? mib : 0);
        const std::size_t size = size_for(use);
        const unsigned group = use == used_for::same_keys ? 1 : 2;
        unsigned again = 0;
        const auto has_grown = [&] { return growing && filled->region_bytes() != size_before; };
        while (again * size < freed && !has_grown() && filled->add(group, again, size)) ++again;
        if (has_grown() && again != 0) --again;  // the one for which it grew
        const u64 percent = again * size * 100 / freed;
        report(s, use, growing, percent);
        EXPECT_GE(percent, least_percent)
            << s.kind << ", freed by " << to_string(s.by) << ", used for " << to_string(use)
            << (growing ? ", growing" : ", bounded") << ": " << freed << " bytes freed";
        filled->expect_group(0, kept, usual);
    }

   private:
    static void report(const setting& s, used_for use, bool growing, u64 percent) {
        if (std::getenv("HF_MEMORY_TABLE") == nullptr) return;
        std::printf("| %s | %s | %s | %s | %s | %llu %% |\n", s.kind.c_str(), to_string(s.by),
                    to_string(use), growing ? "growing" : "bounded",
                    s.medium == medium_kind::file ? "disk" : "tmpfs",
                    static_cast<unsigned long long>(percent));
    }
};

class matrix : public freed_memory,
               public ::testing::WithParamInterface<std::tuple<const char*, freed_by>> {};

TEST_P(matrix, nearly_all_can_be_used_again) {
    const auto [kind, by] = GetParam();
    for (const used_for use : uses) {
        for (const bool growing : {false, true}) expect_reuse({kind, by}, use, growing);
    }
}

INSTANTIATE_TEST_SUITE_P(
    all, matrix,
    ::testing::Combine(::testing::Values("incll", "inlined", "clht", "art", "hot", "bwtree",
                                         "masstree", "heap"),
                       ::testing::Values(freed_by::same_thread, freed_by::living_thread,
                                         freed_by::ended_thread, freed_by::sweeper)),
    [](const auto& p) {
        return std::string(std::get<0>(p.param)) + "_" + to_string(std::get<1>(p.param));
    });

class matrix_on_disk : public freed_memory, public ::testing::WithParamInterface<const char*> {};

TEST_P(matrix_on_disk, nearly_all_can_be_used_again) {
    expect_reuse({GetParam(), freed_by::living_thread, 0, 0, medium_kind::file}, used_for::larger,
                 false);
    expect_reuse({GetParam(), freed_by::sweeper, 0, 0, medium_kind::file}, used_for::new_keys,
                 true);
}

INSTANTIATE_TEST_SUITE_P(all, matrix_on_disk,
                         ::testing::Values("incll", "inlined", "clht", "art", "hot", "bwtree",
                                           "masstree", "heap"),
                         [](const auto& p) { return std::string(p.param); });

// Every tenth record stays, so that no slab becomes empty.
class fragmented : public freed_memory, public ::testing::WithParamInterface<const char*> {
   protected:
    static constexpr std::size_t stored = 400;

    /// Percent of the removed records that were added again, under new keys.
    static u64 added_again(subject& s, unsigned removed, std::size_t size) {
        unsigned again = 0;
        while (again < removed && s.add(2, again, size)) ++again;
        s.expect_group(2, again, size);
        return u64{again} * 100 / removed;
    }
};

TEST_P(fragmented, memory_serves_new_keys_of_the_same_and_of_a_smaller_size) {
    for (const std::size_t size : {stored, stored - 50}) {
        const scratch_directory dir;
        const auto filled = make_map_subject(dir / "store.hf",
                                             {GetParam(), freed_by::same_thread, 6 * mib, 6 * mib});
        unsigned stay = 0;
        unsigned go = 0;
        while (filled->add(0, stay, stored)) {
            ++stay;
            for (unsigned i = 0; i < 9 && filled->add(1, go, stored); ++i) ++go;
        }
        ASSERT_GT(stay, 500U);
        filled->free_group(1, go);
        filled->end_epoch();
        EXPECT_GE(added_again(*filled, go, size), least_percent) << size << " bytes";
        filled->expect_group(0, stay, stored);
    }
}

INSTANTIATE_TEST_SUITE_P(all, fragmented,
                         ::testing::Values("incll", "inlined", "clht", "art", "hot", "bwtree",
                                           "masstree"),
                         [](const auto& p) { return std::string(p.param); });

// Every second record stays: no slab becomes empty, and no leaf. Slabs of large blocks need
// adjacent pages, and the pages of the tree's nodes, which are not moved, are between those that
// become free.
class halved : public freed_memory,
               public ::testing::WithParamInterface<std::tuple<const char*, std::size_t>> {
   protected:
    /// Fills a region, removes every second record, and adds others of this size. Percent of the
    /// removed bytes.
    static u64 added_again(std::size_t stored, std::size_t size) {
        const scratch_directory dir;
        const auto filled = make_map_subject(
            dir / "store.hf", {std::get<0>(GetParam()), freed_by::same_thread, 8 * mib, 8 * mib});
        unsigned n = 0;
        while (filled->add(1, n, stored)) ++n;
        filled->free_group(1, {n, 0, 2});
        filled->end_epoch();
        unsigned again = 0;
        while (again * size < n / 2 * stored && filled->add(2, again, size)) ++again;
        filled->expect_group(1, {n, 1, 2}, stored);
        filled->expect_group(2, again, size);
        return again * size * 100 / (n / 2 * stored);
    }
};

TEST_P(halved, memory_serves_new_keys_and_any_larger_size) {
    constexpr u64 least_of_large = 70;
    const std::size_t stored = std::get<1>(GetParam());
    for (const std::size_t size : {stored, std::size_t{1500}, std::size_t{12000}}) {
        if (size != stored && stored < 100) continue;
        const u64 percent = added_again(stored, size);
        if (std::getenv("HF_MEMORY_TABLE") != nullptr) {
            std::printf(
                "| %s | every second of %zu bytes | %zu bytes | bounded | tmpfs | %llu %% |\n",
                std::get<0>(GetParam()), stored, size, static_cast<unsigned long long>(percent));
        }
        EXPECT_GE(percent, size == 12000 ? least_of_large : least_percent)
            << size << " bytes after " << stored;
    }
}

INSTANTIATE_TEST_SUITE_P(all, halved,
                         ::testing::Combine(::testing::Values("incll", "inlined"),
                                            ::testing::Values(8, 100, 1000)),
                         [](const auto& p) {
                             return std::string(std::get<0>(p.param)) + "_" +
                                    std::to_string(std::get<1>(p.param));
                         });

}  // namespace
}  // namespace hf::test
