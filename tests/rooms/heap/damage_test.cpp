// The results of check() and open() for a damaged heap.
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>

#include "heap/core.hpp"
#include "heap/look.hpp"
#include "heap/testing.hpp"
#include "heap_of_nodes.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace hf::test {
namespace {

/// A word of the closed file.
class patched : public on_tmpfs {
   protected:
    void write(u64 at, u64 value) { patch(file, at, &value, sizeof value); }
    [[nodiscard]] u64 read(u64 at) const {
        u64 value = 0;
        std::memcpy(&value, read_file(file).data() + at, sizeof value);
        return value;
    }
};

class damaged_heap : public patched {
   protected:
    /// Three nodes in a list; gives the offsets in the file of the first two.
    void SetUp() override {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        must(heap.atomic([&](nv::tx<>& tx) {
            head.set(tx, tx.make<node>(3, tx.make<node>(2, tx.make<node>(1))));
        }));
        must(heap.read([&](nv::tx<>&) {
            auto& core = nv::heap_testing::inner(heap);
            first = core.file().offset_of(head.get().address());
            second = core.file().offset_of(head->next.get().address());
            control = core.file().offset_of(&core.control());
        }));
        must(heap.close());
    }
    [[nodiscard]] std::string told() {
        const auto heap = nv::heap<>::open(file, small_heap());
        if (!heap) return heap.error().to_string();
        const auto report = heap->check();
        if (!report) return report.error().to_string();
        std::string all;
        for (const std::string& v : report->violations) all += v + '\n';
        return all;
    }
    void expect(const std::string& text) {
        const std::string found = told();
        EXPECT_NE(found.find(text), std::string::npos) << found;
    }
    /// As told(), for a check of the file without opening the heap.
    [[nodiscard]] std::string seen() const {
        const auto look = nv::heap_look::open(file);
        if (!look) return look.error().to_string();
        const auto facts = look->read();
        if (!facts) return facts.error().to_string();
        std::string all;
        for (const std::string& v : facts->report.violations) all += v + '\n';
        return all;
    }
    u64 first = 0;
    u64 second = 0;
    u64 control = 0;
};

struct shelf {
    static constexpr std::string_view nv_name = "shelf";
    nv::unordered_map<u64, nv::p<u64>> table;
    nv::map<u64, nv::p<u64>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
};

/// Containers whose bytes in the file were damaged: a query returns the error.
class damaged_containers : public patched {
   protected:
    void SetUp() override {
        auto heap = open_heap(file);
        auto all = must(heap.root<shelf>("shelf"));
        must(heap.atomic([&](nv::tx<>& tx) {
            all.set(tx, tx.make<shelf>());
            for (u64 i = 0; i < 300; ++i) {
                all->table.insert_or_assign(tx, i, i);
                all->tree.insert_or_assign(tx, i, i);
                all->red_black.insert_or_assign(tx, i, i);
            }
        }));
        must(heap.read([&](nv::tx<>&) {
            auto& core = nv::heap_testing::inner(heap);
            const auto place = [&](const void* p) { return core.file().offset_of(p); };
            table = place(std::addressof(all->table));
            tree = place(std::addressof(all->tree));
            node = place(all->red_black.find(7).address());
            root = place(std::addressof(all->red_black));
        }));
        must(heap.close());
    }
    /// The result of a search in one of them that finds no damage in the others.
    template <class F>
    void expect_found_out(F&& search, std::string_view text) {
        auto heap = open_heap(file);
        auto all = must(heap.root<shelf>("shelf"));
        const auto found = heap.read([&](nv::tx<>&) { search(*all.get()); });
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().code, errc::corrupt);
        EXPECT_NE(found.error().to_string().find(text), std::string::npos)
            << found.error().to_string();
    }
    u64 table = 0, tree = 0, node = 0, root = 0;
};

TEST_F(damaged_containers, a_chain_that_leads_round_in_a_circle) {
    const u64 first = read(table) + 16 + 32;  // bucket, after its length and four pointers
    write(first + 8, first);                  // as if the bucket were its own spill
    expect_found_out(
        [](const shelf& s) {
            for (u64 i = 0; i < 100'000; ++i) static_cast<void>(s.table.find(1'000 + i));
        },
        "leads round in a circle");
    expect_found_out([](const shelf& s) { s.table.for_each([](u64, const auto&) {}); },
                     "leads round in a circle");
}

