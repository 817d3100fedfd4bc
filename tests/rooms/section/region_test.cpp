// Regions by name, their roots, and what a crash leaves of them.
#include "section/opened_group.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace hf {
namespace {

using test::in_child;
using test::store;

class section_regions : public test::groups {};

struct pair_of_words {
    u64 first;
    u64 second;
};

pair_of_words* pair_in(const char* region) {
    hf_region* const r = hf_region_open(region);
    auto* p = static_cast<pair_of_words*>(hf_root_get(r, "pair"));
    if (p == nullptr) {
        hf_section_begin();
        p = static_cast<pair_of_words*>(hf_zeroed(r, 1, sizeof *p));
        EXPECT_EQ(hf_root_set(r, "pair", p), 0);
        hf_section_end();
    }
    return p;
}

TEST_P(section_regions, a_root_and_its_pointers_survive_an_orderly_close) {
    open();
    EXPECT_EQ(hf_group_created(), 1);
    pair_of_words* const p = pair_in("one");
    store(p->first, reinterpret_cast<u64>(p));
    reopen();
    EXPECT_EQ(hf_group_created(), 0);
    EXPECT_EQ(hf_group_recovered(), 0);
    hf_region* const r = hf_region_find("one");
    ASSERT_NE(r, nullptr);
    EXPECT_STREQ(hf_region_name(r), "one");
    auto* const q = static_cast<pair_of_words*>(hf_root_get(r, "pair"));
    EXPECT_EQ(q, p) << "the region keeps its address";
    EXPECT_EQ(q->first, reinterpret_cast<u64>(p));
    EXPECT_EQ(hf_region_find("two"), nullptr);
}

// Stores to two regions in one section, killed at any moment: both or neither.
TEST_P(section_regions, a_killed_process_comes_back_at_its_last_cut) {
    const int ended = in_child([this] {
        open();
        pair_of_words* const a = pair_in("a");
        pair_of_words* const b = pair_in("b");
        for (u64 i = 1; i <= 5; ++i) {
            hf_section_begin();
            store(a->first, i);
            store(b->first, i);
            hf_section_end();
            if (i == 3 && hf_wait_stable() != 0) return 1;
        }
        hf_section_begin();
        store(a->second, u64{9});
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    open();
    EXPECT_EQ(hf_group_recovered(), 1);
    // Without a cut, graph mode keeps what has ended.
    const u64 last = is_graph() ? 5 : 3;
    EXPECT_EQ(pair_in("a")->first, last);
    EXPECT_EQ(pair_in("b")->first, last);
    EXPECT_EQ(pair_in("a")->second, 0U);
}

TEST_P(section_regions, what_was_allocated_after_the_cut_is_free_again) {
    const int ended = in_child([this] {
        open();
        pair_in("a");
        if (hf_wait_stable() != 0) return 1;
        hf_region* const r = hf_region_open("late");
        for (int i = 0; i < 1000; ++i) {
            if (hf_alloc(r, 3000) == nullptr) return 2;
        }
        ::raise(SIGKILL);
        return 0;
    });
    ASSERT_EQ(ended, 1000 + SIGKILL);
    open();
    EXPECT_EQ(hf_region_find("late") != nullptr, is_graph());
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_LE(n.allocated_bytes, 64U);
}

TEST_P(section_regions, memory_that_no_root_reaches_is_reclaimed_at_the_opening) {
    open();
    hf_region* const r = hf_region_open("list");
    struct node {
        node* next;
        char payload[1000];
    };
    node* head = nullptr;
    for (int i = 0; i < 100; ++i) {
        auto* const n = static_cast<node*>(hf_alloc(r, sizeof(node)));
        store(n->next, head);
        head = n;
        ASSERT_NE(hf_alloc(r, 5000), nullptr) << "lost at once";
    }
    auto* const inner = head;
    hf_root_set(r, "head", reinterpret_cast<char*>(head) + 8);  // an interior pointer
    reopen();
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_EQ(n.reclaimed_bytes, 100U * hf_usable_size(hf_alloc(hf_region_open("list"), 5000)));
    int length = 0;
    for (node* at = inner; at != nullptr; at = at->next) ++length;
    EXPECT_EQ(length, 100);
}

TEST_P(section_regions, a_region_that_is_removed_frees_its_memory_and_its_name) {
    open();
    hf_region* const r = hf_region_open("gone");
    ASSERT_NE(hf_alloc(r, 100'000), nullptr);
    ASSERT_NE(hf_alloc(r, 10), nullptr);
    EXPECT_EQ(hf_region_remove(r), 0);
    EXPECT_EQ(hf_region_find("gone"), nullptr);
    hf_section_numbers n{};
    hf_section_numbers_get(&n);
    EXPECT_EQ(n.allocated_bytes, 0U);
}

TEST_P(section_regions, an_address_outside_of_the_group_is_no_root) {
    open();
    int outside = 0;
    EXPECT_NE(hf_root_set(hf_region_open("r"), "root", &outside), 0);
    EXPECT_NE(std::string(hf_section_error()).find("outside of the group"), std::string::npos);
}

TEST_P(section_regions, another_programs_group_is_refused) {
    auto o = options();
    o.program = "bank";
    open(o);
    ASSERT_EQ(hf_group_close(), 0);
    o.program = "shop";
    EXPECT_NE(hf_group_open(file.c_str(), &o), 0);
    EXPECT_NE(std::string(hf_section_error()).find("bank"), std::string::npos);
}

TEST_P(section_regions, a_second_group_and_a_second_process_are_refused) {
    open();
    const std::string other = (dir / "other.hf").string();
    EXPECT_NE(hf_group_open(other.c_str(), nullptr), 0);
    EXPECT_NE(std::string(hf_section_error()).find("one group"), std::string::npos);
}

TEST_P(section_regions, waiting_for_stability_inside_a_section_is_an_error) {
    open();
    hf_section_begin();
    EXPECT_NE(hf_wait_stable(), 0);
    EXPECT_NE(hf_section_cut(), 0);
    hf_section_end();
    EXPECT_EQ(hf_wait_stable(), 0) << hf_section_error();
}

INSTANTIATE_TEST_SUITE_P(stores, section_regions, test::all_ways(), test::name_of);

}  // namespace
}  // namespace hf
