// The C++ face: containers, roots, refusals, a mutex that lies in a region.
#include <holdfast/section.hpp>

#include "section/opened_group.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace hf {
namespace {

template <class T>
using alloc = section::allocator<T>;
using text = std::basic_string<char, std::char_traits<char>, alloc<char>>;
using entry = std::pair<const text, std::vector<int, alloc<int>>>;
using book = std::map<text, std::vector<int, alloc<int>>, std::less<>, alloc<entry>>;

class section_cpp : public test::on_tmpfs {
   protected:
    void open() const {
        auto o = test::by_hand(HF_STORES_TRACKED);  // nothing of the library is compiled with hooks
        ASSERT_TRUE(section::open_group(file.string(), o)) << hf_section_error();
    }
    void TearDown() override { static_cast<void>(hf_group_close()); }
};

TEST_F(section_cpp, standard_containers_live_in_a_region) {
    for (int start = 0; start < 3; ++start) {
        open();
        const auto r = *section::region_named("book");
        book& b = r.root<book>("book", r.allocator_for<entry>());
        EXPECT_EQ(b.size(), 200U * static_cast<unsigned>(start));
        {
            const section::guard inside;
            for (int i = 0; i < 200; ++i) {
                const std::string name = "entry with a name that is long " + std::to_string(i) +
                                         "/" + std::to_string(start);
                std::vector<int, alloc<int>> numbers(r.allocator_for<int>());
                numbers.assign(static_cast<std::size_t>(i), start);
                b.emplace(text(name, r.allocator_for<char>()), std::move(numbers));
            }
        }
        ASSERT_TRUE(section::close_group()) << hf_section_error();
    }
    open();
    const auto r = *section::region_named("book");
    const book& b = r.root<book>("book", r.allocator_for<entry>());
    const auto found = b.find("entry with a name that is long 123/1");
    ASSERT_NE(found, b.end());
    EXPECT_EQ(found->second.size(), 123U);
    EXPECT_EQ(found->second.back(), 1);
}

TEST_F(section_cpp, an_unordered_map_and_a_list_live_in_a_region) {
    using numbers = std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                                       alloc<std::pair<const int, int>>>;
    using line = std::list<int, alloc<int>>;
    open();
    {
        const auto r = *section::region_named("r");
        auto& n = r.root<numbers>("numbers", r.allocator_for<std::pair<const int, int>>());
        auto& l = r.root<line>("line", r.allocator_for<int>());
        const section::guard inside;
        for (int i = 0; i < 1000; ++i) {
            n[i] = -i;
            l.push_back(i);
        }
    }
    ASSERT_TRUE(section::close_group());
    open();
    const auto r = *section::region_named("r");
    auto& n = r.root<numbers>("numbers", r.allocator_for<std::pair<const int, int>>());
    EXPECT_EQ(n.at(999), -999);
    EXPECT_EQ(r.root<line>("line", r.allocator_for<int>()).size(), 1000U);
}

TEST_F(section_cpp, a_pmr_resource_takes_memory_of_the_region) {
    open();
    section::resource memory(section::region_named("r")->handle());
    hf_section_numbers before{};
    hf_section_numbers_get(&before);
    {
        std::pmr::vector<int> v(&memory);
        v.resize(1000);
        hf_section_numbers during{};
        hf_section_numbers_get(&during);
        EXPECT_GT(during.allocated_bytes, before.allocated_bytes);
    }
    hf_section_numbers after{};
    hf_section_numbers_get(&after);
    EXPECT_EQ(after.allocated_bytes, before.allocated_bytes);
}

struct with_virtual {
    virtual ~with_virtual() = default;
};
static_assert(!section::storable<with_virtual>);
static_assert(!section::storable<std::pmr::vector<int>>);
static_assert(section::storable<book> && section::storable<int>);

struct guarded {
    section::mutex lock;
    int value = 0;
};

// The image of a locked mutex is what a crash can leave of its word.
TEST_F(section_cpp, a_mutex_in_a_region_is_unlocked_in_the_next_process) {
    const int ended = test::in_child([this] {
        open();
        auto& g = section::region_named("r")->root<guarded>("g");
        g.lock.lock();
        g.value = 1;
        g.lock.unlock();
        // Its word is captured locked: the lock makes no section of its own here.
        g.lock.lock();
        return hf_wait_stable() == 0 ? 0 : 1;
    });
    ASSERT_EQ(ended, 0);
    open();
    auto& g = section::region_named("r")->root<guarded>("g");
    EXPECT_EQ(g.value, 1);
    EXPECT_TRUE(g.lock.try_lock());
    g.lock.unlock();
}

}  // namespace
}  // namespace hf
