// Descriptions of types: in the heap, and against a program's that has changed.
#include "heap/type_table.hpp"
#include "heap_of_nodes.hpp"

namespace hf::test {
namespace {

namespace old_program {
struct account {
    static constexpr std::string_view nv_name = "account";
    nv::p<u32> owner;
    nv::p<u64> cents;
    nv::ptr<account> next;
};
}  // namespace old_program
namespace renamed {
struct account {
    static constexpr std::string_view nv_name = "account";
    nv::p<u32> owner;
    nv::p<u64> euros;
    nv::ptr<account> next;
};
}  // namespace renamed
namespace wider {
struct account {
    static constexpr std::string_view nv_name = "account";
    nv::p<u32> owner;
    nv::p<std::int64_t> cents;
    nv::ptr<account> next;
};
}  // namespace wider
namespace longer {
struct account {
    static constexpr std::string_view nv_name = "account";
    nv::p<u32> owner;
    nv::p<u64> cents;
    nv::ptr<account> next;
    nv::p<u8> kind;
};
}  // namespace longer
struct bank {
    static constexpr std::string_view nv_name = "bank";
    nv::ptr<old_program::account> first;
};
struct new_bank {
    static constexpr std::string_view nv_name = "bank";
    nv::ptr<longer::account> first;
};

class persistent_types : public on_tmpfs {
   protected:
    template <class T>
    [[nodiscard]] error refused(const char* root = "accounts") {
        auto heap = open_heap(file);
        const auto r = heap.root<T>(root);
        EXPECT_FALSE(r);
        return r ? error{} : r.error();
    }
};

TEST_F(persistent_types, another_layout_is_refused_by_type_and_member) {
    {
        auto heap = open_heap(file);
        (void)must(heap.root<old_program::account>("accounts"));
        (void)must(heap.root<bank>("bank"));
    }
    const error a = refused<renamed::account>();
    EXPECT_EQ(a.code, errc::incompatible);
    EXPECT_NE(a.to_string().find("member cents"), std::string::npos) << a.to_string();
    EXPECT_NE(a.to_string().find("account"), std::string::npos);
    EXPECT_NE(refused<wider::account>().to_string().find("member cents is of type"),
              std::string::npos);
    EXPECT_NE(refused<longer::account>().to_string().find("member kind"), std::string::npos);
    EXPECT_NE(refused<new_bank>("bank").to_string().find("member kind"), std::string::npos)
        << "types that pointers lead to are compared, too";
    EXPECT_NE(refused<node>().to_string().find("of type account, not node"), std::string::npos);
}

TEST_F(persistent_types, another_brand_is_refused) {
    struct other;
    {
        auto heap = open_heap(file);
    }
    const auto heap = nv::heap<other>::open(file, small_heap());
    ASSERT_FALSE(heap);
    EXPECT_EQ(heap.error().code, errc::incompatible);
}

class closed_class {
    nv::p<u16> a_;
    nv::array<nv::ptr<node>, 3> b_;

   public:
    static constexpr std::string_view nv_name = "closed";
    static constexpr auto nv_members = std::tuple{&closed_class::a_, &closed_class::b_};
};
struct outer {
    nv::p<u8> first;
    closed_class within;
    nv::array<node, 2> two;
};

TEST_F(persistent_types, members_are_described_by_name_and_place) {
    const nv::detail::type_info& info = nv::detail::info_of<outer>();
    std::vector<std::string> names;
    std::vector<u32> offsets;
    for (const auto& m : info.members) {
        names.push_back(m.name);
        offsets.push_back(m.offset);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"first", "within.a_", "within.b_", "two.value",
                                               "two.next"}));
    EXPECT_EQ(offsets, (std::vector<u32>{0, 8, 16, 40, 48}));
    EXPECT_EQ(info.members[2].count, 3U);
    EXPECT_EQ(info.members[4].count, 2U);
    EXPECT_EQ(info.members[4].stride, 16U);
    const auto packed = nv::pack_type(info);
    auto again = packed;
    reinterpret_cast<nv::type_block*>(again.data())->number = 3;
    const auto type = must(nv::unpack_type(again.data(), again.size()));
    EXPECT_EQ(nv::difference(*type, info), "");
    EXPECT_EQ(type->pointers_each, 5U);
}

