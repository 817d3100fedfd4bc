// Objects of an old layout become ones of a new one, also where that is cut short.
#include <holdfast/nv/vector.hpp>

#include "heap/core.hpp"
#include "heap/testing.hpp"
#include "heap_of_nodes.hpp"
#include "persist/persist_point.hpp"
#include "support/sync_points.hpp"

#include <unistd.h>

namespace hf::test {
namespace {

namespace first {
struct person {
    static constexpr std::string_view nv_name = "person";
    nv::p<int> age;
    nv::ptr<person> next;
    nv::weak<person> friend_of;
    nv::string name;
};
}  // namespace first
namespace second {
struct person {
    static constexpr std::string_view nv_name = "person";
    nv::string name;
    nv::p<long> born;
    nv::array<nv::p<long>, 20> marks;
    nv::weak<person> friend_of;
    nv::ptr<person> next;
};
}  // namespace second
namespace third {
struct person {
    static constexpr std::string_view nv_name = "person";
    nv::p<double> nothing;
};
}  // namespace third
/// Does not change, and leads to what does.
template <class P>
struct index_of {
    static constexpr std::string_view nv_name = "index";
    nv::vector<nv::ptr<P>> all;
};

void convert(nv::tx<>& tx, first::person& from, second::person& to) {
    to.name.assign(tx, from.name.str());
    to.born.set(tx, 2000 - from.age);
    to.next.set(tx, nv::upgraded<second::person>(from.next));
    to.friend_of.set(tx, nv::upgraded<second::person>(from.friend_of));
}

class upgrade : public on_tmpfs {
   protected:
    static constexpr int people = 150;

    void SetUp() override {
        auto heap = open_heap(file);
        auto head = must(heap.root<first::person>("head"));
        auto index = must(heap.root<index_of<first::person>>("index"));
        must(heap.atomic([&](nv::tx<>& tx) {
            auto i = tx.make<index_of<first::person>>();
            index.set(tx, i);
            for (int age = 0; age < people; ++age) {
                auto p = tx.make<first::person>(age, head.get());
                p->name.assign(tx, std::to_string(age));
                if (head) p->friend_of.set(tx, head.get());
                head.set(tx, p);
                i->all.push_back(tx, p);
            }
        }));
        sound(heap);
        must(heap.close());
    }
    [[nodiscard]] static auto run(nv::heap<>& heap) {
        return heap.upgrade<first::person, second::person>(convert);
    }
    static void expect_upgraded(nv::heap<>& heap) {
        auto head = must(heap.root<second::person>("head"));
        auto index = must(heap.root<index_of<second::person>>("index"));
        must(heap.read([&](nv::tx<>&) {
            long age = people;
            for (auto p = head.get(); p; p = p->next) {
                --age;
                EXPECT_EQ(p->born, 2000 - age);
                EXPECT_EQ(p->name.str(), std::to_string(age));
                EXPECT_TRUE(index->all[static_cast<std::size_t>(age)].get() == p);
                EXPECT_TRUE(p->friend_of.get() == p->next.get());
            }
            EXPECT_EQ(age, 0);
        }));
        const auto report = sound(heap);
        EXPECT_EQ(report.unreachable, 0U);
        // People, their names and proxies, the index and its array; the first has no proxy.
        EXPECT_EQ(report.objects, 3U * people - 1 + 2);
    }
};

TEST_F(upgrade, converts_all_objects_and_what_leads_to_them) {
    auto heap = open_heap(file);
    EXPECT_EQ(must(run(heap)), u64{people});
    EXPECT_EQ(must(run(heap)), 0U) << "it is done once";
    expect_upgraded(heap);
    must(heap.close());
    auto again = open_heap(file);
    EXPECT_EQ(must(run(again)), 0U);
    expect_upgraded(again);
    EXPECT_FALSE(again.root<first::person>("head")) << "the old layout is refused from now on";
}

TEST_F(upgrade, without_one_the_new_layout_is_refused_by_type_and_member) {
    auto heap = open_heap(file);
    const auto root = heap.root<second::person>("head");
    ASSERT_FALSE(root);
    EXPECT_EQ(root.error().code, errc::incompatible);
    EXPECT_NE(root.error().to_string().find("person"), std::string::npos);
    EXPECT_NE(root.error().to_string().find("member age"), std::string::npos)
        << root.error().to_string();
}

TEST_F(upgrade, from_what_the_heap_does_not_have_changes_nothing) {
    auto heap = open_heap(file);
    const auto nothing = [](nv::tx<>&, third::person&, second::person&) {};
    EXPECT_EQ(must(heap.upgrade<third::person, second::person>(nothing)), 0U);
    const auto other = heap.upgrade<first::person, node>([](nv::tx<>&, first::person&, node&) {});
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, errc::usage);
    must(heap.root<first::person>("head"));
    sound(heap);
}

TEST_F(upgrade, is_a_chain_of_steps_of_which_each_is_done_once) {
    const auto last = [](nv::tx<>& tx, second::person& from, third::person& to) {
        to.nothing.set(tx, static_cast<double>(from.born));
    };
    for (const u64 converted : {u64{people}, u64{0}}) {
        auto heap = open_heap(file);
        EXPECT_EQ(must(run(heap)), converted);
        // No pointer leads to the others any more: their own pointers are dropped.
        EXPECT_EQ((must(heap.upgrade<second::person, third::person>(last))), converted);
        auto head = must(heap.root<third::person>("head"));
        must(heap.read([&](nv::tx<>&) { EXPECT_EQ(head->nothing, 2000 - (people - 1)); }));
        sound(heap);
        must(heap.close());
    }
}

TEST_F(upgrade, of_a_heap_that_never_had_the_type_is_nothing_to_do) {
    std::filesystem::remove(file);
    auto heap = open_heap(file);
    EXPECT_EQ(must(run(heap)), 0U);
    must(heap.root<second::person>("head"));
}

TEST_F(upgrade, is_refused_while_references_are_held) {
    auto heap = open_heap(file);
    auto head = must(heap.root<first::person>("head"));
    nv::ref<first::person> kept;
    must(heap.read([&](nv::tx<>&) { kept = head.get(); }));
    const auto done = run(heap);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, errc::usage);
}

