// Files that are not opened as plain memory, and callers that may not change it.
#include <holdfast/plain.hpp>
#include <holdfast/result.hpp>

#include "memories.hpp"

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
