// A file of structures: where its memory lies, what it tells the clock, which files are refused.
#include <holdfast/checkpoint.hpp>

#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint/inspect.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <vector>

namespace hf {
namespace {

struct one_word {
    logged<std::uint64_t> number;
    std::atomic<std::uint64_t> stamp;
};

class a_file_of_structures : public test::on_tmpfs {
   protected:
    [[nodiscard]] result<void> try_to_open(open_mode mode = open_mode::open_or_create) {
        checkpointed_options options;
        options.epoch = std::chrono::microseconds(0);
        options.region.initial_size = u64{16} << 20;
        options.region.mode = mode;
        auto opened = checkpointed::open(file, options);
        if (!opened) return tl::unexpected(opened.error());
        one_ = std::make_unique<checkpointed>(std::move(*opened));
        return {};
    }
    void open() {
        const auto opened = try_to_open();
        ASSERT_TRUE(opened) << opened.error().to_string();
    }
    void crash() {
        if (one_) checkpointed_inspection::abandon(*one_);
        one_.reset();
    }
    [[nodiscard]] checkpointed_region& up() { return checkpointed_inspection::region_of(*one_); }
    [[nodiscard]] one_word& root() { return *one_->root<one_word>(); }

    std::unique_ptr<checkpointed> one_;
};

// Every size near a boundary of size classes, with each alignment: the object lies where it may,
// all of it is the caller's alone, and it comes back for the next one.
TEST_F(a_file_of_structures, gives_memory_that_is_aligned_and_the_callers_alone) {
    std::vector<std::size_t> sizes;
    for (std::size_t bytes = 1; bytes <= 700; bytes += bytes < 300 ? 1 : 7) sizes.push_back(bytes);
    for (std::size_t bytes = 65'536 - 80; bytes <= 65'536; ++bytes) sizes.push_back(bytes);
    ASSERT_NO_FATAL_FAILURE(open());
    for (const std::size_t alignment : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
        SCOPED_TRACE(alignment);
        std::map<std::byte*, std::size_t> all;
        for (const std::size_t bytes : sizes) {
            for (int i = 0; i < (bytes < 700 ? 3 : 1); ++i) {
                checkpointed::operation op(*one_);
                auto* const p = static_cast<std::byte*>(op.allocate(bytes, alignment).value());
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0U) << bytes;
                const auto after = all.lower_bound(p);
                if (after != all.end()) {
                    ASSERT_LE(p + bytes, after->first) << bytes;
                }
                if (after != all.begin()) {
                    ASSERT_LE(std::prev(after)->first + std::prev(after)->second, p) << bytes;
                }
                all.emplace(p, bytes);
                std::memset(p, 0xee, bytes);
                op.note(p, bytes);
            }
        }
        for (const auto& [p, bytes] : all) {
            checkpointed::operation op(*one_);
            op.deallocate(p, bytes, alignment);
        }
        one_->end_epoch();
        checkpointed::operation op(*one_);
        for (const std::size_t bytes : {100UL, 1000UL}) {
            auto* const p = static_cast<std::byte*>(op.allocate(bytes, alignment).value());
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0U);
        }
    }
}

// Two neighbours of a fresh slab lie as far apart as their blocks are large.
TEST_F(a_file_of_structures, takes_no_larger_blocks_than_alignment_asks_for) {
    struct demand {
        std::size_t bytes;
        std::size_t alignment;
        std::ptrdiff_t block;
    };
    ASSERT_NO_FATAL_FAILURE(open());
    for (const demand& d : {demand{16, 16, 32},
                            {112, 8, 128},
                            {113, 16, 144},
                            {144, 16, 160},
                            {64, 64, 128},
                            {16, 32, 128},
                            {32, 64, 128},
                            {65, 64, 192},
                            {128, 64, 192},
                            {192, 64, 256},
                            {193, 64, 320}}) {
        SCOPED_TRACE(std::to_string(d.bytes) + " at " + std::to_string(d.alignment));
        std::vector<std::byte*> all;
        for (int i = 0; i < 8; ++i) {
            checkpointed::operation op(*one_);
            all.push_back(static_cast<std::byte*>(op.allocate(d.bytes, d.alignment).value()));
        }
        std::sort(all.begin(), all.end());
        std::ptrdiff_t least = all[1] - all[0];
        for (std::size_t i = 2; i < all.size(); ++i) least = std::min(least, all[i] - all[i - 1]);
        EXPECT_EQ(least, d.block);
    }
}

