// The map with a journalled image, on a disk and on tmpfs: two files while it is open, one when it
// is closed, and files that do not belong together. tests/rooms/journal covers power failures; here
// the process dies, and everything it has not submitted is lost.
#include <holdfast/map.hpp>

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

namespace hf {
namespace {

namespace fs = std::filesystem;
using test::must;

class map_file : public test::on_tmpfs, public ::testing::WithParamInterface<medium_kind> {
   protected:
    [[nodiscard]] static map_options options(open_mode mode = open_mode::open_or_create) {
        map_options o;
        o.region.mode = mode;
        o.region.medium = GetParam();
        o.region.image = image_kind::journalled;
        o.region.initial_size = u64{16} << 20;
        o.epoch = std::chrono::milliseconds(5);
        return o;
    }
    [[nodiscard]] map open() const { return must(map::open(file, options())); }
    /// Puts "key i" = "value i" for i in [from, to), makes them durable, puts one more, and dies.
    void fill_and_die(unsigned from, unsigned to) {
        const int ended = test::in_child([&] {
            map m = open();
            for (unsigned i = from; i < to; ++i) must(m.put(key(i), value(i)));
            must(m.sync());
            must(m.put("unacknowledged", "x"));
            ::raise(SIGKILL);
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
    }
    static std::string key(unsigned i) { return "key " + std::to_string(i); }
    static std::string value(unsigned i) { return "value " + std::to_string(i); }
    static void expect_all(const map& m, unsigned to) {
        for (unsigned i = 0; i < to; ++i) {
            std::string got;
            ASSERT_TRUE(must(m.get(key(i), got))) << i;
            EXPECT_EQ(got, value(i));
        }
    }
    error refused(open_mode mode = open_mode::open_or_create) {
        auto m = map::open(file, options(mode));
        EXPECT_FALSE(m) << "it opened";
        return m ? error{} : m.error();
    }

    fs::path journal = dir / "store.hf.journal";
};

TEST_P(map_file, clean_close_leaves_one_file) {
    {
        map m = open();
        EXPECT_EQ(m.stats().medium, to_string(GetParam()));
        EXPECT_EQ(m.stats().image, "journalled");
        EXPECT_TRUE(fs::exists(journal));
        for (unsigned i = 0; i < 1000; ++i) must(m.put(key(i), value(i)));
        must(m.close());
    }
    EXPECT_FALSE(fs::exists(journal));
    expect_all(open(), 1000);
}

/// Each epoch has one record and is ended separately.
TEST_P(map_file, statistics_of_journal_and_pauses_match_the_ended_epochs) {
    constexpr unsigned epochs = 20;
    const auto begin = std::chrono::steady_clock::now();
    map_options o = options();
    o.epoch = std::chrono::seconds(10);
    map m = must(map::open(file, o));
    must(m.put("first", "v"));
    must(m.sync());
    const statistics before = m.stats();
    for (unsigned i = 0; i < epochs; ++i) {
        must(m.put(key(i), std::string(3000, 'v')));
        must(m.sync());
    }
    const statistics after = m.stats();
    const auto elapsed = static_cast<u64>((std::chrono::steady_clock::now() - begin).count());
    EXPECT_EQ(after.epoch - before.epoch, epochs);
    EXPECT_EQ(after.durable_epoch - before.durable_epoch, epochs);
    const pause_statistics& p = after.pause;
    EXPECT_EQ(p.count - before.pause.count, epochs);
    EXPECT_GT(p.last_ns, 0U);
    EXPECT_LE(p.last_ns, p.max_ns);
    EXPECT_LE(p.p50_ns, p.p99_ns);
    EXPECT_LE(p.max_ns, elapsed);
    EXPECT_LE(p.p50_ns * (epochs / 2), elapsed * 2) << "half of them took as long, or nearly";
    const journal_statistics& j = after.journal;
    EXPECT_EQ(j.records - before.journal.records, epochs);
    EXPECT_GE(j.record_bytes - before.journal.record_bytes, epochs * 3000);
    EXPECT_LE(j.record_bytes - before.journal.record_bytes, epochs * 30'000);
    EXPECT_GE(j.syncs - before.journal.syncs, epochs);
    EXPECT_GT(j.last_commit_ns, 0U);
    EXPECT_LE(j.last_commit_ns, elapsed);
    EXPECT_LE(j.late_ns, elapsed);
    EXPECT_LE(j.bytes, fs::file_size(journal));
    EXPECT_GE(j.bytes, fs::file_size(journal) / 2);
    EXPECT_LE(j.used_bytes, j.bytes);
    EXPECT_EQ(j.refusal, "");
    EXPECT_EQ(after.records, epochs + 1);
    EXPECT_EQ(after.failed_epochs + after.recovered_records, 0U);
    must(m.close());
}

TEST_P(map_file, synced_data_survive_the_process) {
    for (unsigned round = 0; round < 4; ++round) {
        fill_and_die(round * 3000, (round + 1) * 3000);
        const map m = open();
        EXPECT_TRUE(m.stats().recovered);
        EXPECT_GT(m.stats().recovered_records, 0U);
        EXPECT_EQ(m.stats().failed_epochs, 0U) << "an epoch is there whole or not at all";
        expect_all(m, (round + 1) * 3000);
    }
}

TEST_P(map_file, unsynced_memory_never_reaches_the_base) {
    must(open().close());
    const int ended = test::in_child([&] {
        map_options o = options();
        o.epoch = std::chrono::seconds(10);
        map m = must(map::open(file, o));
        const auto before = test::fingerprint_of(file);
        for (unsigned i = 0; i < 1000; ++i) must(m.put(key(i), value(i)));
        return test::fingerprint_of(file) == before ? 0 : 1;
    });
    EXPECT_EQ(ended, 0);
}

TEST_P(map_file, inspection_reads_through_the_journal_and_changes_nothing) {
    fill_and_die(0, 500);
    const auto base = test::fingerprint_of(file);
    const auto redo = test::fingerprint_of(journal);
    {
        const map m = must(map::open(file, options(open_mode::inspect)));
        expect_all(m, 500);
    }
    EXPECT_EQ(test::fingerprint_of(file), base);
    EXPECT_EQ(test::fingerprint_of(journal), redo);
}

TEST_P(map_file, growth_and_large_values_survive) {
    const std::string large(9'000'000, 'L');
    const int ended = test::in_child([&] {
        map m = open();
        for (unsigned i = 0; i < 8; ++i) must(m.put("large " + std::to_string(i), large));
        for (unsigned i = 0; i < 50'000; ++i) must(m.put(key(i), value(i)));
        must(m.sync());
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    const map m = open();
    expect_all(m, 50'000);
    for (unsigned i = 0; i < 8; ++i) {
        std::string got;
        ASSERT_TRUE(must(m.get("large " + std::to_string(i), got)));
        EXPECT_EQ(got, large);
    }
}

TEST_P(map_file, growth_of_a_lost_epoch_is_truncated) {
    fill_and_die(0, 10);
    const auto before = fs::file_size(file);
    fs::resize_file(file, before + (u64{4} << 20));  // as a growth leaves it
    must(open().close());
    EXPECT_EQ(fs::file_size(file), before);
    expect_all(open(), 10);
}

TEST_P(map_file, missing_journal_is_refused) {
    fill_and_die(0, 10);
    fs::remove(journal);
    const error e = refused();
    EXPECT_EQ(e.code, errc::corrupt);
    EXPECT_NE(e.why.find("journal is missing"), std::string::npos) << e.to_string();
}

TEST_P(map_file, journal_of_another_region_is_refused) {
    fill_and_die(0, 10);
    fs::rename(journal, dir / "kept");
    fs::rename(file, dir / "other.hf");
    fill_and_die(0, 10);
    fs::copy_file(dir / "kept", journal, fs::copy_options::overwrite_existing);
    const error e = refused();
    EXPECT_EQ(e.code, errc::corrupt);
    EXPECT_NE(e.why.find("another region"), std::string::npos) << e.to_string();
}

TEST_P(map_file, older_journal_is_refused) {
    fill_and_die(0, 10);
    fs::copy_file(journal, dir / "kept");
    must(open().close());
    fs::copy_file(dir / "kept", journal);
    // A journal of an earlier session: all of its records were applied since.
    expect_all(open(), 10);
    EXPECT_FALSE(fs::exists(journal)) << "closed in order";
    // A journal of this session, from before the region was last used.
    must(open().close());
    fs::copy_file(dir / "kept", journal);
    fill_and_die(0, 20);
    fs::copy_file(journal, dir / "new");
    expect_all(open(), 20);
    fs::copy_file(dir / "new", journal, fs::copy_options::overwrite_existing);
    expect_all(open(), 20);
}

TEST_P(map_file, journal_of_an_earlier_session_is_distinguished_from_a_missing_one) {
    fill_and_die(0, 10);
    fs::copy_file(journal, dir / "kept");
    must(open().close());
    fill_and_die(0, 20);
    fs::copy_file(dir / "kept", journal, fs::copy_options::overwrite_existing);
    const error e = refused();
    EXPECT_EQ(e.code, errc::corrupt);
    EXPECT_NE(e.why.find("earlier session"), std::string::npos) << e.to_string();
}

// As an interrupted copying program leaves it. If all records are missing, the store would look as
// if nothing had ever been written.
TEST_P(map_file, truncated_journal_is_refused) {
    fill_and_die(0, 2000);
    const u64 whole = fs::file_size(journal);
    for (const u64 length : {whole - 1, whole / 2, u64{148} << 10, u64{12} << 10, u64{8} << 10}) {
        fs::resize_file(journal, length);
        const error e = refused();
        EXPECT_EQ(e.code, errc::corrupt);
        EXPECT_NE(e.why.find("end is missing"), std::string::npos) << e.to_string();
    }
}

// The journal may contain the last copy of a user's data.
TEST_P(map_file, creating_a_region_beside_a_journal_is_refused) {
    fill_and_die(0, 10);
    fs::rename(file, dir / "kept");
    const error e = refused();
    EXPECT_EQ(e.code, errc::usage);
    EXPECT_NE(e.why.find("journal without its region"), std::string::npos) << e.to_string();
    EXPECT_FALSE(fs::exists(file));
    fs::rename(dir / "kept", file);
    expect_all(open(), 10);
}

TEST_P(map_file, older_base_is_refused) {
    fill_and_die(0, 10);
    must(open().close());
    fs::copy_file(file, dir / "kept");
    must(open().close());
    fill_and_die(0, 10);
    fs::copy_file(dir / "kept", file, fs::copy_options::overwrite_existing);
    const error e = refused();
    EXPECT_EQ(e.code, errc::corrupt);
    EXPECT_NE(e.why.find("newer"), std::string::npos) << e.to_string();
}

TEST_P(map_file, damaged_journal_is_refused_and_nothing_changed) {
    fill_and_die(0, 2000);
    const auto base = test::fingerprint_of(file);
    test::flip_bit(journal, (u64{8192} + 8 * (u64{1} << 20) + 100) * 8);
    auto m = map::open(file, options());
    // Damage to the last record is indistinguishable from a torn write.
    EXPECT_TRUE(m || test::fingerprint_of(file) == base);
}

TEST_P(map_file, many_epochs_of_several_threads_survive_a_kill) {
    const int ended = test::in_child([&] {
        map m = open();
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&m, t] {
                for (unsigned i = t; i < 40'000; i += 4) {
                    must(m.put(key(i), value(i)));
                    if (i % 1000 == t) must(m.sync());
                }
            });
        }
        for (auto& t : threads) t.join();
        must(m.sync());
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    expect_all(open(), 40'000);
}

TEST_P(map_file, region_can_be_opened_with_a_shared_image) {
    fill_and_die(0, 100);
    const int ended = test::in_child([&] {
        map_options shm = options();
        shm.region.medium = medium_kind::shm;
        shm.region.image = image_kind::shared;
        map m = must(map::open(file, shm));
        expect_all(m, 100);
        for (unsigned i = 100; i < 200; ++i) must(m.put(key(i), value(i)));
        must(m.sync());
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    EXPECT_FALSE(fs::exists(journal));
    expect_all(open(), 200);
}

// There is no clock: the waiting threads must end the epochs themselves.
TEST_P(map_file, waiting_clients_end_epochs_for_each_other) {
    constexpr int clients = 24;
    constexpr int puts = 100;
    map_options o = options();
    o.epoch = std::chrono::microseconds(0);
    map m = must(map::open(file, o));
    const ticket before = m.current_epoch();
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c) {
        threads.emplace_back([&, c] {
            for (int i = 0; i < puts; ++i) {
                const ticket t =
                    must(m.put(std::to_string(c) + "/" + std::to_string(i), "v")).written_in;
                must(m.wait_durable(t));
                EXPECT_GE(m.durable_epoch(), t);
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_GT(m.current_epoch(), before);
    must(m.close());
}

INSTANTIATE_TEST_SUITE_P(on, map_file, ::testing::Values(medium_kind::file, medium_kind::shm),
                         [](const auto& p) { return std::string(to_string(p.param)); });

}  // namespace
}  // namespace hf
