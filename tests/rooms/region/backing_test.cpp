// The calls of a region to its backing, in order; the answers of the backing without a journal; and
// the system calls of an open and of a growth.
#include "region/backing.hpp"

#include "base/held_up.hpp"
#include "support/kernel.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hf::test {
namespace {

using kernel::answer;
using kernel::answered;
using kernel::call;
using layout::page_size;
using strings = std::vector<std::string>;

/// Lists the calls.
class told_backing final : public backing {
   public:
    struct conduct {
        bool has_private_memory = false;
        bool maps_growth = false;
        bool has_lost_growth = false;
        strings refuses;  ///< the calls that fail
        strings said;
    };
    told_backing(const backing_place& place, conduct& c) : place_(place), conduct_(c) {
        tell("made for " + std::to_string(place.max_bytes / page_size) + " pages");
    }
    ~told_backing() override { tell("gone"); }

    result<void> overlay_header(layout::header& h) override {
        h.super[0].generation = h.super[1].generation = 4711;
        for (auto& s : h.super) s.checksum = layout::superblock_checksum(s);
        return tell("overlay header");
    }
    result<void> check(const layout::superblock& s, u64 bytes) override {
        EXPECT_EQ(s.generation, 4711U) << "it sees what was overlaid";
        return tell("check " + std::to_string(bytes / page_size));
    }
    result<bool> bring_up_to_date() override {
        if (auto ok = tell("bring up to date"); !ok) return tl::unexpected(ok.error());
        return conduct_.has_lost_growth;
    }
    result<void> overlay(std::span<std::byte> mapped) override {
        EXPECT_EQ(mapped.data(), place_.base);
        return tell("overlay " + std::to_string(mapped.size() / page_size));
    }
    medium make_medium() const override { return direct_medium(place_.kind, place_.options); }
    bool is_private() const noexcept override { return conduct_.has_private_memory; }
    bool map_growth(u64 from, u64 to) noexcept override {
        (void)tell(range("map growth", from, to));
        if (!conduct_.maps_growth) return false;
        return ::mmap(place_.base + from, to - from, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    void mapped_file(u64 from, u64 to) noexcept override { (void)tell(range("mapped", from, to)); }
    void watch(u64 from, u64 to) noexcept override { (void)tell(range("watch", from, to)); }
    result<void> has_grown(u64 bytes) override {
        EXPECT_TRUE(held_up::is_anybody()) << "who waits for the caller's locks takes it for dead";
        return tell("has grown to " + std::to_string(bytes / page_size));
    }
    result<void> sync() override { return tell("sync"); }
    result<void> superblocks_are_durable() override { return tell("superblocks"); }

   private:
    static std::string range(const std::string& what, u64 from, u64 to) {
        return what + " " + std::to_string(from / page_size) + " to " +
               std::to_string(to / page_size);
    }
    result<void> tell(const std::string& what) const {
        conduct_.said.push_back(what);
        const auto refused = [&](const std::string& r) { return what.starts_with(r); };
        if (std::none_of(conduct_.refuses.begin(), conduct_.refuses.end(), refused)) return {};
        return failure({errc::too_large, what, "store.hf", "it was told to", "ask another"});
    }

    backing_place place_;
    conduct& conduct_;
};

class told : public on_tmpfs {
   protected:
    nothing_lost check;
    result<std::unique_ptr<region>> open(region_options o = small_options()) {
        c.said.clear();
        region::opener by;
        by.make_backing = [this](const backing_place& place) -> result<std::unique_ptr<backing>> {
            return std::make_unique<told_backing>(place, c);
        };
        return region::open(file, o, by);
    }
    strings said() { return std::exchange(c.said, {}); }

    told_backing::conduct c;
};

TEST_F(told, a_new_region_has_grown_behind_its_header) {
    for (const bool is_private : {false, true}) {
        c.has_private_memory = is_private;
        c.maps_growth = is_private;
        region_options o = small_options();
        o.max_size = 20 * page_size;
        auto r = must(open(o));
        EXPECT_EQ(r->super().generation, 4711U);
        strings expected{"made for 20 pages", "overlay header", "check 16",
                         "bring up to date",  "mapped 0 to 1",  "map growth 1 to 16"};
        if (!is_private) expected.emplace_back("mapped 1 to 16");
        expected.emplace_back("watch 0 to 16");
        EXPECT_EQ(said(), expected);
        std::memset(r->base(), 1, r->size());
        r.reset();
        EXPECT_EQ(said(), strings{"gone"});
        std::filesystem::remove(file);
    }
}

TEST_F(told, an_old_region_is_mapped_as_a_whole) {
    make_region(file);
    for (const bool is_private : {false, true}) {
        c.has_private_memory = is_private;
        const auto r = must(open());
        EXPECT_EQ(said(), (strings{"made for " + std::to_string(window_size / page_size) + " pages",
                                   "overlay header", "check 16", "bring up to date",
                                   "mapped 0 to 16", "watch 0 to 16"}));
        // Private memory, or shared with the file.
        const auto before = fingerprint_of(file);
        *r->at<u8>(page_size) = is_private ? 1 : 2;
        EXPECT_EQ(fingerprint_of(file) == before, is_private);
    }
}

TEST_F(told, one_that_is_inspected_is_overlaid_and_never_watched) {
    make_region(file);
    region_options o = small_options();
    o.mode = open_mode::inspect;
    c.maps_growth = true;
    const auto r = must(open(o));
    EXPECT_EQ(said(), (strings{"made for " + std::to_string(window_size / page_size) + " pages",
                               "overlay header", "check 16", "mapped 0 to 16", "overlay 16"}));
    EXPECT_EQ(*r->at<u8>(page_size), 0x5A);
}

TEST_F(told, growth_is_known_before_it_is_mapped_and_watched_before_it_is_used) {
    for (const bool is_private : {false, true}) {
        c.has_private_memory = is_private;
        c.maps_growth = is_private;
        const auto r = must(open());
        (void)said();
        const auto s = must(r->grow(segment_kind::log, 3, 9));
        EXPECT_EQ(s, (segment{16 * page_size, 3, segment_kind::log, 9}));
        strings expected{"has grown to 19", "map growth 16 to 19"};
        if (!is_private) expected.emplace_back("mapped 16 to 19");
        expected.emplace_back("watch 16 to 19");
        EXPECT_EQ(said(), expected);
        std::memset(r->at<u8>(s.offset), 1, s.bytes());
        must(r->update_super([](layout::superblock&) {}));
        EXPECT_EQ(said(), strings{"superblocks"});
        std::filesystem::remove(file);
    }
}

TEST_F(told, whatever_it_refuses_is_the_openings_error_and_leaves_the_file_alone) {
    make_region(file);
    const auto before = fingerprint_of(file);
    for (const char* const refused :
         {"overlay header", "check", "bring up to date", "overlay 16"}) {
        c.refuses = {refused};
        region_options o = small_options();
        if (std::string_view(refused) == "overlay 16") o.mode = open_mode::inspect;
        const auto r = open(o);
        ASSERT_FALSE(r) << refused;
        EXPECT_EQ(r.error().code, errc::too_large);
        EXPECT_TRUE(r.error().what.starts_with(refused)) << r.error().to_string();
        EXPECT_EQ(said().back(), "gone");
        EXPECT_EQ(fingerprint_of(file), before);
    }
    c.refuses = {"superblocks"};
    const auto r = must(open());
    EXPECT_EQ(r->update_super([](layout::superblock&) {}).error().code, errc::too_large);
}

TEST_F(told, growth_that_it_refuses_is_taken_back_at_once_or_before_the_next) {
    const auto r = must(open());
    const auto before = r->segments();
    for (const bool can_sync : {true, false}) {
        c.refuses = {"has grown"};
        if (!can_sync) c.refuses.emplace_back("sync");
        (void)said();
        EXPECT_EQ(r->grow(segment_kind::heap, 3, 0).error().code, errc::too_large);
        EXPECT_EQ(said(), (strings{"has grown to 19", "sync"})) << "the shorter file is durable";
        EXPECT_EQ(std::filesystem::file_size(file), 16 * page_size);
        EXPECT_EQ(r->header().intent.pages.load(), can_sync ? 0U : 19U);
        EXPECT_EQ(r->segments(), before);
        EXPECT_EQ(r->size(), 16 * page_size);
        if (can_sync) continue;
        EXPECT_EQ(r->grow(segment_kind::heap, 2, 0).error().code, errc::too_large);
        EXPECT_EQ(said(), strings{"sync"}) << "what may be left is cut off first";
        EXPECT_EQ(r->header().intent.pages.load(), 19U) << "its intent outlives it";
    }
    c.refuses.clear();
    must(r->grow(segment_kind::heap, 2, 0));
    EXPECT_EQ(said(), (strings{"sync", "has grown to 18", "map growth 16 to 18", "mapped 16 to 18",
                               "watch 16 to 18"}));
    must(r->grow(segment_kind::heap, 1, 0));
    EXPECT_EQ(said().front(), "has grown to 19") << "nothing is left to be cut off";
}

TEST_F(told, a_growth_that_a_crash_took_is_cut_off_and_nothing_else) {
    make_region(file);
    for (const bool lost : {true, false}) {
        for (const u64 tail : {u64{0}, u64{1}, page_size}) {
            change_superblocks(file, [](layout::superblock& s) {
                s.medium = medium_kind::file;
                s.clean = 0;
            });
            std::filesystem::resize_file(file, 16 * page_size + tail);
            c.has_lost_growth = lost;
            const answered script([](const call&) -> answer { return {}; });
            const auto r = must(open());
            EXPECT_EQ(std::filesystem::file_size(file), (16 * page_size) + (lost ? 0 : tail));
            EXPECT_EQ(script.count("ftruncate"), lost && tail != 0 ? 1U : 0U);
            // The file and its name, since the process that had it was killed (K1).
            EXPECT_EQ(script.count("fsync"), lost && tail != 0 ? 3U : 2U);
        }
    }
}

// ---------------------------------------------------------------- without a journal

class direct : public on_tmpfs {
   protected:
    nothing_lost check;
    static constexpr medium_kind kinds[] = {medium_kind::dax, medium_kind::eadr, medium_kind::shm,
                                            medium_kind::file};
    std::filesystem::path path = file;
    detail::file_handle nothing;
    region_options options;
    backing_place place(medium_kind kind) { return {path, nothing, nullptr, 0, kind, options}; }
};

TEST_F(direct, flushes_where_the_medium_needs_it_or_it_was_asked_to) {
    const flush_instruction best = best_flush_instruction();
    for (const medium_kind kind : kinds) {
        for (const auto policy :
             {flush_policy::automatic, flush_policy::always, flush_policy::never}) {
            for (const u32 latency : {0U, 300U}) {
                options.flush = policy;
                options.fence_latency_ns = latency;
                const bool flushes = policy == flush_policy::automatic
                                         ? kind == medium_kind::dax
                                         : policy == flush_policy::always;
                for (const medium& m :
                     {direct_medium(kind, options), direct_backing(place(kind)).make_medium()}) {
                    EXPECT_EQ(m.kind(), kind);
                    EXPECT_EQ(m.instruction(), flushes ? best : flush_instruction::none)
                        << to_string(kind) << ", policy " << static_cast<int>(policy);
                    EXPECT_EQ(m.fence_latency_ns(), latency);
                    EXPECT_FALSE(m.is_atomic());
                }
            }
        }
    }
}

TEST_F(direct, lacks_the_journal_of_a_region_on_the_medium_file_that_was_not_closed) {
    for (const medium_kind kind : kinds) {
        for (const u8 clean : {u8{0}, u8{1}}) {
            layout::superblock s{};
            s.medium = kind;
            s.clean = clean;
            const auto ok = direct_backing(place(medium_kind::shm)).check(s, page_size);
            EXPECT_EQ(ok.has_value(), kind != medium_kind::file || clean == 1) << to_string(kind);
            if (ok) continue;
            EXPECT_EQ(ok.error().code, errc::medium);
            EXPECT_EQ(ok.error().where, file.string());
        }
    }
}

TEST_F(direct, is_for_all_media_but_for_writing_to_the_medium_file) {
    for (const medium_kind kind : kinds) {
        for (const auto mode : {open_mode::open_or_create, open_mode::open_existing,
                                open_mode::create_new, open_mode::inspect}) {
            options.mode = mode;
            const bool writes = mode != open_mode::inspect;
            EXPECT_EQ(place(kind).is_writable(), writes);
            const auto made = make_direct_backing(place(kind));
            EXPECT_EQ(made.has_value(), kind != medium_kind::file || !writes);
            if (made) continue;
            EXPECT_EQ(made.error().code, errc::medium);
            EXPECT_EQ(made.error().where, file.string());
        }
    }
}

TEST_F(direct, shares_its_memory_with_the_file) {
    direct_backing b(place(medium_kind::shm));
    EXPECT_FALSE(b.is_private());
    EXPECT_FALSE(b.map_growth(0, page_size));
    const auto lost = b.bring_up_to_date();
    EXPECT_TRUE(lost && !*lost);
    // On a number without a descriptor.
    EXPECT_EQ(b.sync().error().code, errc::io);
    EXPECT_EQ(b.has_grown(page_size).error().code, errc::io);
}

// ---------------------------------------------------------------- calls of the kernel

TEST_F(direct, an_opening_of_a_whole_file_writes_nothing_and_allocates_nothing) {
    make_region(file);
    const answered script([](const call&) -> answer { return {}; });
    const auto r = must(region::open(file, small_options()));
    for (const char* const change : {"fallocate", "ftruncate", "pwrite", "unlink"}) {
        EXPECT_EQ(script.count(change), 0U) << change;
    }
    EXPECT_EQ(script.count("fsync"), 1U) << "of its name, which may not be durable (K1)";
}

TEST_F(direct, a_growth_allocates_and_syncs_once) {
    const auto r = must(region::open(file, small_options()));
    const answered script([](const call&) -> answer { return {}; });
    must(r->grow(segment_kind::heap, 1, 0));
    EXPECT_EQ(script.count("fallocate"), 1U);
    EXPECT_EQ(script.count("fsync"), 1U);
    EXPECT_EQ(script.count("ftruncate"), 0U);
}

TEST_F(direct, growth_that_cannot_be_mapped_is_taken_back) {
    const auto r = must(region::open(file, small_options()));
    std::memset(r->base() + page_size, 7, 15 * page_size);
    const auto segments = r->segments();
    {
        // Refused, and the window has a hole then.
        const answered script([](const call& c) -> answer {
            if (c.name != "mmap" || c.fd < 0) return {};
            ::munmap(reinterpret_cast<void*>(c.offset), c.size);
            return {ENOMEM};
        });
        const auto refused = r->grow(segment_kind::heap, 3, 0);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::io);
        EXPECT_EQ(refused.error().where, file.string() + " at offset 1048576");
        EXPECT_EQ(script.count("ftruncate"), 1U);
    }
    EXPECT_EQ(r->segments(), segments);
    EXPECT_EQ(std::filesystem::file_size(file), 16 * page_size);
    EXPECT_EQ(r->header().intent.pages.load(), 0U);
    EXPECT_EQ(::msync(r->base() + r->size(), 3 * page_size, MS_ASYNC), 0)
        << "the window has no hole";
    must(r->grow(segment_kind::heap, 3, 0));
    EXPECT_EQ(*r->at<u8>(page_size), 7);
}

// Readers follow what they read also in a region that is full.
TEST_F(direct, growth_that_is_refused_leaves_the_rest_of_the_window_backed) {
    const auto r = must(region::open(file, small_options()));
    r->back_rest_of_window();
    for (const char* const refused : {"fallocate", "mmap"}) {
        {
            const answered script([&](const call& c) -> answer {
                return {c.name == refused && c.fd >= 0 ? ENOSPC : 0};
            });
            ASSERT_FALSE(r->grow(segment_kind::heap, 3, 0)) << refused;
        }
        auto* const behind = reinterpret_cast<std::atomic<u64>*>(r->base() + r->size());
        EXPECT_EQ(behind->load(), 0U) << refused;
        behind->store(7);
    }
    must(r->grow(segment_kind::heap, 3, 0));
    EXPECT_EQ(r->at<std::atomic<u64>>(r->size() - 3 * page_size)->load(), 0U);
}

TEST_F(direct, growth_of_memory_that_cannot_be_mapped_leaves_it_as_it_was) {
    const auto r = must(region::create_volatile(u64{1} << 20, small_options()));
    const auto segments = r->segments();
    {
        int left = 1;
        const answered script([&left](const call& c) -> answer {
            return {c.name == "mmap" && left-- > 0 ? ENOMEM : 0};
        });
        EXPECT_EQ(r->grow(segment_kind::heap, 3, 0).error().code, errc::io);
        EXPECT_EQ(script.count("ftruncate"), 0U) << "there is no file";
        EXPECT_EQ(script.count("mmap"), 2U);
    }
    EXPECT_EQ(r->segments(), segments);
    must(r->grow(segment_kind::heap, 3, 0));
}

// On persistent memory a store is durable once it was written back only if the file system's own
// notes about the page are; MAP_SYNC says so.
TEST_F(direct, persistent_memory_is_mapped_synchronously) {
    make_region(file);
    for (const auto kind : {medium_kind::dax, medium_kind::eadr}) {
        for (const auto mode : {open_mode::open_existing, open_mode::inspect}) {
            options.medium = kind;
            options.mode = mode;
            int flags = 0;
            const answered script([&flags](const call& c) -> answer {
                if (c.name != "mmap" || c.fd < 0) return {};
                if (c.offset == 0) return {.is_lie = true};  // detect_medium asks for it
                flags = c.option;
                return {ENOMEM};
            });
            EXPECT_EQ(region::open(file, options).error().code, errc::io);
            const int wanted = mode == open_mode::inspect ? MAP_PRIVATE | MAP_NORESERVE
                                                          : MAP_SHARED_VALIDATE | MAP_SYNC;
            EXPECT_EQ(flags, wanted | MAP_FIXED);
        }
    }
}

}  // namespace
}  // namespace hf::test
