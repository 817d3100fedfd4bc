// Opening a map: from which regions, what statistics it reports, and how it is closed.
#include <holdfast/map.hpp>
#include <holdfast/snapshot.hpp>

#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint_map/engine.hpp"
#include "index/masstree/adapters.hpp"
#include "map/inspect.hpp"
#include "persist/counters.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <variant>

namespace hf {
namespace {

namespace fs = std::filesystem;
using test::must;

class map_opening : public test::on_tmpfs {
   protected:
    [[nodiscard]] static map_options options() {
        map_options o;
        o.region.initial_size = u64{16} << 20;
        return o;
    }
    [[nodiscard]] map open() const { return must(map::open(file, options())); }
    void make() const {
        map m = open();
        must(m.put("k", "v"));
        must(m.close());
    }
    /// Changes the map's entry in the region's root directory.
    template <class Change>
    void change_root(Change change) {
        std::ifstream in(file, std::ios::binary);
        unsigned found = 0;
        for (unsigned i = 0; i < layout::max_roots; ++i) {
            const u64 at = offsetof(layout::header, roots) + i * sizeof(layout::root);
            layout::root entry{};
            in.seekg(static_cast<std::streamoff>(at));
            in.read(reinterpret_cast<char*>(&entry), sizeof entry);
            if (std::strcmp(entry.name, "map") != 0) continue;
            change(entry);
            entry.checksum = layout::root_checksum(entry, entry.value);
            test::patch(file, at, &entry, sizeof entry);
            ++found;
        }
        ASSERT_EQ(found, 1U);
    }
    std::optional<errc> refusal(open_mode mode = open_mode::open_or_create) const {
        map_options o = options();
        o.region.mode = mode;
        const auto m = map::open(file, o);
        if (m) return std::nullopt;
        EXPECT_NE(m.error().where.find("store.hf"), std::string::npos);
        return m.error().code;
    }
};

TEST_F(map_opening, root_of_another_type_or_version_is_incompatible) {
    make();
    change_root([](layout::root& r) { ++r.type; });
    const auto before = test::fingerprint_of(file);
    EXPECT_EQ(refusal(), errc::incompatible);
    EXPECT_EQ(test::fingerprint_of(file), before) << "a session began";
    EXPECT_EQ(refusal(open_mode::inspect), errc::incompatible);
    change_root([](layout::root& r) {
        --r.type;
        r.format += 4;
    });
    EXPECT_EQ(refusal(), errc::incompatible);
    change_root([](layout::root& r) { r.format -= 4; });
    EXPECT_EQ(refusal(), std::nullopt);
}

TEST_F(map_opening, root_with_an_impossible_offset_is_corrupt) {
    make();
    const u64 size = fs::file_size(file);
    const u64 last = size - masstree_detail::node_payload;
    u64 good = 0;
    const auto with = [&](u64 value) {
        change_root([&](layout::root& r) {
            if (good == 0) good = r.value;
            r.value = value;
        });
        return refusal(open_mode::inspect);
    };
    for (const u64 value : {u64{16}, layout::page_size - 16, last / 16 * 16 + 16, size, size + 16,
                            ~u64{0} / 16 * 16}) {
        EXPECT_EQ(with(value), errc::corrupt) << value;
    }
    for (u64 off = 1; off < 16; ++off) EXPECT_EQ(with(layout::page_size + off), errc::corrupt);
    for (const u64 value : {layout::page_size + 16, (last - 16) / 64 * 64 + 16}) {
        EXPECT_EQ(with(value), std::nullopt) << "it might be one: " << value;
    }
    EXPECT_EQ(with(good), std::nullopt);
    map m = open();
    std::string got;
    EXPECT_TRUE(must(m.get("k", got)));
}

TEST_F(map_opening, missing_root_in_a_used_region_is_corrupt_and_not_recreated) {
    make();
    change_root([](layout::root& r) { r.value = 0; });
    const auto before = test::fingerprint_of(file);
    EXPECT_EQ(refusal(), errc::corrupt);
    EXPECT_NE(refusal(open_mode::inspect), std::nullopt);
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(map_opening, opening_creates_a_missing_map_and_inspection_does_not) {
    {
        region_options o = options().region;
        o.kind = discipline::incll;
        must(open_region(file, {.file = o, .rooms = masstree_rooms}));
    }
    const auto before = test::fingerprint_of(file);
    EXPECT_NE(refusal(open_mode::inspect), std::nullopt);
    EXPECT_EQ(test::fingerprint_of(file), before);
    map m = open();
    must(m.put("k", "v"));
}

using machine = engine<incll_discipline>;

/// Long enough for an unexpected pass: with a thousand records it takes some milliseconds.
void let_a_pass_end() { std::this_thread::sleep_for(std::chrono::milliseconds(60)); }

engine_options by_hand() {
    engine_options o;
    o.file.initial_size = u64{16} << 20;
    o.epochs.epoch = std::chrono::microseconds(0);
    o.background_pass = false;
    return o;
}

TEST_F(map_opening, failed_epochs_are_kept_until_a_complete_pass) {
    const int ended = test::in_child([&]() -> int {
        map m = open();
        for (unsigned i = 0; i < 1000; ++i) must(m.put(std::to_string(i), "v"));
        must(m.sync());
        for (unsigned i = 0; i < 1000; ++i) must(m.put(std::to_string(i), "lost"));
        ::_exit(0);
    });
    ASSERT_EQ(ended, 0);
    {
        const auto e = must(machine::open(file, by_hand()));
        EXPECT_EQ(e->checkpoint().failed().count(), 1U);
        let_a_pass_end();
        EXPECT_TRUE(e->pass_due()) << "nobody asked for a pass";
        must(e->close());
    }
    {
        engine_options look = by_hand();
        look.background_pass = true;
        look.file.mode = open_mode::inspect;
        const auto e = must(machine::open(file, look));
        let_a_pass_end();
        EXPECT_EQ(e->checkpoint().failed().count(), 1U) << "an inspection changes nothing";
    }
    {
        const auto e = must(machine::open(file, by_hand()));
        EXPECT_TRUE(e->file().was_clean());
        EXPECT_TRUE(e->pass_due()) << "closing does not forget";
        const u64 before = e->epochs().current_epoch();
        EXPECT_TRUE(must(e->run_pass()));
        EXPECT_EQ(e->checkpoint().failed().count(), 0U);
        EXPECT_FALSE(e->pass_due());
        EXPECT_GE(e->epochs().durable_epoch(), before);
        must(e->close());
    }
    engine_options usual = by_hand();
    usual.background_pass = true;
    const auto e = must(machine::open(file, usual));
    EXPECT_FALSE(e->pass_due());
    const u64 epoch = e->epochs().current_epoch();
    for (unsigned i = 0; i < 1000; ++i) {
        operation op(e->checkpoint());
        EXPECT_NE(e->tree().find(op, std::to_string(i)), 0U);
    }
    let_a_pass_end();
    EXPECT_EQ(e->epochs().current_epoch(), epoch) << "there was nothing to do for a pass";
}

TEST_F(map_opening, interrupted_pass_keeps_all_failed_epochs) {
    const int ended = test::in_child([&]() -> int {
        map m = open();
        for (unsigned i = 0; i < 1000; ++i) must(m.put(std::to_string(i), "v"));
        must(m.sync());
        must(m.put("0", "lost"));
        ::_exit(0);
    });
    ASSERT_EQ(ended, 0);
    const auto e = must(machine::open(file, by_hand()));
    unsigned asked = 0;
    for (unsigned last = 1;; ++last) {
        asked = 0;
        ASSERT_EQ(e->checkpoint().failed().count(), 1U);
        if (must(e->run_pass([&] { return ++asked >= last; }))) break;
        EXPECT_LE(asked, last + 1) << "it goes on, once stopped";
    }
    EXPECT_GT(asked, 6U) << "once for 256 records, and for each slab";
    EXPECT_EQ(e->checkpoint().failed().count(), 0U);
}

// The set could not hold the failed epochs of another session.
TEST_F(map_opening, nearly_full_set_of_failed_epochs_is_cleared_before_opening) {
    constexpr u32 many = max_failed_ranges / 2;
    {
        engine_options o = by_hand();
        o.file.first_epoch = 10'000;
        const auto e = must(machine::open(file, o));
        must(e->file().update_super([](layout::superblock& s) {
            change_checkpoint_area(s, [](checkpoint_area& c) {
                for (u32 i = 0; i < many; ++i) c.failed[i] = {3 * i + 1, 3 * i + 1};
                c.failed_count = many;
            });
        }));
        must(e->close());
    }
    {
        engine_options look = by_hand();
        look.file.mode = open_mode::inspect;
        const auto e = must(machine::open(file, look));
        EXPECT_EQ(e->checkpoint().failed().count(), many);
    }
    const auto e = must(machine::open(file, by_hand()));
    EXPECT_EQ(e->checkpoint().failed().count(), 0U);
}

TEST_F(map_opening, hints_exist_if_memory_is_allowed) {
    engine_options o = by_hand();
    EXPECT_EQ(must(machine::open_volatile(u64{16} << 20, o))->tree().hint_bytes(), 0U);
    o.hint_memory = u64{1} << 20;
    EXPECT_EQ(must(machine::open_volatile(u64{16} << 20, o))->tree().hint_bytes(), u64{1} << 20);
}

// The hints for 16 MiB take a sixteenth of that.
TEST_F(map_opening, hints_use_an_eighth_of_the_memory_or_the_given_size) {
    const auto with = [this](std::optional<u64> said, u64 memory, open_mode mode) {
        map_options o = options();
        o.hint_memory = said;
        o.region.memory = memory;
        o.region.mode = mode;
        return must(map::open(file, o)).stats().hint_bytes;
    };
    constexpr u64 megabyte = u64{1} << 20;
    EXPECT_EQ(with({}, 0, open_mode::open_or_create), megabyte);
    EXPECT_EQ(with({}, 4 * megabyte, open_mode::open_or_create), megabyte / 2);
    EXPECT_EQ(with(8192, 0, open_mode::open_or_create), 8192U);
    EXPECT_EQ(with(0, 0, open_mode::open_or_create), 0U);
    EXPECT_EQ(with({}, 0, open_mode::inspect), 0U) << "most come for a scan";
    EXPECT_EQ(with(8192, 0, open_mode::inspect), 8192U);
}

TEST_F(map_opening, pass_is_due_before_compact_epochs_become_ambiguous) {
    engine_options o = by_hand();
    o.file.first_epoch = (u64{1} << 33) - 4;
    const auto e = must(machine::open(file, o));
    EXPECT_FALSE(e->pass_due());
    while (e->epochs().current_epoch() < u64{1} << 33) {
        EXPECT_FALSE(e->pass_due());
        must(e->epochs().wait_durable(e->epochs().current_epoch()));
    }
    EXPECT_TRUE(e->pass_due());
    EXPECT_TRUE(must(e->run_pass()));
    EXPECT_FALSE(e->pass_due());
}

TEST_F(map_opening, tree_in_anonymous_memory_needs_no_region) {
    const auto check = [](auto& e) {
        operation op(e.checkpoint());
        EXPECT_EQ(e.tree().find(op, "k"), 0U);
        EXPECT_FALSE(e.pass_due());
    };
    check(*must(engine<transient_discipline>::open_volatile(u64{16} << 20, by_hand())));
    const auto elsewhere = must(engine<malloc_discipline>::open_volatile(u64{16} << 20, by_hand()));
    check(*elsewhere);
    EXPECT_FALSE(elsewhere->file().find_root("map")) << "its nodes are not in the region";
}

TEST_F(map_opening, snapshot_is_refused) {
    {
        snapshot_options o;
        o.bytes = u64{16} << 20;
        o.region.medium = medium_kind::file;
        must(must(snapshot::open(file, o)).close());
    }
    map_options o = options();
    o.region.medium = medium_kind::file;
    const auto m = map::open(file, o);
    ASSERT_FALSE(m);
    EXPECT_EQ(m.error().code, errc::incompatible);
    EXPECT_NE(m.error().why.find("snapshot"), std::string::npos);
}

/// For each combination of requested and existing kind: opened as what it is, or refused.
TEST_F(map_opening, opens_the_requested_or_existing_discipline_and_index) {
    enum class there { nothing, tree, art };
    const auto expected = [](there is, const std::optional<discipline>& kind,
                             const std::string& index) -> std::variant<errc, std::string> {
        const bool wants_eager = kind ? *kind == discipline::eager : !index.empty();
        const bool wants_tree = kind == discipline::incll;
        if (kind && !wants_eager && !wants_tree) return errc::usage;
        if (wants_tree && !index.empty()) return errc::usage;
        if (index == "none such") return is == there::tree ? errc::incompatible : errc::usage;
        switch (is) {
            case there::nothing:
                if (!wants_eager) return std::string("masstree");
                return index.empty() ? std::string("clht") : index;
            case there::tree:
                if (wants_eager) return errc::incompatible;
                return std::string("masstree");
            case there::art:
                break;
        }
        if (wants_tree || (!index.empty() && index != "art")) return errc::incompatible;
        return std::string("art");
    };
    const std::optional<discipline> kinds[] = {
        std::nullopt,         discipline::incll,       discipline::logged,   discipline::eager,
        discipline::snapshot, discipline::transaction, discipline::transient};
    for (const there is : {there::nothing, there::tree, there::art}) {
        for (const auto& kind : kinds) {
            for (const std::string index : {"", "art", "hot", "none such"}) {
                SCOPED_TRACE(std::to_string(static_cast<int>(is)) + ", " +
                             (kind ? std::string(to_string(*kind)) : "any") + ", " + index);
                fs::remove(file);
                map_options o = options();
                if (is == there::art) o.index = "art";
                if (is != there::nothing) must(must(map::open(file, o)).put("k", "v"));
                o = options();
                o.kind = kind;
                o.index = index;
                const auto wanted = expected(is, kind, index);
                const auto opened = map::open(file, o);
                if (const errc* const refused = std::get_if<errc>(&wanted)) {
                    ASSERT_FALSE(opened);
                    EXPECT_EQ(opened.error().code, *refused) << opened.error().to_string();
                    EXPECT_EQ(fs::exists(file), is != there::nothing);
                    continue;
                }
                ASSERT_TRUE(opened) << opened.error().to_string();
                EXPECT_EQ(opened->index(), std::get<std::string>(wanted));
                EXPECT_EQ(opened->kind() == discipline::incll, opened->index() == "masstree");
                EXPECT_EQ(opened->is_ordered(), opened->index() != "clht");
                std::string value;
                EXPECT_EQ(must(opened->get("k", value)), is != there::nothing);
            }
        }
    }
}

// Both implementations of the map must check the epoch's length.
TEST_F(map_opening, too_short_and_too_long_epochs_are_refused) {
    for (const std::string index : {"", "art"}) {
        for (const auto epoch : {shortest_epoch - std::chrono::microseconds(1), shortest_epoch,
                                 longest_epoch, longest_epoch + std::chrono::microseconds(1)}) {
            SCOPED_TRACE(index + " " + std::to_string(epoch.count()));
            fs::remove(file);
            map_options o = options();
            o.region.medium = medium_kind::file;
            o.index = index;
            o.epoch = epoch;
            const auto opened = map::open(file, o);
            ASSERT_EQ(opened.has_value(), epoch >= shortest_epoch && epoch <= longest_epoch);
            if (!opened) {
                EXPECT_EQ(opened.error().code, errc::usage) << opened.error().to_string();
            }
        }
    }
}

TEST_F(map_opening, region_always_has_room_for_the_heap) {
    for (const u64 asked : {u64{0}, u64{1}, u64{16} << 20, u64{17} << 20}) {
        fs::remove(file);
        map_options o;
        o.region.initial_size = asked;
        map m = must(map::open(file, o));
        EXPECT_EQ(m.stats().region_bytes, std::max(asked, u64{16} << 20));
        EXPECT_GT(m.stats().most_bytes, u64{1} << 30) << "no bound but addresses";
        must(m.put("k", "v"));
    }
}

TEST_F(map_opening, statistics_cover_the_opening_and_the_operations) {
    u64 generation = 0;
    {
        map m = open();
        generation = m.generation();
        const statistics s = m.stats();
        EXPECT_FALSE(s.recovered);
        EXPECT_EQ(s.path, file.string());
        EXPECT_EQ(s.region_bytes, fs::file_size(file));
        EXPECT_EQ(s.allocated_bytes + s.free_bytes, s.region_bytes);
        EXPECT_EQ(s.generation, generation);
        EXPECT_EQ(s.epoch, m.current_epoch());
        EXPECT_EQ(s.index, "masstree");
        EXPECT_EQ(s.discipline, "incll");
        EXPECT_EQ(s.recovered_entries, 0U);
        EXPECT_GT(s.recovery_ns, 0U);
        EXPECT_FALSE(s.flush_instruction.empty());
        must(m.close());
        must(m.close());
        map_options look = options();
        look.region.mode = open_mode::inspect;
        EXPECT_TRUE(map::open(file, look)) << "though the first map is still there";
    }
    const int ended = test::in_child([&]() -> int {
        map_options o = options();
        o.region.flush = flush_policy::always;
        map m = must(map::open(file, o));
        EXPECT_FALSE(m.stats().recovered);
        EXPECT_EQ(m.generation(), generation + 1);
        const statistics before = m.stats();
        for (unsigned i = 0; i < 2000; ++i) must(m.put(std::to_string(i), "v"));
        must(m.sync());
        for (unsigned i = 0; i < 2000; ++i) must(m.put(std::to_string(i) + "x", "v"));
        must(m.sync());
        const statistics after = m.stats();
        EXPECT_GT(after.flushes, before.flushes + 2000);
        EXPECT_GT(after.fences, before.fences);
        EXPECT_GE(after.flushed_bytes, (after.flushes - before.flushes) * 64);
        EXPECT_GT(after.log_entries, before.log_entries);
        EXPECT_GT(after.log_bytes, after.log_entries * 64);
        EXPECT_GT(after.pause.count, before.pause.count);
        EXPECT_GT(after.allocated_bytes, before.allocated_bytes + 4000 * 32);
        EXPECT_EQ(after.allocated_bytes + after.free_bytes, after.region_bytes);
        EXPECT_GT(m.durable_epoch(), before.epoch);
        if (::testing::Test::HasFailure()) return 1;
        ::_exit(0);
    });
    ASSERT_EQ(ended, 0);
    map_options look = options();
    look.region.mode = open_mode::inspect;
    {
        const map m = must(map::open(file, look));
        EXPECT_TRUE(m.stats().recovered);
        EXPECT_EQ(m.generation(), generation + 2) << "that of the next session";
    }
    {
        const map m = must(map::open(file, look));
        EXPECT_EQ(m.generation(), generation + 2) << "inspections do not count";
    }
    map m = open();
    EXPECT_TRUE(m.stats().recovered);
    EXPECT_EQ(m.generation(), generation + 2);
    while (m.stats().failed_epochs != 0) must(m.sync());  // the background pass
}

// Distinguishes figures of similar meaning or of different units; nothing else is running.
TEST_F(map_opening, each_statistic_comes_from_its_own_counter) {
    map_options o = options();
    o.epoch = std::chrono::microseconds(0);
    o.region.flush = flush_policy::always;
    o.region.fence_latency_ns = 30;
    map m = must(map::open(file, o));
    for (unsigned i = 0; i < 300; ++i) must(m.put(std::to_string(i), "v"));
    must(m.sync());
    for (unsigned i = 0; i < 300; ++i) must(m.put(std::to_string(i) + "x", "v"));
    engine<incll_discipline>& parts = map_inspection::machine_of(m);
    const persist_counters counted = total_persist_counters();
    const statistics s = m.stats();
    EXPECT_EQ(s.flushes, counted.flushes);
    EXPECT_EQ(s.fences, counted.fences);
    EXPECT_EQ(s.flushed_bytes, counted.flushed_bytes);
    EXPECT_EQ(s.recovery_ns, parts.recovery_ns());
    EXPECT_EQ(s.log_entries, parts.checkpoint().log_entries());
    EXPECT_EQ(s.log_bytes, parts.checkpoint().log_bytes());
    EXPECT_EQ(s.hint_bytes, parts.tree().hint_bytes());
    EXPECT_EQ(s.pause.count, parts.epochs().pauses().count);
    EXPECT_EQ(s.durable_epoch, parts.epochs().durable_epoch());
    EXPECT_EQ(s.most_bytes, parts.file().max_pages() * layout::page_size);
    EXPECT_EQ(s.medium, to_string(parts.file().med().kind()));
    EXPECT_EQ(s.flush_instruction, to_string(parts.file().med().instruction()));
    EXPECT_EQ(s.fence_latency_ns, 30U);
    EXPECT_EQ(s.records, 600U);
}

TEST_F(map_opening, moved_map_is_closed_by_its_new_owner) {
    const fs::path other = dir / "other.hf";
    map a = open();
    must(a.put("k", "a"));
    map b = must(map::open(other, options()));
    must(b.put("k", "b"));
    a = std::move(b);
    std::string got;
    EXPECT_TRUE(must(a.get("k", got)));
    EXPECT_EQ(got, "b");
    map first = open();  // it is no longer in use
    EXPECT_FALSE(first.stats().recovered) << "it was closed in order";
    EXPECT_TRUE(must(first.get("k", got)));
    EXPECT_EQ(got, "a");
    map& same = a;
    a = std::move(same);
    EXPECT_TRUE(must(a.get("k", got)));
    EXPECT_EQ(got, "b");
}

TEST_F(map_opening, closed_map_releases_its_file_and_refuses_calls) {
    map m = open();
    must(m.put("k", "v"));
    must(m.close());
    map other = open();  // although the first object still exists
    std::string got;
    EXPECT_EQ(m.get("k", got).error().code, errc::usage);
    const std::string_view key = "k";
    m.prefetch({&key, 1});
    EXPECT_EQ(m.get_many({&key, 1}, [](auto, auto) {}).error().code, errc::usage);
    EXPECT_EQ(m.put("k", "v").error().code, errc::usage);
    EXPECT_EQ(m.put("k", std::string(300'000, 'v')).error().code, errc::usage);
    EXPECT_EQ(m.put_if("k", "v", [](auto) { return true; }).error().code, errc::usage);
    EXPECT_EQ(m.remove("k").error().code, errc::usage);
    EXPECT_EQ(m.remove_if("k", [](auto) { return true; }).error().code, errc::usage);
    EXPECT_EQ(m.modify("k", [](auto, auto&) { return map::edit::remove; }).error().code,
              errc::usage);
    const auto any = [](auto, auto) { return true; };
    EXPECT_EQ(m.scan("", any).error().code, errc::usage);
    EXPECT_EQ(m.scan_backward({}, any).error().code, errc::usage);
    EXPECT_EQ(m.wait_durable(0).error().code, errc::usage);
    EXPECT_EQ(m.sync().error().code, errc::usage);
    EXPECT_EQ(m.durable_epoch() + m.current_epoch() + m.generation(), 0U);
    EXPECT_EQ(m.stats().path, "");
    EXPECT_TRUE(m.close());
    EXPECT_TRUE(must(other.get("k", got)));
}

TEST_F(map_opening, size_errors_contain_the_sizes) {
    map m = open();
    const auto key = m.put(std::string(max_key_size + 1, 'k'), "v").error();
    EXPECT_EQ(key.why, "4097 bytes where 4096 are the most");
    const auto value = m.put("k", std::string(max_value_size + 1, 'v')).error();
    EXPECT_EQ(value.why, "67108865 bytes where 67108864 are the most");
}

TEST_F(map_opening, reads_verify_checksums_unless_disabled) {
    const std::string value = "a value that is found in the file";
    const std::string damaged = "A value that is found in the file";
    {
        map m = open();
        must(m.put("k", value));
        must(m.close());
    }
    test::patch(file, test::offset_in(file, value), damaged.data(), 1);
    for (const bool verify : {true, false}) {
        map_options o = options();
        o.verify_reads = verify;
        map m = must(map::open(file, o));
        std::string found;
        const auto take = [&found](const auto&, std::string_view v) {
            found = v;
            return true;
        };
        const std::string_view key = "k";
        const auto expect = [&](const auto& done) {
            EXPECT_EQ(done.has_value(), !verify);
            if (done) {
                EXPECT_EQ(found, damaged);
            } else {
                EXPECT_EQ(done.error().code, errc::corrupt);
            }
            found.clear();
        };
        expect(m.get(key, found));
        expect(m.get_many(std::span(&key, 1), [&](std::size_t n, auto v) { take(n, v); }));
        expect(m.scan("", take));
        expect(m.scan_backward(std::nullopt, take));
        const auto looks = [](auto) { return true; };
        EXPECT_FALSE(m.put_if("k", "another", looks).has_value());
        EXPECT_FALSE(m.remove_if("k", looks).has_value());
    }
}

TEST_F(map_opening, damaged_record_can_be_replaced_and_removed_unconditionally) {
    const std::string large(100'000, 'l');
    for (const std::string& value : {std::string("a value that is damaged"), large}) {
        for (const std::string key : {"k", "a key that goes on", "l"}) {
            fs::remove(file);
            {
                map m = open();
                must(m.put(key, value));
                must(m.put("m", "another's"));
                must(m.close());
            }
            test::patch(file, test::offset_in(file, value), "!", 1);
            map m = open();
            std::string found;
            EXPECT_EQ(m.get(key, found).error().code, errc::corrupt);
            if (key == "l") {
                EXPECT_TRUE(must(m.remove(key)).existed);
                EXPECT_FALSE(must(m.get(key, found)));
                EXPECT_FALSE(must(m.remove(key)).existed);
            }
            EXPECT_EQ(must(m.put(key, "new")).existed, key != "l");
            EXPECT_TRUE(must(m.get(key, found)));
            EXPECT_EQ(found, "new");
            must(m.put(key, large));
            EXPECT_TRUE(must(m.get(key, found)));
            EXPECT_EQ(found, large);
            EXPECT_TRUE(must(m.get("m", found)));
            must(m.close());
            EXPECT_FALSE(must(audit_map(file)).ok()) << "what it occupied is lost, and told";
        }
    }
}

}  // namespace
}  // namespace hf
