// Files that are not opened as plain memory, and callers that may not change it.
#include <holdfast/plain.hpp>
#include <holdfast/result.hpp>

#include "memories.hpp"
#include "transaction/shadow_slots.hpp"

#include <thread>

namespace hf::test {
namespace {

class refused_memories : public on_tmpfs {
   protected:
    [[nodiscard]] static plain_options options() {
        plain_options o;
        o.bytes = u64{128} << 10;
        return o;
    }
    void SetUp() override {
        auto m = must(plain_memory::open(file, options()));
        *m.root<u64>() = 1;
        must(m.commit());
        must(m.close());
    }
};

using recovered_memories = refused_memories;

TEST_F(refused_memories, a_region_of_another_discipline) {
    const auto other = dir / "other.hf";
    make_region(other);
    const auto before = fingerprint_of(other);
    const auto opened = plain_memory::open(other, options());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::incompatible);
    EXPECT_NE(opened.error().why.find("incll"), std::string::npos);
    EXPECT_EQ(fingerprint_of(other), before);
    EXPECT_EQ(must_fail(file).code, errc::incompatible) << "and the other way round";
}

TEST_F(refused_memories, a_commit_or_an_abort_of_another_thread) {
    auto m = must(plain_memory::open(file, options()));
    *m.root<u64>() = 2;
    std::thread([&] {
        EXPECT_EQ(m.commit().error().code, errc::usage);
        EXPECT_EQ(m.abort().error().code, errc::usage);
    }).join();
    EXPECT_EQ(*m.root<u64>(), 2U);
    must(m.commit());
}

TEST_F(refused_memories, a_change_of_one_that_is_open_for_inspection) {
    {
        auto m = must(plain_memory::open(file, options()));
        *m.root<u64>() = 3;
        must(m.commit());
        const auto copy = dir / "copy.hf";
        std::filesystem::copy_file(file, copy);  // in the middle of a session
        std::filesystem::copy_file(file, dir / "second.hf");
        must(m.close());
    }
    plain_options look = options();
    look.region.mode = open_mode::inspect;
    for (const auto& each : {file, dir / "copy.hf"}) {
        const auto before = fingerprint_of(each);
        {
            auto m = must(plain_memory::open(each, look));
            EXPECT_EQ(*m.root<u64>(), 3U);
            *m.root<u64>() = 4;
            EXPECT_EQ(m.commit().error().code, errc::denied);
            EXPECT_EQ(m.abort().error().code, errc::denied);
        }
        EXPECT_EQ(fingerprint_of(each), before);
    }
}

/// Where the memory begins, as an offset in the file.
u64 home_of_memory(const region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::memory) return s.offset;
    }
    return 0;
}

// A power cut may lose what a commit stores at home after its record: the second slot has it.
TEST_F(recovered_memories, have_a_commit_whose_homes_were_lost_with_the_caches) {
    u64 home = 0;
    {
        plain::machine_options o;
        o.bytes = options().bytes;
        const auto m = must(plain::machine::open(file, o));
        m->memory()[0] = std::byte{9};
        must(m->commit());
        home = home_of_memory(m->file());
    }
    const u64 older = 1;
    patch(file, home, &older, sizeof older);
    for (const open_mode mode : {open_mode::inspect, open_mode::open_or_create}) {
        plain_options o = options();
        o.region.mode = mode;
        EXPECT_EQ(*must(plain_memory::open(file, o)).root<u64>(), 9U);
    }
}

/// The entry of the first used slot, as an offset in the file; 0: there is none.
u64 entry_of_used_slot(const region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::slots) continue;
        const slot_segment lies(s);
        for (u64 i = 0; i < lies.slots(); ++i) {
            if (r.at<slot_entry>(lies.entry_at(i))->name.load() != 0) return lies.entry_at(i);
        }
    }
    return 0;
}

TEST_F(refused_memories, a_table_of_second_slots_that_is_damaged_after_a_crash) {
    u64 entry = 0;
    {
        plain::machine_options o;
        o.bytes = options().bytes;
        const auto m = must(plain::machine::open(file, o));
        m->memory()[100] = std::byte{1};
        must(m->commit());
        entry = entry_of_used_slot(m->file());
        ASSERT_NE(entry, 0U);
    }  // as a kill leaves it
    const u64 damaged = 5;
    patch(file, entry, &damaged, sizeof damaged);
    const auto before = fingerprint_of(file);
    for (const open_mode mode : {open_mode::inspect, open_mode::open_or_create}) {
        plain_options o = options();
        o.region.mode = mode;
        const auto opened = plain_memory::open(file, o);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, errc::corrupt);
        EXPECT_NE(opened.error().to_string().find("second slots"), std::string::npos);
        EXPECT_EQ(fingerprint_of(file), before) << "nothing is changed";
    }
}

TEST_F(refused_memories, a_region_without_room_for_second_slots) {
    plain_options o = options();
    o.region.max_size = u64{4} << 16;
    const auto opened = plain_memory::open(dir / "new.hf", o);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::no_space);
}

TEST_F(refused_memories, more_bytes_than_a_region_may_have) {
    plain_options o = options();
    o.region.max_size = u64{1} << 20;
    o.bytes = u64{2} << 20;
    const auto opened = plain_memory::open(dir / "new.hf", o);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::no_space);
    o.bytes = ~u64{0};
    EXPECT_EQ(plain_memory::open(dir / "new.hf", o).error().code, errc::no_space);
}

}  // namespace
}  // namespace hf::test
