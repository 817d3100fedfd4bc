// Pointers that lie in a region: holdfast/pointer.hpp.
#include <holdfast/pointer.hpp>

#include "region/region.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace hf {
namespace {

struct link {
    offset_pointer<link> next;
    u64 number = 0;
};

struct two_regions : testing::Test {
    std::unique_ptr<region> one = make();
    std::unique_ptr<region> other = make();

    static std::unique_ptr<region> make() {
        auto r = region::create_volatile(u64{1} << 20, {});
        return r ? std::move(*r) : nullptr;
    }
    static link* at(region& r, u64 offset) { return new (r.base() + offset) link; }
};

constexpr u64 first = layout::page_size;
constexpr u64 second = layout::page_size + 64;

TEST_F(two_regions, a_pointer_keeps_the_distance_from_the_regions_start) {
    link* const a = at(*one, first);
    link* const b = at(*one, second);
    EXPECT_FALSE(a->next);
    EXPECT_EQ(a->next.get(), nullptr);
    a->next = b;
    EXPECT_TRUE(a->next);
    EXPECT_EQ(a->next.get(), b);
    EXPECT_EQ(a->next.offset(), second);
    u64 bytes = 0;
    std::memcpy(&bytes, static_cast<const void*>(&a->next), sizeof bytes);
    EXPECT_EQ(bytes, second) << "what lies on the medium is the offset and nothing else";
    a->next = nullptr;
    EXPECT_EQ(a->next.offset(), 0U);
}

TEST_F(two_regions, bytes_that_were_copied_to_another_region_point_into_that) {
    link* const a = at(*one, first);
    a->next = at(*one, second);
    link* const copy = at(*other, first);
    std::memcpy(static_cast<void*>(copy), static_cast<const void*>(a), sizeof *a);
    EXPECT_EQ(copy->next.get(), reinterpret_cast<link*>(other->base() + second));
}

TEST_F(two_regions, a_copied_pointer_names_the_same_object) {
    link* const a = at(*one, first);
    link* const b = at(*one, second);
    a->next = a;
    b->next = a->next;
    EXPECT_EQ(b->next.get(), a);
    EXPECT_TRUE(b->next == a->next);
    EXPECT_TRUE(b->next == a);
    EXPECT_FALSE(b->next == b);
}

TEST_F(two_regions, the_last_byte_of_the_window_can_be_pointed_to) {
    auto* const p = new (one->base() + first) offset_pointer<std::byte>;
    *p = one->base() + window_mask;
    EXPECT_EQ(p->get(), one->base() + window_mask);
}

using two_regions_death_test = two_regions;

TEST_F(two_regions_death_test, a_pointer_out_of_its_region_ends_the_process) {
    link* const a = at(*one, first);
    EXPECT_DEATH(a->next = at(*other, first), "from one region into another");
    link ordinary;
    EXPECT_DEATH(a->next = &ordinary, "outside of all regions");
    EXPECT_DEATH(ordinary.next = a, "outside of the region that it points into");
}

}  // namespace
}  // namespace hf