TEST_F(a_file_of_structures, takes_back_every_byte_that_it_gave) {
    ASSERT_NO_FATAL_FAILURE(open());
    u64 size = 0;
    for (int round = 0; round < 40; ++round) {
        {
            checkpointed::operation op(*one_);
            std::vector<std::pair<void*, std::size_t>> all;
            for (const std::size_t bytes : {40UL, 200UL, 8000UL, 65'472UL, 65'473UL, 200'000UL}) {
                for (int i = 0; i < 4; ++i) all.emplace_back(op.allocate(bytes, 64).value(), bytes);
            }
            for (const auto& [p, bytes] : all) op.deallocate(p, bytes, 64);
        }
        one_->end_epoch();
        if (round == 3) size = up().file().size();
    }
    EXPECT_EQ(up().file().size(), size);
}

TEST_F(a_file_of_structures, tells_the_clock_of_every_kind_of_write) {
    ASSERT_NO_FATAL_FAILURE(open());
    void* small = nullptr;
    void* large = nullptr;
    const auto tells = [&](const std::function<void(checkpointed::operation&)>& act) {
        one_->end_epoch();
        EXPECT_FALSE(up().epochs().my_lane().wrote);
        checkpointed::operation op(*one_);
        act(op);
        return up().epochs().my_lane().wrote.load();
    };
    EXPECT_TRUE(tells([&](auto& op) { small = op.allocate(100).value(); }));
    EXPECT_TRUE(tells([&](auto& op) { (void)op.allocate(100).value(); })) << "of a slab's rest";
    EXPECT_TRUE(tells([&](auto& op) { large = op.allocate(100'000).value(); }));
    EXPECT_TRUE(tells([&](auto& op) { op.note(small, 1); }));
    EXPECT_TRUE(tells([&](auto& op) { op.deallocate(small, 100); }));
    EXPECT_TRUE(tells([&](auto& op) { op.deallocate(large, 100'000); }));
    EXPECT_TRUE(tells([&](auto& op) { root().number.set(op, 1); }));
    EXPECT_TRUE(
        tells([&](auto& op) { EXPECT_TRUE(op.log(root().stamp, &root().stamp, sizeof(u64))); }));
    EXPECT_FALSE(tells([&](auto& op) { op.note(nullptr, 0); }));
    EXPECT_FALSE(tells([&](auto& op) { (void)root().number.get(op); }));
}

TEST_F(a_file_of_structures, logs_an_object_once_an_epoch) {
    ASSERT_NO_FATAL_FAILURE(open());
    for (u64 epochs = 1; epochs < 4; ++epochs) {
        for (int i = 0; i < 3; ++i) {
            checkpointed::operation op(*one_);
            ASSERT_TRUE(op.log(root().stamp, &root().stamp, sizeof(u64)));
            EXPECT_EQ(up().checkpoint().log_entries(), epochs);
        }
        one_->end_epoch();
    }
}

TEST_F(a_file_of_structures, is_moved_and_closes_what_it_was_before) {
    ASSERT_NO_FATAL_FAILURE(open());
    auto& self = *one_;
    *one_ = std::move(self);
    {
        checkpointed::operation op(*one_);
        root().number.set(op, 5);
    }
    checkpointed other = std::move(*one_);
    EXPECT_TRUE(one_->close()) << "of nothing";
    *one_ = std::move(other);
    EXPECT_TRUE(one_->close());
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_FALSE(one_->recovered());
    const checkpointed::operation op(*one_);
    EXPECT_EQ(root().number.get(op), 5U);
}

TEST_F(a_file_of_structures, that_was_closed_is_free_and_refuses) {
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_TRUE(one_->close());
    checkpointed closed = std::move(*one_);
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(closed.sync().error().code, errc::usage);
    EXPECT_EQ(closed.wait_durable(0).error().code, errc::usage);
    EXPECT_EQ(closed.mend([](auto&) { return false; }).error().code, errc::usage);
    closed.end_epoch();
    EXPECT_EQ(closed.current_epoch() + closed.durable_epoch() + closed.failed_epochs(), 0U);
    EXPECT_FALSE(closed.created() || closed.recovered() || closed.must_mend());
    EXPECT_TRUE(closed.close());
}

TEST_F(a_file_of_structures, logs_no_object_where_no_part_of_an_epoch_outlives_a_crash) {
    checkpointed_options options;
    options.epoch = std::chrono::microseconds(0);
    options.region.initial_size = u64{16} << 20;
    options.region.medium = medium_kind::file;
    auto opened = checkpointed::open(file, options);
    ASSERT_TRUE(opened) << opened.error().to_string();
    one_ = std::make_unique<checkpointed>(std::move(*opened));
    {
        checkpointed::operation op(*one_);
        ASSERT_TRUE(op.log(root().stamp, &root().stamp, sizeof(u64)));
    }
    EXPECT_EQ(up().checkpoint().log_entries(), 0U);
}

// ------------------------------------------------------------------------------------ when to mend

TEST_F(a_file_of_structures, asks_to_be_mended_after_many_crashes) {
    ASSERT_NO_FATAL_FAILURE(open());
    unsigned crashes = 0;
    for (; crashes < max_failed_ranges && !one_->must_mend(); ++crashes) {
        one_->end_epoch();
        crash();
        ASSERT_NO_FATAL_FAILURE(open());
    }
    EXPECT_EQ(crashes, max_failed_ranges / 2);
    ASSERT_TRUE(one_->mend([](auto&) { return false; }));
    EXPECT_FALSE(one_->must_mend());
}

TEST_F(a_file_of_structures, asks_to_be_mended_before_compact_epochs_run_out) {
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_FALSE(one_->must_mend());
    crash();
    test::change_superblocks(file, [](layout::superblock& s) {
        change_checkpoint_area(s, [](checkpoint_area& c) { c.last_pass_epoch = u64{1} << 33; });
    });
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_TRUE(one_->must_mend());
    ASSERT_TRUE(one_->mend([](auto&) { return false; }));
    EXPECT_FALSE(one_->must_mend());
}

// ------------------------------------------------------------------------------------ other files

TEST_F(a_file_of_structures, is_refused_where_its_root_cannot_be_one) {
    ASSERT_NO_FATAL_FAILURE(open());
    one_->end_epoch();
    const u64 size = up().file().size();
    const u64 least = layout::page_size;
    const u64 most = size - checkpointed::root_bytes;
    ASSERT_EQ(most % line_size, 0U);
    constexpr u64 type = offsetof(layout::header, roots) + offsetof(layout::root, type);
    constexpr u64 value = offsetof(layout::header, roots) + offsetof(layout::root, value);
    crash();
    // As one of a version without checksums.
    constexpr u64 no_checksum = 0;
    test::patch(file, offsetof(layout::header, roots) + offsetof(layout::root, checksum),
                &no_checksum, sizeof no_checksum);
    const auto opens_with = [&](u64 at, u64 word) {
        u64 was = 0;
        std::memcpy(&was, test::read_file(file).data() + at, sizeof was);
        test::patch(file, at, &word, sizeof word);
        const auto opened = try_to_open();
        if (!opened) {
            EXPECT_EQ(opened.error().code, errc::corrupt) << opened.error().to_string();
        }
        crash();
        test::patch(file, at, &was, sizeof was);
        return opened.has_value();
    };
    EXPECT_FALSE(opens_with(type, 0x5355));
    EXPECT_TRUE(opens_with(type, 0x5354));
    for (const u64 root : {least, least + 64, most - 64, most})
        EXPECT_TRUE(opens_with(value, root));
    for (const u64 root : {u64{64}, least - 64, least + 8, least + 32, most + 64, size, ~u64{63}}) {
        EXPECT_FALSE(opens_with(value, root)) << root;
    }
    ASSERT_NO_FATAL_FAILURE(open());
}

TEST_F(a_file_of_structures, is_not_laid_out_by_who_only_looks) {
    ASSERT_NO_FATAL_FAILURE(open());
    crash();
    constexpr u64 first = offsetof(layout::header, roots);
    const layout::root none{};
    test::patch(file, first, &none, sizeof none);
    const auto before = test::fingerprint_of(file);
    const auto opened = try_to_open(open_mode::inspect);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().to_string().find("in use as something else"), std::string::npos)
        << opened.error().to_string();
    EXPECT_EQ(test::fingerprint_of(file), before);
    EXPECT_EQ(try_to_open().error().code, errc::incompatible);
}

}  // namespace
}  // namespace hf