TEST_F(damaged_containers, a_table_without_buckets) {
    write(read(table), 0);
    expect_found_out([](const shelf& s) { static_cast<void>(s.table.find(7)); }, "no buckets");
}

TEST_F(damaged_containers, a_map_that_is_deeper_than_any_can_be) {
    const u64 levels = tree + 24;
    ASSERT_EQ(read(levels) & 0xffffffff, 2U);
    write(levels, 1'000'000);
    expect_found_out([](const shelf& s) { static_cast<void>(s.tree.find(7)); }, "deeper than any");
}

TEST_F(damaged_containers, a_red_black_tree_that_leads_round_in_a_circle) {
    for (const u64 side : {16U, 24U}) write(node + side, read(root));
    expect_found_out(
        [](const shelf& s) {
            static_cast<void>(s.red_black.find(6));
            static_cast<void>(s.red_black.find(8));
        },
        "deeper than any");
    expect_found_out([](const shelf& s) { s.red_black.for_each([](u64, const auto&) {}); },
                     "deeper than any");
}

TEST_F(damaged_heap, a_whole_one_is_told_so) { EXPECT_EQ(told(), ""); }

TEST_F(damaged_heap, a_wrong_count_is_told) {
    write(first - 16, nv::state_word{2, nv::first_type, 0}.pack());
    expect("the count is 2, but 1 pointers lead here");
}
TEST_F(damaged_heap, a_pointer_into_nothing_is_told) {
    write(first + 8, second + 16);
    expect("where no object lives");
}
TEST_F(damaged_heap, an_unknown_type_is_told) {
    write(second - 16, nv::state_word{1, 77, 0}.pack());
    expect("type is not described");
}
TEST_F(damaged_heap, a_lost_object_is_told) {
    write(second - 16, nv::state_word{0, nv::first_type, 0}.pack());
    write(first + 8, 0);
    expect("neither an orphan nor doomed");
}
// Each by a word of the file, which is as it was afterwards.
TEST_F(damaged_heap, every_kind_of_damage_has_words_of_its_own) {
    const auto in_control = [&](std::size_t at) { return control + at; };
    const u64 types = read(in_control(offsetof(nv::control_block, types)));
    const u64 root = read(in_control(offsetof(nv::control_block, roots)));
    const auto state = [](u32 count, u16 type, u16 flags) {
        return nv::state_word{count, type, flags}.pack();
    };
    using word = nv::state_word;
    const u64 slot = root + offsetof(nv::root_block, target);
    const u64 of_first = first - nv::header_bytes;
    const u64 of_second = second - nv::header_bytes;
    struct damage {
        u64 at;
        u64 value;
        const char* told;
    };
    const damage all[] = {
        {types + offsetof(nv::type_block, next), types, "leads here a second time"},
        {in_control(offsetof(nv::control_block, types)), types + 8, "their list is damaged"},
        {in_control(offsetof(nv::control_block, roots)), 8, "the list of roots is damaged"},
        {in_control(offsetof(nv::control_block, roots)), control, "the list of roots is damaged"},
        {in_control(offsetof(nv::control_block, orphans)), 24, "the list of orphans is damaged"},
        {in_control(offsetof(nv::control_block, roots)), 0, "heap that is on no list"},
        {root + offsetof(nv::root_block, next), root, "the list of roots is damaged"},
        {root + offsetof(nv::root_block, name_bytes), u64{1} << 40, "name is longer than its"},
        {root + offsetof(nv::root_block, name_bytes), 100, "name is longer than its"},
        {root + offsetof(nv::root_block, type), 77, "a root's type is not described"},
        {slot, second + 16, "a root leads to offset"},
        {slot, second, "but 2 pointers lead here"},
        {slot, 0, "but 0 pointers lead here"},
        {of_second, state(1, nv::first_type, 0x8000), "it has unknown flags"},
        {of_second, state(1, nv::first_type, word::orphan), "an orphan or doomed, and is not"},
        {of_second, state(1, nv::first_type, word::doomed), "an orphan or doomed, and is not"},
        {of_second, state(1, nv::first_type, word::proxied), "as its proxy does not stand for it"},
        {of_second, state(1, nv::first_type, word::moved), "an upgrade has converted it"},
        {of_second, state(1, nv::first_type, word::array), "is half an array"},
        {of_second, state(1, nv::proxy_type, 0), "a pointer leads to a proxy"},
        {of_second, state(1, nv::system_type, 0), "heap that is on no list"},
        {of_second, 0, "memory of what has died was not given back"},
        {of_second, 0, "where no object lives"},
        {of_first, state(0, nv::first_type, 0), "the count is 0, but 1 pointers lead here"},
        {in_control(offsetof(nv::control_block, doomed)), second, "is listed as doomed"},
        {in_control(offsetof(nv::control_block, waiting)), second, "is listed as doomed"},
    };
    for (const damage& d : all) {
        const u64 whole = read(d.at);
        write(d.at, d.value);
        const auto found = seen();
        EXPECT_NE(found.find(d.told), std::string::npos) << d.told << ":\n" << found;
        write(d.at, whole);
        ASSERT_EQ(seen(), "");
    }
}

