// Copies of closed, crashed and open regions: their contents, and the operations that wait for
// them. copy_concurrency_test.cpp makes copies during writes.
#include "image/copy.hpp"

#include <holdfast/map.hpp>

#include "copied.hpp"
#include "journal/copy_gate.hpp"
#include "journal/format.hpp"
#include "map/copy.hpp"
#include "persist/persist_point.hpp"
#include "recovery/redo.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <thread>

namespace hf::test {
namespace {

namespace fs = std::filesystem;

class copy : public on_tmpfs {
   protected:
    [[nodiscard]] static map_options options(std::optional<medium_kind> medium) {
        map_options o;
        o.region.medium = medium;
        o.region.initial_size = u64{16} << 20;
        o.epoch = std::chrono::milliseconds(5);
        return o;
    }
    [[nodiscard]] map open(std::optional<medium_kind> medium = medium_kind::file) const {
        return must(map::open(file, options(medium)));
    }
    static void fill(map& m) {
        for (unsigned i = 0; i < 2000; ++i) must(m.put("key " + std::to_string(i), "value"));
        must(m.sync());
    }
    void fill_and_die(std::optional<medium_kind> medium = medium_kind::file) const {
        const int ended = in_child([&]() -> int {
            map m = open(medium);
            fill(m);
            must(m.put("unacknowledged", "x"));
            ::_exit(0);
        });
        ASSERT_EQ(ended, 0);
    }
    /// The names of all files beside the copy.
    [[nodiscard]] std::set<std::string> others() const {
        const auto names = dir.names();
        std::set<std::string> all(names.begin(), names.end());
        all.erase("copy.hf");
        return all;
    }
    void expect_a_good_copy() const {
        expect_sound(to);
        const map m = must(map::open(to, options({})));
        EXPECT_FALSE(m.stats().recovered) << "it was not closed in order";
        std::size_t found = 0;
        must(m.scan("key ", [&found](std::string_view key, std::string_view value) {
            if (key.starts_with("key ")) found += value == "value" ? 1 : 0;
            return true;
        }));
        EXPECT_EQ(found, 2000U);
    }

