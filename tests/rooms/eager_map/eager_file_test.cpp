// Eager indexes on the medium `file`, where operations are durable with their epoch.
#include <holdfast/eager.hpp>

#include "base/random.hpp"
#include "eager_map/engine.hpp"
#include "eager_map/inspection.hpp"
#include "support/effort.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using engine_ptr = std::unique_ptr<detail::eager_engine<std::string_view, std::string>>;
using records = std::map<std::string, std::string>;
constexpr u64 mib = u64{1} << 20;

/// Random writes, equal for equal seeds; each is followed by a record that counts it.
class numbered_writes {
   public:
    static constexpr const char* last_key = "last";

    explicit numbered_writes(u64 seed) : random_(seed) {}

    /// put(key, value), remove(key)
    template <class Put, class Remove>
    void next(Put&& put, Remove&& remove) {
        const u64 k = random_.below(700);
        const std::string key = std::string(k % 3 * 9, 'p') + std::to_string(k);
        if (random_.below(4) == 0) {
            remove(key);
        } else {
            put(key, std::to_string(number_) + std::string(random_.below(90), 'v'));
        }
    }
    [[nodiscard]] std::string count() { return std::to_string(++number_); }
    void next(records& into) {
        next([&](const auto& k, const auto& v) { into[k] = v; },
             [&](const auto& k) { into.erase(k); });
    }

   private:
    xoshiro256ss random_;
    u64 number_ = 0;
};

class eager_files : public on_tmpfs, public ::testing::WithParamInterface<std::string> {
   protected:
    [[nodiscard]] eager_map_options options(std::chrono::microseconds epoch) const {
        eager_map_options o;
        o.index = GetParam();
        o.region.initial_size = mib;
        o.region.medium = medium_kind::file;
        o.epoch = epoch;
        return o;
    }
    [[nodiscard]] engine_ptr open(const fs::path& path, const eager_map_options& o) const {
        return must(detail::open_engine<std::string_view, std::string>(path, o));
    }
    static records all_of(const eager_space&,
                          const detail::eager_engine<std::string_view, std::string>& e) {
        records found;
        e.for_each([&](std::string_view k, std::string_view v) { found.emplace(k, v); });
        return found;
    }
    /// As a crash just now would have left it.
    [[nodiscard]] fs::path image() const {
        constexpr auto over = fs::copy_options::overwrite_existing;
        fs::copy_file(file, dir / "image.hf", over);
        fs::copy_file(dir / "store.hf.journal", dir / "image.hf.journal", over);
        return dir / "image.hf";
    }
    static void expect_sound(detail::eager_engine<std::string_view, std::string>& e) {
        must(e.space().wait_for_sweep());
        const audit_report report = audit_live(e.space(), [&](heap_audit& a) { e.audit(a); });
        EXPECT_TRUE(report.ok()) << report.to_string();
    }
    static constexpr auto no_clock = std::chrono::microseconds(0);
    static constexpr auto short_epochs = std::chrono::milliseconds(1);
};

TEST_P(eager_files, are_durable_with_their_epoch_and_one_file_when_closed) {
    auto m = must(eager_map::open(file, options(no_clock)));
    EXPECT_TRUE(must(m.insert("k", "v")));
    const ticket mine = m.current_epoch();
    EXPECT_LT(m.durable_epoch(), mine);
    eager_map_options there = options(no_clock);
    EXPECT_EQ(must(eager_map::open(image(), there)).get("k"), std::nullopt);
    must(m.wait_durable(mine));
    EXPECT_GE(m.durable_epoch(), mine);
    EXPECT_EQ(must(eager_map::open(image(), there)).get("k"), "v");
    EXPECT_TRUE(must(m.insert("k2", "v2")));
    must(m.close());
    EXPECT_FALSE(fs::exists(dir / "store.hf.journal"));
    EXPECT_EQ(must(eager_map::open(file, there)).get("k2"), "v2");
}

TEST_P(eager_files, have_their_index_from_the_end_of_the_first_opening_on) {
    const engine_ptr e = open(file, options(no_clock));
    eager_map_options look;
    look.region.mode = open_mode::inspect;
    EXPECT_EQ(open(image(), look)->name(), GetParam());
}

