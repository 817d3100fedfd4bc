// Options that open() accepts, at every boundary, media, and files that others make or take
// away at the same time.
#include "persist/detect.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>
#include <limits>

namespace hf::test {
namespace {

namespace fs = std::filesystem;
using kernel::answer;
using kernel::answered;
using kernel::call;
using layout::page_size;

constexpr open_mode all_modes[] = {open_mode::open_or_create, open_mode::open_existing,
                                   open_mode::create_new, open_mode::inspect};

class opening : public on_tmpfs {
   protected:
    nothing_lost check;
    /// Whether every mode accepts the options, a file being there or not as it needs; and if not,
    /// whether all say the same, which contains `why`, of them.
    bool accepts(region_options o, const std::string& why) {
        unsigned accepted = 0;
        for (const open_mode mode : all_modes) {
            const fs::path path = mode == open_mode::create_new ? dir / "new.hf" : file;
            o.mode = mode;
            const auto r = region::open(path, o);
            fs::remove(dir / "new.hf");
            if (r) {
                ++accepted;
            } else {
                EXPECT_EQ(r.error().code, errc::usage) << r.error().to_string();
                EXPECT_NE(r.error().why.find(why), std::string::npos) << r.error().to_string();
                EXPECT_EQ(r.error().where, path.string());
            }
        }
        EXPECT_TRUE(accepted == 0 || accepted == 4) << accepted << " modes of four accept it";
        return accepted != 0;
    }
};

TEST_F(opening, accepts_every_option_up_to_its_bound_in_every_mode) {
    make_region(file);
    const auto before = fingerprint_of(file);
    region_options o = small_options();
    for (const u64 v : {u64{0}, u64{1}, page_size - 1, page_size, 15 * page_size, 16 * page_size,
                        window_size - 1, window_size, window_size + 1, ~u64{0}}) {
        if (v == page_size || v == 15 * page_size) continue;  // smaller than the region: see below
        o.max_size = v;
        EXPECT_EQ(accepts(o, "maximal size of " + std::to_string(v)),
                  v == 0 || (v >= page_size && v <= window_size))
            << v;
    }
    o = small_options();
    for (const u64 v : {u64{0}, u64{1}, (u64{1} << 20) - 1, u64{1} << 20, ~u64{0}}) {
        o.memory = v;
        EXPECT_EQ(accepts(o, "memory of " + std::to_string(v)), v == 0 || v >= (u64{1} << 20)) << v;
    }
    o = small_options();
    for (const u64 v : {u64{0}, u64{1}, u64{1} << 62, (u64{1} << 62) + 1, ~u64{0}}) {
        o.first_epoch = v;
        EXPECT_EQ(accepts(o, "first epoch of " + std::to_string(v)), v >= 1 && v <= (u64{1} << 62))
            << v;
    }
    o = small_options();
    for (const u32 v : {0U, 1U, 1000U, 1001U, ~0U}) {
        o.fence_latency_ns = v;
        EXPECT_EQ(accepts(o, "fence latency of " + std::to_string(v)), v <= 1000) << v;
    }
    o = small_options();
    for (int v = 0; v < 256; ++v) {
        if (v >= 1 && v <= 8 && v != static_cast<int>(discipline::incll)) continue;
        o.kind = static_cast<discipline>(v);
        EXPECT_EQ(accepts(o, "discipline is unknown"), o.kind == discipline::incll) << v;
    }
    o = small_options();
    for (int v = 0; v < 256; ++v) {
        o.flush = static_cast<flush_policy>(v);
        EXPECT_EQ(accepts(o, "flush policy is unknown"), v <= 2) << v;
    }
    o = small_options();
    for (int v = 0; v < 256; ++v) {
        if (v >= 1 && v <= 6 && v != static_cast<int>(medium_kind::shm)) continue;
        o.medium = static_cast<medium_kind>(v);
        EXPECT_EQ(accepts(o, "medium is unknown"), o.medium == medium_kind::shm) << v;
    }
    o = small_options();
    for (int v = 4; v < 256; ++v) {
        o.mode = static_cast<open_mode>(v);
        EXPECT_EQ(must_fail(file, o).why, "the open mode is unknown") << v;
    }
    EXPECT_EQ(fingerprint_of(file), before);
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(opening, makes_regions_of_every_discipline_and_opens_each_as_what_it_is) {
    for (const auto made :
         {discipline::transient, discipline::logged, discipline::incll, discipline::snapshot}) {
        fs::remove(file);
        region_options o = small_options();
        o.kind = made;
        EXPECT_EQ(must_open(file, o)->kind(), made);
        for (const auto asked :
             {discipline::transient, discipline::logged, discipline::incll, discipline::snapshot}) {
            o.kind = asked;
            o.mode = open_mode::inspect;
            EXPECT_EQ(must_open(file, o)->kind(), made);
            o.mode = open_mode::open_existing;
            const auto r = region::open(file, o);
            EXPECT_EQ(r.has_value(), made == asked);
            if (!r) {
                EXPECT_EQ(r.error().code, errc::incompatible);
            }
        }
    }
}

// Rounded up to pages, and not beyond the maximal size.
TEST_F(opening, makes_regions_of_every_size_up_to_the_maximal_one) {
    for (const u64 most : {page_size, page_size + 1, 2 * page_size - 1, 2 * page_size}) {
        for (const u64 bytes : {u64{0}, u64{1}, page_size - 1, page_size, page_size + 1,
                                2 * page_size - 1, 2 * page_size, 2 * page_size + 1, ~u64{0}}) {
            fs::remove(file);
            region_options o = small_options();
            o.max_size = most;
            o.initial_size = bytes;
            const u64 pages = bytes / page_size + (bytes % page_size != 0 ? 1 : 0);
            const bool fits = bytes != 0 && pages <= most / page_size;
            const auto in_memory = region::create_volatile(bytes, o);
            const auto r = region::open(file, o);
            ASSERT_EQ(r.has_value(), fits) << bytes << " of at most " << most;
            ASSERT_EQ(in_memory.has_value(), fits);
            if (fits) {
                EXPECT_EQ((*r)->size(), pages * page_size);
                EXPECT_EQ((*in_memory)->size(), pages * page_size);
                EXPECT_EQ((*r)->max_pages(), most / page_size);
                EXPECT_EQ(fs::file_size(file), pages * page_size);
                continue;
            }
            EXPECT_EQ(r.error().code, errc::usage);
            EXPECT_NE(r.error().next.find("1 to " + std::to_string(most / page_size * page_size)),
                      std::string::npos)
                << r.error().to_string();
        }
    }
}

TEST_F(opening, takes_a_region_that_is_as_large_as_it_may_be_and_none_that_is_larger) {
    make_region(file);
    for (const u64 most : {15 * page_size, 16 * page_size - 1, 16 * page_size, 17 * page_size}) {
        region_options o = small_options();
        o.max_size = most;
        if (most >= 16 * page_size) {
            EXPECT_EQ(must_open(file, o)->size(), 16 * page_size);
        } else {
            EXPECT_EQ(must_fail(file, o).code, errc::usage);
        }
        o.mode = open_mode::inspect;
        EXPECT_EQ(must_open(file, o)->size(), 16 * page_size) << "inspecting it is allowed";
    }
}

TEST_F(opening, grows_by_what_is_left_and_no_page_more) {
    for (u64 pages = 1; pages <= 6; ++pages) {
        region_options o = small_options();
        o.initial_size = page_size;
        o.max_size = 5 * page_size;
        fs::remove(file);
        const auto r = must(region::open(file, o));
        for (u64 size = 1;;) {
            const auto s = r->grow(segment_kind::heap, pages, 0);
            EXPECT_EQ(s.has_value(), size + pages <= 5) << size << " and " << pages;
            if (!s) {
                EXPECT_EQ(s.error().code, errc::no_space);
                break;
            }
            size += pages;
            EXPECT_EQ(r->size(), size * page_size);
        }
    }
}

// ---------------------------------------------------------------- media

TEST_F(opening, a_medium_whose_nature_is_not_known_is_none) {
    make_region(file);
    const answered script([](const call& c) -> answer {
        return {.is_lie = c.name == "fstatfs"};  // of no type
    });
    for (const open_mode mode : all_modes) {
        region_options o = small_options();
        o.mode = mode;
        const fs::path path = mode == open_mode::create_new ? dir / "new.hf" : file;
        EXPECT_EQ(must_fail(path, o).code, errc::medium);
    }
    EXPECT_EQ(dir.names(), std::vector<std::string>{"store.hf"});
}

TEST_F(opening, on_tmpfs_a_region_can_be_taken_for_one_on_a_disk_and_for_nothing_else) {
    make_region(file);
    for (const auto kind :
         {medium_kind::dax, medium_kind::eadr, medium_kind::shm, medium_kind::file}) {
        region_options o = small_options();
        o.medium = kind;
        o.mode = open_mode::inspect;
        const auto r = region::open(file, o);
        EXPECT_EQ(r.has_value(), kind == medium_kind::shm || kind == medium_kind::file)
            << to_string(kind);
        if (!r) {
            EXPECT_EQ(r.error().code, errc::medium);
        }
    }
}

TEST_F(opening, asks_the_opener_about_the_medium_but_for_inspection) {
    std::vector<medium_kind> asked;
    bool is_refused = false;
    region::opener by;
    by.accept = [&](medium_kind kind, bool) -> result<void> {
        asked.push_back(kind);
        if (!is_refused) return {};
        return failure({errc::too_large, "open", "there", "it will not do", "use another"});
    };
    for (const bool refused : {true, false}) {
        for (const open_mode mode : all_modes) {
            is_refused = refused;
            asked.clear();
            fs::remove(file);
            if (mode != open_mode::create_new) make_region(file);
            region_options o = small_options();
            o.mode = mode;
            const auto r = region::open(file, o, by);
            const bool is_asked = mode != open_mode::inspect;
            EXPECT_EQ(asked, std::vector<medium_kind>(is_asked ? 1 : 0, medium_kind::shm));
            EXPECT_EQ(r.has_value(), !refused || !is_asked);
            if (!r) {
                EXPECT_EQ(r.error().code, errc::too_large);
            }
            EXPECT_EQ(fs::exists(file), mode != open_mode::create_new || !refused);
        }
    }
}

// ---------------------------------------------------------------- others at the same place

/// Others make a region at the same place, just before ours gets its name; `vanishing` times it has
/// been removed again when we check.
class rivals : public opening {
   protected:
    result<std::unique_ptr<region>> open_beside(int vanishing, int error = 0,
                                                open_mode mode = open_mode::open_or_create) {
        int links = 0;
        const answered script([&](const call& c) -> answer {
            if (c.name == "linkat" && c.path == "store.hf" && links++ < 5) {
                make_region(file);
                return {error};
            }
            if (c.name == "lstat" && c.path == file && links <= vanishing) fs::remove(file);
            return {};
        });
        region_options o = small_options();
        o.initial_size = 2 * page_size;
        o.mode = mode;
        auto r = region::open(file, o);
        tries = script.count("linkat");
        return r;
    }
    u64 tries = 0;
};

TEST_F(rivals, who_loses_the_race_opens_what_the_winner_made) {
    const auto r = must(open_beside(0));
    EXPECT_FALSE(r->created());
    EXPECT_EQ(r->size(), 16 * page_size);
    EXPECT_EQ(tries, 1U);
}

TEST_F(rivals, who_loses_it_to_one_that_is_gone_tries_once_more) {
    const auto r = open_beside(1);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, errc::usage);
    EXPECT_EQ(tries, 2U);
}

TEST_F(rivals, who_wants_a_new_one_gets_no_other) {
    EXPECT_EQ(open_beside(0, 0, open_mode::create_new).error().code, errc::usage);
    EXPECT_EQ(tries, 1U);
}

TEST_F(rivals, an_error_is_told_though_there_is_a_file_now) {
    EXPECT_EQ(open_beside(0, EACCES).error().code, errc::denied);
    EXPECT_EQ(tries, 1U);
}

}  // namespace
}  // namespace hf::test
