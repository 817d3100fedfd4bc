// Slabs of a committed heap that have run empty become free pages.
#include "committed_on_tmpfs.hpp"

#include <iterator>

namespace hf {
namespace {

using test::committed_test;
using test::must;

class committed_slabs_test : public committed_test {
   protected:
    static constexpr u64 bound = u64{16} << 20;

    /// Takes blocks of this size until there is no room.
    blocks fill(u64 size) {
        blocks taken;
        for (;;) {
            heap_batch b(*heap_);
            const auto offset = b.reserve(size);
            if (!offset) {
                EXPECT_EQ(offset.error().code, errc::no_space);
                return taken;
            }
            commit(b);
            taken[*offset] = size;
        }
    }
    void free_all(const blocks& taken) {
        for (const auto& [offset, size] : taken) free(offset, size);
    }
};

TEST_F(committed_slabs_test, slabs_that_have_run_empty_serve_other_sizes_and_extents) {
    open(bound);
    const blocks small = fill(3'000);
    ASSERT_GT(small.size() * 3'000, bound * 8 / 10);
    free_all(small);
    const blocks large = fill(20'000);
    EXPECT_GT(large.size() * 20'000, bound * 8 / 10);
    expect_owned(large);
    free_all(large);
    const blocks extents = fill(1'000'000);
    EXPECT_GT(extents.size() * 1'000'000, bound * 8 / 10);
    expect_owned(extents);
    free_all(extents);
    EXPECT_EQ(fill(3'000).size(), small.size());
}

TEST_F(committed_slabs_test, empty_slabs_of_an_earlier_session_serve_extents) {
    open(bound);
    const blocks small = fill(3'000);
    free_all(small);
    open(bound);
    const blocks extents = fill(1'000'000);
    EXPECT_GT(extents.size() * 1'000'000, bound * 8 / 10);
    expect_owned(extents);
}

TEST_F(committed_slabs_test, a_slab_of_which_one_block_is_owned_stays) {
    open(bound);
    blocks small = fill(3'000);
    const auto kept = *std::next(small.begin(), static_cast<std::ptrdiff_t>(small.size() / 2));
    small.erase(kept.first);
    free_all(small);
    blocks large = fill(20'000);
    EXPECT_GT(large.size() * 20'000, bound * 7 / 10);
    large.insert(kept);
    expect_owned(large);
}

TEST_F(committed_slabs_test, a_slab_of_which_one_block_is_reserved_stays) {
    open(bound);
    const blocks small = fill(3'000);
    free_all(small);
    heap_batch pending(*heap_);
    const u64 reserved = must(pending.reserve(3'000));
    blocks large = fill(20'000);
    commit(pending);
    large[reserved] = 3'000;
    expect_owned(large);
}

}  // namespace
}  // namespace hf