// After a kill the map holds the operations of a thread up to some moment, which is not before its
// last sync.
TEST_P(eager_files, lose_nothing_that_was_synced_and_come_back_as_they_were_once) {
    auto* synced = static_cast<std::atomic<u64>*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (u64 seed = 1; seed <= effort(u64{4}); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        fs::remove(file);
        fs::remove(dir / "store.hf.journal");
        synced->store(0);
        const int ended = in_child([&] {
            const engine_ptr e = open(file, options(short_epochs));
            numbered_writes writes(seed);
            xoshiro256ss r(seed);
            const u64 most = 500 + r.below(6000);
            for (u64 i = 1; i <= most; ++i) {
                writes.next([&](const auto& k, const auto& v) { must(e->put(k, v)); },
                            [&](const auto& k) { e->remove(k); });
                must(e->put(numbered_writes::last_key, writes.count()));
                if (r.below(400) != 0) continue;
                must(e->space().wait_durable(e->space().last_epoch()));
                synced->store(i);
            }
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        const engine_ptr e = open(file, options(short_epochs));
        records found = all_of(e->space(), *e);
        const auto last = found.find(numbered_writes::last_key);
        const u64 number = last == found.end() ? 0 : std::stoull(last->second);
        if (last != found.end()) found.erase(last);
        EXPECT_GE(number, synced->load());
        records expected;
        numbered_writes writes(seed);
        for (u64 i = 1; i <= number; ++i) {
            writes.next(expected);
            static_cast<void>(writes.count());
        }
        if (found != expected) writes.next(expected);  // done, and not told any more
        EXPECT_TRUE(found == expected) << "behind write " << number;
        expect_sound(*e);
        numbered_writes others(seed + 100);
        for (u64 i = 0; i < 500; ++i) {
            others.next([&](const auto& k, const auto& v) { must(e->put(k, v)); },
                        [&](const auto& k) { e->remove(k); });
        }
        expect_sound(*e);
        must(e->space().close());
    }
    ::munmap(synced, 4096);
}

// So a page that is given back, and read again from the base, has all that any thread relies on.
TEST_P(eager_files, leave_no_words_out_of_an_epoch_but_those_of_locks) {
    const engine_ptr e = open(file, options(no_clock));
    numbered_writes writes(5);
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < 3000; ++i) {
            writes.next([&](const auto& k, const auto& v) { must(e->put(k, v)); },
                        [&](const auto& k) { e->remove(k); });
        }
        must(e->space().wait_durable(e->space().current_epoch()));
        eager_map_options look = options(no_clock);
        look.region.mode = open_mode::inspect;
        const engine_ptr durable = open(image(), look);
        const region& now = e->space().file();
        const region& then = durable->space().file();
        ASSERT_EQ(now.size(), then.size());
        for (u64 at = 0; at < now.size(); at += sizeof(u64)) {
            if (std::memcmp(now.base() + at, then.base() + at, sizeof(u64)) == 0) continue;
            ASSERT_EQ(at % line_size, 0U) << "a word at " << at << " is no lock's";
        }
    }
}

/// Writes and reads keys that no other thread uses, and waits now and then.
void work_with(detail::eager_engine<std::string_view, std::string>& e, u64 thread, u64 writes,
               u64 most_bytes, u64 wait_each) {
    constexpr u64 keys = 600;
    xoshiro256ss r(thread);
    std::vector<std::string> expected(keys);
    for (u64 i = 0; i < writes; ++i) {
        const u64 k = r.below(keys);
        const std::string key = std::to_string(thread) + "/" + std::to_string(k);
        std::string found;
        ASSERT_EQ(e.get(key, found), !expected[k].empty()) << key;
        ASSERT_EQ(found, expected[k]) << key;
        if (r.below(5) == 0) {
            ASSERT_EQ(e.remove(key), !expected[k].empty());
            expected[k].clear();
        } else {
            expected[k] = std::to_string(i) + std::string(r.below(most_bytes), 'v');
            must(e.space().accepts_writes());
            must(e.put(key, expected[k]));
        }
        if (i % wait_each == 0) must(e.space().wait_durable(e.space().last_epoch()));
    }
}

TEST_P(eager_files, rely_on_nothing_that_goes_with_pages_given_back) {
    eager_map_options o = options(no_clock);
    o.region.initial_size = 64 * mib;
    o.region.memory = 8 * mib;
    const engine_ptr e = open(file, o);
    u64 thread = 0;
    do {
        work_with(*e, ++thread, effort(u64{2000}), 30'000, 5);
    } while (!HasFailure() && e->space().epochs()->journal_numbers().given_back_bytes == 0);
}

TEST_P(eager_files, serve_threads_beside_the_clock) {
    const engine_ptr e = open(file, options(short_epochs));
    std::thread other([&] { work_with(*e, 1, scaled(5000), 300, 200); });
    work_with(*e, 2, scaled(5000), 300, 200);
    other.join();
    expect_sound(*e);
    must(e->space().close());
}

TEST_P(eager_files, move_between_media) {
    eager_map_options in_memory = options(no_clock);
    in_memory.region.medium = medium_kind::shm;
    const auto write = [&](const eager_map_options& o, u64 from) {
        return in_child([&, from] {
            auto m = must(eager_integer_map::open(file, o));
            for (u64 k = 0; k < from; ++k) EXPECT_EQ(m.get(k), k * 3);
            for (u64 k = from; k < from + 1000; ++k) static_cast<void>(must(m.insert(k, k * 3)));
            must(m.sync());
            ::raise(SIGKILL);
            return 0;
        });
    };
    u64 from = 0;
    for (const eager_map_options& o :
         {in_memory, options(short_epochs), options(short_epochs), in_memory, options(no_clock)}) {
        ASSERT_EQ(write(o, from), 1000 + SIGKILL);
        from += 1000;
    }
    EXPECT_EQ(must(eager_integer_map::open(file, in_memory)).get(from - 1), (from - 1) * 3);
}

TEST_P(eager_files, are_refused_as_the_yardstick) {
    eager_map_options o = options(no_clock);
    o.transient = true;
    EXPECT_EQ(eager_map::open(file, o).error().code, errc::medium);
}

INSTANTIATE_TEST_SUITE_P(of, eager_files, ::testing::ValuesIn(eager_index_names()));

}  // namespace
}  // namespace hf::test