TEST_F(persistent_types, names_are_the_same_for_both_compilers) {
    EXPECT_EQ(nv::detail::common_name("std::pair<int, ptr<X> >"),
              nv::detail::common_name("std::pair<int, ptr<X>>"));
    EXPECT_EQ(nv::detail::common_name("a<4ul, {anonymous}::b>"),
              nv::detail::common_name("a<4, (anonymous namespace)::b>"));
    EXPECT_EQ(nv::detail::common_name("ptr<const char *>"),
              nv::detail::common_name("ptr<const char*>"));
    // As g++ 12 and clang 19 print them.
    const std::pair<const char*, const char*> printed[] = {
        {"long unsigned int", "unsigned long"},
        {"long long int", "long long"},
        {"long int", "long"},
        {"short unsigned int", "unsigned short"},
        {"short int", "short"},
        {"unsigned int", "unsigned int"},
        {"__int128 unsigned", "unsigned __int128"},
        {"__int128", "__int128"},
        {"unsigned char", "unsigned char"},
        {"signed char", "signed char"},
        {"long double", "long double"},
        {"gbox<long int>::in", "gbox<long>::in"},
        {"pair<short int, long unsigned int*>", "pair<short, unsigned long *>"},
        {"val<3>", "val<3UL>"},
        {"longing<print_int>", "longing<print_int>"},
    };
    for (const auto& [gcc, clang] : printed) {
        const std::string common = nv::detail::common_name(gcc);
        EXPECT_EQ(common, nv::detail::common_name(clang));
        EXPECT_EQ(common, nv::detail::common_name(common));
    }
    EXPECT_EQ(nv::detail::common_name("unsigned long"), "long unsigned int");
    EXPECT_EQ(nv::detail::name_of<std::uint64_t>(), "long unsigned int");
}

TEST_F(persistent_types, local_types_of_different_lambdas_and_functions_have_different_names) {
    const auto first = [] {
        struct local {
            nv::p<int> a;
        };
        return nv::detail::name_of<local>();
    };
    const auto second = [] {
        struct local {
            nv::p<long> b;
        };
        return nv::detail::name_of<local>();
    };
    struct local {
        nv::p<char> c;
    };
    const std::set<std::string> names{first(), second(), nv::detail::name_of<local>()};
    EXPECT_EQ(names.size(), 3U);
    for (const std::string& name : names) EXPECT_TRUE(name.ends_with("::local")) << name;
}

// Counts its deaths in another object of the heap.
struct tally {
    static constexpr std::string_view nv_name = "tally";
    nv::p<int> deaths;
};
class mortal {
   public:
    static constexpr std::string_view nv_name = "mortal";
    nv::ptr<tally> to;
    nv::ptr<mortal> next;
    static constexpr auto nv_members = std::tuple{&mortal::to, &mortal::next};
    void nv_destroy(nv::tx<>& tx) { to->deaths.set(tx, to->deaths + 1); }
};

TEST_F(persistent_types, a_destructor_runs_once_for_each_object) {
    auto heap = open_heap(file);
    auto t = must(heap.root<tally>("tally"));
    auto m = must(heap.root<mortal>("mortals"));
    must(heap.atomic([&](nv::tx<>& tx) { t.set(tx, tx.make<tally>(0)); }));
    for (int i = 0; i < 3'000; ++i) {
        must(heap.atomic([&](nv::tx<>& tx) {
            auto one = tx.make<mortal>();
            one->to.set(tx, t.get());
            one->next.set(tx, m.get());
            m.set(tx, one);
        }));
    }
    must(heap.atomic([&](nv::tx<>& tx) { m.set(tx, nullptr); }));
    EXPECT_EQ(must(heap.read([&](nv::tx<>&) { return int{t->deaths}; })), 3'000);
    EXPECT_EQ(sound(heap).objects, 1U);
}

}  // namespace
}  // namespace hf::test
