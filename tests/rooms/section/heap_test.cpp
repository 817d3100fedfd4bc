// The malloc-like interface, against a model.
#include "base/random.hpp"
#include "section/heap/layout.hpp"
#include "section/opened_group.hpp"

#include <cerrno>
#include <cstring>
#include <map>

namespace hf {
namespace {

class section_heap : public test::groups {};

TEST_P(section_heap, blocks_are_as_large_and_as_aligned_as_asked_for) {
    open();
    hf_region* const r = hf_region_open("r");
    for (const std::size_t n : {0U, 1U, 16U, 17U, 129U, 4096U, 32768U, 32769U, 1000000U}) {
        void* const p = hf_alloc(r, n);
        ASSERT_NE(p, nullptr) << n;
        EXPECT_GE(hf_usable_size(p), n);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0U);
    }
    for (std::size_t a = 8; a <= 65536; a *= 2) {
        void* const p = hf_aligned(r, a, 100);
        ASSERT_NE(p, nullptr) << a;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % a, 0U) << a;
        EXPECT_GE(hf_usable_size(p), 100U);
        hf_free(p);
    }
    EXPECT_EQ(hf_aligned(r, 48, 100), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_P(section_heap, a_zeroed_block_is_zero_though_its_memory_was_used) {
    open();
    hf_region* const r = hf_region_open("r");
    auto* const p = static_cast<char*>(hf_alloc(r, 200));
    hf_section_begin();
    static_cast<void>(hf_section_store(p, 200));
    std::memset(p, 7, 200);
    hf_section_end();
    hf_free(p);
    auto* const q = static_cast<char*>(hf_zeroed(r, 4, 50));
    EXPECT_EQ(q, p) << "a freed block is used again at once";
    for (int i = 0; i < 200; ++i) ASSERT_EQ(q[i], 0);
    EXPECT_EQ(hf_zeroed(r, ~std::size_t{0} / 2, 4), nullptr) << "the product wraps around";
}

TEST_P(section_heap, a_block_keeps_its_contents_when_it_grows_and_shrinks) {
    open();
    hf_region* const r = hf_region_open("r");
    auto* p = static_cast<unsigned char*>(hf_realloc(r, nullptr, 10));
    for (std::size_t n = 10; n < 200'000; n *= 3) {
        hf_section_begin();
        static_cast<void>(hf_section_store(p, n));
        for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<unsigned char>(i * 7);
        hf_section_end();
        p = static_cast<unsigned char*>(hf_realloc(r, p, n * 3));
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(p[i], static_cast<unsigned char>(i * 7));
    }
    p = static_cast<unsigned char*>(hf_realloc(r, p, 5));
    EXPECT_EQ(p[4], 28);
    hf_free(p);
}

TEST_P(section_heap, random_calls_never_give_memory_twice) {
    open();
    hf_region* const regions[] = {hf_region_open("a"), hf_region_open("b")};
    std::map<char*, std::size_t> live;
    xoshiro256ss random(17);
    for (int i = 0; i < 20'000; ++i) {
        if (random.below(5) < 2 && !live.empty()) {
            auto it = live.lower_bound(
                std::next(live.begin(), static_cast<long>(random.below(live.size())))->first);
            hf_free(it->first);
            live.erase(it);
            continue;
        }
        const std::size_t n = random.below(50) == 0 ? random.below(300'000) : random.below(600);
        auto* const p = static_cast<char*>(hf_alloc(regions[i % 2], n));
        ASSERT_NE(p, nullptr) << hf_section_error();
        const auto next = live.lower_bound(p);
        ASSERT_TRUE(next == live.end() || p + n <= next->first);
        ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p);
        live.emplace(p, n);
        if (i % 5000 == 4999) {
            ASSERT_EQ(hf_section_cut(), 0) << hf_section_error();
        }
    }
    for (const auto& [p, n] : live) hf_free(p);
    hf_section_numbers numbers{};
    hf_section_numbers_get(&numbers);
    EXPECT_EQ(numbers.allocated_bytes, 0U);
}

// Recovery's walk over the runs finds the blocks that the running heap knew.
TEST_P(section_heap, an_opening_finds_the_same_blocks) {
    open();
    hf_region* const r = hf_region_open("r");
    struct node {
        node* next;
    };
    node* head = nullptr;
    xoshiro256ss random(3);
    for (int i = 0; i < 3000; ++i) {
        auto* const n = static_cast<node*>(hf_alloc(r, 8 + random.below(9000)));
        test::store(n->next, head);
        head = n;
        if (i % 3 == 0) hf_free(hf_alloc(r, 100'000));
    }
    hf_root_set(r, "head", head);
    hf_section_numbers before{};
    hf_section_numbers_get(&before);
    reopen();
    hf_section_numbers after{};
    hf_section_numbers_get(&after);
    EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
    EXPECT_EQ(after.reclaimed_bytes, 0U);
    for (node* n = head; n != nullptr;) {
        node* const next = n->next;
        hf_free(n);
        n = next;
    }
    hf_section_numbers_get(&after);
    EXPECT_EQ(after.allocated_bytes, 0U);
}

TEST_P(section_heap, a_full_group_refuses_and_stays_as_it_was) {
    auto o = options();
    o.max_bytes = u64{8} << 20;
    o.log_bytes = u64{1} << 20;
    open(o);
    hf_region* const r = hf_region_open("r");
    EXPECT_EQ(hf_alloc(r, u64{1} << 30), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_NE(std::string(hf_section_error()).find("maximal size"), std::string::npos);
    int blocks = 0;
    while (hf_alloc(r, 100'000) != nullptr) ++blocks;
    EXPECT_GT(blocks, 40);
}

class section_heap_death : public section_heap {
   protected:
    /// In the child: a fork has no group.
    char* opened_block() const {
        open();
        return static_cast<char*>(hf_alloc(hf_region_open("r"), 100));
    }
};

TEST_P(section_heap_death, freeing_twice_or_elsewhere_ends_the_process_with_the_address) {
    EXPECT_DEATH(hf_free(opened_block() + 16), "no block of this group");
    EXPECT_DEATH(
        {
            char* const p = opened_block();
            hf_free(p);
            hf_free(p);
        },
        "freed before");
    EXPECT_DEATH((open(), hf_section_end()), "without hf_section_begin");
}

INSTANTIATE_TEST_SUITE_P(stores, section_heap, test::all_ways(), test::name_of);
INSTANTIATE_TEST_SUITE_P(stores, section_heap_death, test::all_ways(), test::name_of);

TEST(section_sizes, every_slab_holds_its_blocks_and_their_bits) {
    for (unsigned c = 0; c < section::size_classes; ++c) {
        const auto& shape = section::slab_shapes[c];
        EXPECT_GE(shape.first, sizeof(section::run_header) + (shape.blocks + 7) / 8);
        EXPECT_LE(shape.first + shape.blocks * section::class_bytes(c),
                  section::slab_pages(c) * section::page_bytes);
        EXPECT_GE(shape.blocks, 8U);
    }
}

}  // namespace
}  // namespace hf