TEST_F(upgrade, that_ends_by_an_exception_goes_on_with_the_next_call) {
    auto heap = open_heap(file);
    int left = 100;
    EXPECT_THROW((void)(heap.upgrade<first::person, second::person>(
                     [&](nv::tx<>& tx, first::person& from, second::person& to) {
                         if (left-- == 0) throw 1;
                         convert(tx, from, to);
                     })),
                 int);
    sound(heap);
    const auto root = heap.root<second::person>("head");
    ASSERT_FALSE(root) << "half of it is of the old type";
    EXPECT_EQ(root.error().code, errc::incompatible);
    EXPECT_EQ(must(run(heap)), u64{people});
    expect_upgraded(heap);
}

namespace linked {
struct older {
    static constexpr std::string_view nv_name = "person";
    nv::p<int> age;
    nv::ptr<older> next;
    nv::ptr<older> other;
};
struct person {
    static constexpr std::string_view nv_name = "person";
    nv::p<int> age;
    nv::weak<person> previous;
    nv::weak<person> following;
    nv::ptr<person> next;
};
}  // namespace linked

// The converter makes the first weak pointers to objects: of those that have been converted already
// and of those that have not.
TEST_F(upgrade, weak_pointers_that_the_converter_makes_lead_to_new_objects) {
    using plain = linked::older;
    std::filesystem::remove(file);
    auto heap = open_heap(file);
    {
        auto head = must(heap.root<plain>("head"));
        must(heap.atomic([&](nv::tx<>& tx) {
            nv::cursor<plain> last;
            for (int age = 0; age < people; ++age) {
                auto p = tx.make<plain>(age);
                if (last) {
                    last->next.set(tx, p);
                    p->other.set(tx, last);
                } else {
                    head.set(tx, p);
                }
                last = p;
            }
        }));
    }
    EXPECT_EQ(
        must(heap.upgrade<plain, linked::person>([](nv::tx<>& tx, plain& from, linked::person& to) {
            to.age.set(tx, from.age);
            to.next.set(tx, nv::upgraded<linked::person>(from.next));
            to.following.set(tx, nv::upgraded<linked::person>(from.next));
            to.previous.set(tx, nv::upgraded<linked::person>(from.other));
        })),
        u64{people});
    auto head = must(heap.root<linked::person>("head"));
    must(heap.read([&](nv::tx<>&) {
        int age = 0;
        nv::cursor<linked::person> before;
        for (auto p = head.get(); p; p = p->next) {
            EXPECT_EQ(p->age, age);
            EXPECT_TRUE(p->previous.get() == before) << age;
            EXPECT_TRUE(p->following.get() == p->next.get()) << age;
            before = p;
            ++age;
        }
        EXPECT_EQ(age, people);
    }));
    EXPECT_EQ(sound(heap).objects, 2U * people) << "people and proxies";
    must(heap.atomic([&](nv::tx<>& tx) { head.set(tx, nullptr); }));
    EXPECT_EQ(sound(heap).objects, 0U);
}

int commits_before_kill = 0;
void end_after_commits(const char* name) {
    if (std::string_view(name).starts_with("transaction T1") && commits_before_kill-- == 0)
        _exit(0);
}

TEST_F(upgrade, that_a_kill_cuts_short_anywhere_goes_on_at_the_next_opening) {
    if (!sync_points::exist) GTEST_SKIP() << "without persist points";
    int kills = 0;
    for (bool ended = false; !ended; ++kills) {
        ASSERT_LT(kills, 100);
        const int code = in_child([&] {
            auto heap = open_heap(file);
            commits_before_kill = 2;
            set_persist_point_hook(end_after_commits);
            must(run(heap));
            set_persist_point_hook(nullptr);
            must(heap.close());
            return 1;
        });
        ended = code == 1;
        ASSERT_TRUE(ended || code == 0) << code;
        if (!ended) {
            auto heap = open_heap(file);
            sound(heap);
            nv::heap_testing::abandon(heap);
        }
    }
    EXPECT_GT(kills, 5);
    auto heap = open_heap(file);
    expect_upgraded(heap);
}

}  // namespace
}  // namespace hf::test