struct wide {
    static constexpr std::string_view nv_name = "wide";
    nv::p<u64> number;
    nv::weak<node> seen;
    nv::p<u64> a, b, c, d, e, f;  // more than a node has
};

// Damage that one word alone cannot be.
TEST_F(patched, what_several_words_agree_in_is_told_all_the_same) {
    u64 target = 0;
    u64 other = 0;
    u64 large = 0;
    {
        auto heap = open_heap(file);
        auto head = must(heap.root<node>("head"));
        auto held = must(heap.root<wide>("wide"));
        must(heap.atomic([&](nv::tx<>& tx) {
            head.set(tx, tx.make<node>(2, tx.make<node>(1)));
            held.set(tx, tx.make<wide>());
            held->seen.set(tx, head.get());
        }));
        must(heap.read([&](nv::tx<>&) {
            const region& r = nv::heap_testing::inner(heap).file();
            target = r.offset_of(head.get().address());
            other = r.offset_of(head->next.get().address());
            large = r.offset_of(held.get().address());
        }));
        must(heap.close());
    }
    const auto seen = [&] {
        std::string all;
        const auto look = must(nv::heap_look::open(file));
        for (const std::string& v : must(look.read()).report.violations) all += v + '\n';
        return all;
    };
    const auto header_of = [](u64 object) { return object - nv::header_bytes; };
    const auto second_of = [](u64 object) { return object - nv::header_bytes + 8; };
    const u16 type = nv::state_word::unpack(read(header_of(target))).type;
    const auto state = [&](u16 flags) { return nv::state_word{1, type, flags}.pack(); };
    const u64 proxy = read(second_of(target));
    struct damage {
        std::vector<std::pair<u64, u64>> words;
        const char* told;
    };
    const damage all[] = {
        {{{header_of(large), state(0)}}, "an object does not fit its block"},
        {{{header_of(other), state(nv::state_word::moved)}, {second_of(other), proxy}},
         "an upgrade has converted it"},
        {{{header_of(other), state(nv::state_word::proxied)},
          {second_of(other), large},
          {large, other}},
         "has as its proxy does not stand for it"},
    };
    ASSERT_EQ(seen(), "");
    for (const damage& d : all) {
        std::vector<std::pair<u64, u64>> whole;
        for (const auto& [at, value] : d.words) {
            whole.emplace_back(at, read(at));
            write(at, value);
        }
        const auto found = seen();
        EXPECT_NE(found.find(d.told), std::string::npos) << d.told << ":\n" << found;
        for (const auto& [at, value] : whole) write(at, value);
    }
    EXPECT_EQ(seen(), "");
}

TEST_F(damaged_heap, a_damaged_control_block_is_refused) {
    write(control + 16, 1);
    expect("control block is damaged");
}
TEST_F(damaged_heap, a_damaged_list_of_types_is_refused) {
    write(control + offsetof(nv::control_block, types), 48);
    EXPECT_NE(told(), "");
    write(control + offsetof(nv::control_block, types), u64{1} << 60);
    EXPECT_NE(told(), "");
}

}  // namespace
}  // namespace hf::test