    fs::path to = dir / "copy.hf";
    fs::path journal = dir / "store.hf.journal";
};

TEST_F(copy, copy_of_a_closed_region_has_the_contents_and_a_new_identity) {
    {
        map m = open({});
        fill(m);
        must(m.close());
    }
    const auto before = fingerprint_of(file);
    const auto facts = must(copy_store(file, to));
    EXPECT_FALSE(facts.in_use);
    EXPECT_EQ(fingerprint_of(file), before);
    EXPECT_NE(uuid_of(file), uuid_of(to));
    expect_a_good_copy();
    EXPECT_EQ(others(), std::set<std::string>{"store.hf"});
}

TEST_F(copy, copy_of_a_crashed_region_is_recovered_and_leaves_the_original_crashed) {
    for (const auto medium : {std::optional<medium_kind>(), std::optional(medium_kind::file)}) {
        fs::remove(file);
        fs::remove(to);
        fill_and_die(medium);
        const auto before = fingerprint_of(file);
        must(copy_store(file, to));
        EXPECT_EQ(fingerprint_of(file), before);
        expect_a_good_copy();
        fs::remove(journal);
    }
}

TEST_F(copy, copy_of_an_open_region_contains_what_was_durable) {
    map m = open();
    fill(m);
    const auto facts = must(copy_store(file, to));
    EXPECT_TRUE(facts.in_use);
    EXPECT_GE(facts.epoch, m.durable_epoch() - 1);
    expect_a_good_copy();
}

TEST_F(copy, copy_of_an_open_shared_region_contains_all_writes) {
    map m = open({});
    if (m.stats().medium != "shm") GTEST_SKIP() << "not on tmpfs";
    fill(m);
    must(m.put("last", "not synced"));
    const auto facts = must(copy_store(file, to));
    EXPECT_TRUE(facts.in_use);
    EXPECT_GT(facts.held_ns, 0U);
    must(m.put("and", "it goes on"));
    must(m.remove("last"));
    must(m.remove("and"));
    expect_a_good_copy();
}

TEST_F(copy, copy_of_an_open_eager_region_is_refused_at_once) {
    map_options o = options({});
    o.kind = discipline::eager;
    const map m = must(map::open(file, o));
    if (m.stats().medium != "shm") GTEST_SKIP() << "not on tmpfs";
    const auto refused = copy_store(file, to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::busy);
    EXPECT_NE(refused.error().why.find("nothing stops the changes of eager"), std::string::npos)
        << refused.error().why;
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

/// How many large values fit.
unsigned refill(const fs::path& path, const map_options& o, const std::string& large) {
    map m = must(map::open(path, o));
    must(map_inspection::wait_for_sweep(m));
    unsigned n = 0;
    while (m.put("large " + std::to_string(n), large)) ++n;
    must(m.close());
    return n;
}

// Space that was never used, or is free again, is not stored; all of it can be used in the copy.
TEST_F(copy, copy_of_a_region_with_free_space_stores_what_is_used) {
    constexpr u64 mib = u64{1} << 20;
    const std::string large(100'000, 'x');
    for (const auto kind : {discipline::incll, discipline::eager}) {
        for (const auto medium : {std::optional<medium_kind>(), std::optional(medium_kind::file)}) {
            for (const bool is_open : {false, true}) {
                if (is_open && kind == discipline::eager && !medium) continue;  // refused
                fs::remove(file);
                fs::remove(to);
                map_options o = options(medium);
                o.kind = kind;
                o.region.initial_size = o.region.max_size = 64 * mib;
                map m = must(map::open(file, o));
                unsigned n = 0;
                while (m.put("large " + std::to_string(n), large)) ++n;
                ASSERT_GT(n, 400U);
                for (unsigned i = 0; i < n; ++i) must(m.remove("large " + std::to_string(i)));
                fill(m);
                if (!is_open) must(m.close());
                const auto facts = must(copy_store(file, to));
                EXPECT_EQ(facts.bytes, fs::file_size(to));
                EXPECT_GT(facts.bytes, 60 * mib);
                EXPECT_LT(facts.stored_bytes, 8 * mib);
                if (is_open) must(m.close());
                o.region.medium = {};
                const unsigned in_original = refill(file, o, large);
                EXPECT_GE(refill(to, o, large), in_original * 95 / 100)
                    << to_string(kind) << (is_open ? ", open" : ", closed");
                const auto report = must(audit_map(to));
                EXPECT_TRUE(report.ok()) << report.to_string();
            }
        }
    }
}

TEST_F(copy, journal_of_the_original_is_not_accepted) {
    fill_and_die();
    must(copy_store(file, to));
    fs::copy_file(journal, dir / "copy.hf.journal");
    const auto refused = map::open(to, options(medium_kind::file));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().why.find("another region"), std::string::npos);
}

TEST_F(copy, existing_file_is_kept_unless_replace_is_set) {
    fill_and_die();
    write_file(to, std::vector<std::byte>(3));
    EXPECT_EQ(copy_store(file, to).error().code, errc::usage);
    EXPECT_EQ(copy_store(file, to, true).error().code, errc::unsafe_file) << "it is no region";
    EXPECT_EQ(fs::file_size(to), 3U);
    fs::remove(to);
    must(copy_store(file, to));
    must(copy_store(file, to, true));
    expect_a_good_copy();
    {
        const map used = must(map::open(to, options({})));
        EXPECT_EQ(copy_store(file, to, true).error().code, errc::busy);
    }
    EXPECT_EQ(copy_store(file, file, true).error().code, errc::usage);
    fs::rename(file, dir / "copy.hf.partial");
    fs::rename(journal, dir / "copy.hf.partial.journal");
    EXPECT_EQ(copy_store(dir / "copy.hf.partial", to, true).error().code, errc::usage);
    EXPECT_TRUE(fs::exists(dir / "copy.hf.partial"));
}

TEST_F(copy, damaged_region_is_refused) {
    fill_and_die();
    fs::remove(journal);
    EXPECT_EQ(copy_store(file, to).error().code, errc::corrupt);
    write_file(file, std::vector<std::byte>(100'000));
    EXPECT_EQ(copy_store(file, to).error().code, errc::corrupt);
    EXPECT_EQ(copy_store(dir / "none", to).error().code, errc::not_found);
    EXPECT_EQ(others(), std::set<std::string>{"store.hf"});
}

TEST_F(copy, copy_with_a_damaged_record_is_not_kept) {
    {
        map m = must(map::open(file, options({})));
        must(m.put("lost", "a value that is found in the file"));
        must(m.close());
    }
    test::patch(file, test::offset_in(file, "found in the file"), "F", 1);
    const auto refused = copy_store(file, to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
    EXPECT_NE(refused.error().why.find("checksum"), std::string::npos) << refused.error().why;
    EXPECT_FALSE(fs::exists(to));
}

TEST_F(copy, full_disk_leaves_no_files) {
    fill_and_die();
    const int ended = in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit most{u64{4} << 20, u64{4} << 20};
        ::setrlimit(RLIMIT_FSIZE, &most);
        const auto refused = copy_store(file, to);
        return !refused && refused.error().code == errc::no_space ? 0 : 1;
    });
    EXPECT_EQ(ended, 0);
    EXPECT_EQ(dir.names(), (std::vector<std::string>{"store.hf", "store.hf.journal"}));
}

TEST_F(copy, kill_at_any_point_leaves_no_copy_and_allows_the_next) {
    fill_and_die();
    static thread_local int left;
    int stops = 0;
    for (bool ended = false; !ended; ++stops) {
        const int code = in_child([&] {
            left = stops;
            set_persist_point_hook([](const char*) {
                if (left-- == 0) ::raise(SIGKILL);
            });
            return copy_store(file, to) ? 0 : 1;
        });
        ended = code == 0;
        if (!ended) {
            ASSERT_EQ(code, 1000 + SIGKILL);
            ASSERT_FALSE(fs::exists(to)) << stops;
        }
    }
    expect_a_good_copy();
    EXPECT_EQ(others(), (std::set<std::string>{"store.hf", "store.hf.journal"}));
    if (stops < 2) GTEST_SKIP() << "built without persist points";
}

// --------------------------------------------------------------------- operations that wait for it

/// Whether a process waits for a lock on this file.
bool is_waited_for(const fs::path& path) {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) return false;
    std::ifstream locks("/proc/locks");
    const std::string inode = ":" + std::to_string(s.st_ino) + " ";
    for (std::string line; std::getline(locks, line);) {
        if (line.find("->") != line.npos && line.find(inode) != line.npos) return true;
    }
    return false;
}

/// Holds the gate like a copy.
class held_gate {
   public:
    explicit held_gate(const fs::path& journal)
        : file_(must(detail::open_unlocked(journal))), gate_(file_.get()) {
        must(gate_.hold());
    }
    ~held_gate() { gate_.release(); }

   private:
    detail::file_handle file_;
    journal::copy_gate gate_;
};

class copy_gate_test : public copy {
   protected:
    /// Starts work() while the gate is held, and checks that it waits and changes nothing.
    void expect_to_wait(const std::function<void()>& work) {
        const auto base = fingerprint_of(file);
        std::atomic<bool> done{false};
        std::thread other;
        {
            const held_gate held(journal);
            other = std::thread([&] {
                work();
                done = true;
            });
            while (!done && !is_waited_for(journal)) std::this_thread::yield();
            EXPECT_FALSE(done) << "it did not wait";
            EXPECT_EQ(fingerprint_of(file), base) << "the base was written to";
        }
        other.join();
    }
};

TEST_F(copy_gate_test, applying_records_waits_for_a_copy) {  // X1 of image/copy.hpp
    map m = open();
    fill(m);
    expect_to_wait([&m] { must(m.close()); });
}

TEST_F(copy_gate_test, recovery_waits_for_a_copy) {  // X1 of image/copy.hpp
    fill_and_die();
    expect_to_wait([this] { must(open().close()); });
}

TEST_F(copy_gate_test, recovery_on_another_medium_waits_for_a_copy) {  // X1 of image/copy.hpp
    fill_and_die();
    if (fs::path(file).string().rfind("/dev/shm", 0) != 0) GTEST_SKIP() << "not on tmpfs";
    expect_to_wait([this] { must(open(medium_kind::shm).close()); });
}

/// Whether a copy could begin, that is, take its lock.
bool is_open(const fs::path& journal) {
    const auto file = detail::open_unlocked(journal);
    if (!file) return false;
    struct flock byte{};
    byte.l_type = F_RDLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = static_cast<off_t>(journal::gate_offset);
    byte.l_len = 1;
    return ::fcntl(file->get(), F_OFD_GETLK, &byte) == 0 && byte.l_type == F_UNLCK;
}

fs::path watched;
std::map<std::string, bool>* seen = nullptr;

/// The gate's state at each persist point of work().
std::map<std::string, bool> open_at(const fs::path& journal, const std::function<void()>& work) {
    std::map<std::string, bool> at;
    watched = journal;
    seen = &at;
    const auto before = set_persist_point_hook([](const char* name) {
        const auto point = std::string(name).substr(0, 10);
        if (point.starts_with("journal K")) (*seen)[point] = is_open(watched);
    });
    work();
    set_persist_point_hook(before);
    return at;
}

TEST_F(copy_gate_test, gate_is_shut_while_recovery_takes_over_the_journal) {  // X1
    fill_and_die();
    auto at = open_at(journal, [this] { must(open().close()); });
    if (at.empty()) GTEST_SKIP() << "built without persist points";
    EXPECT_FALSE(at.at("journal K1"));
    EXPECT_TRUE(at.at("journal K2"));
    if (fs::path(file).string().rfind("/dev/shm", 0) != 0) return;
    fill_and_die();
    at = open_at(journal, [this] { must(open(medium_kind::shm).close()); });
    EXPECT_FALSE(at.at("journal K1"));
    EXPECT_FALSE(at.at("journal K4"));
}

std::optional<held_gate>* late_copy = nullptr;

TEST_F(copy_gate_test, journal_file_is_not_removed_during_a_copy) {  // X1 of image/copy.hpp
    map m = open();
    fill(m);
    std::optional<held_gate> held;
    late_copy = &held;
    watched = journal;
    // After everything was applied and before the journal is removed, nothing else is waited for.
    const auto before = set_persist_point_hook([](const char* name) {
        if (std::string_view(name).starts_with("journal K3")) late_copy->emplace(watched);
    });
    std::atomic<bool> closed{false};
    std::thread other([&] {
        must(m.close());
        closed = true;
    });
    while (!closed && !is_waited_for(journal)) std::this_thread::yield();
    set_persist_point_hook(before);
    const bool reached = held.has_value();
    if (reached) {
        EXPECT_FALSE(closed) << "it did not wait";
        EXPECT_TRUE(fs::exists(journal));
    }
    held.reset();
    other.join();
    if (!reached) GTEST_SKIP() << "built without persist points";
}

}  // namespace
}  // namespace hf::test
