// A program that uses a heap whose file was damaged: no fault, no abort, no endless wait. Each
// image is used in a process of its own, which reads, changes and drops everything, collects and
// closes.
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>
#include <holdfast/nv/vector.hpp>

#include "base/random.hpp"
#include "heap/testing.hpp"
#include "heap_of_nodes.hpp"
#include "support/effort.hpp"
#include "transaction/engine_kind.hpp"

#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hf::test {
namespace {

struct shelf {
    static constexpr std::string_view nv_name = "shelf";
    nv::ptr<shelf> next;
    nv::weak<shelf> back;
    nv::string text;
    nv::vector<nv::ptr<node>> nodes;
    nv::vector<nv::p<u64>> numbers;
    nv::ptr<nv::p<u64>[]> row;
    nv::map<u64, nv::ptr<node>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
    nv::unordered_map<u64, nv::ptr<node>> table;
    nv::unordered_map<u64, nv::array<nv::p<u64>, 3>> objects;
};

void fill(nv::tx<>& tx, shelf& s, u64 seed) {
    s.text.assign(tx, std::string(20 * (seed + 1), 'x'));
    s.row.set(tx, tx.make_array<nv::p<u64>[]>(10));
    for (u64 i = 0; i < 40; ++i) {
        s.nodes.push_back(tx, tx.make<node>(static_cast<int>(i)));
        s.numbers.push_back(tx, i);
        s.tree.insert_or_assign(tx, i, s.nodes[i].get());
        s.red_black.insert_or_assign(tx, i, i);
        s.table.insert_or_assign(tx, i, s.nodes[i].get());
        s.objects.try_emplace(tx, i).first->value[1].set(tx, i);
    }
}

[[nodiscard]] u64 read(const shelf& s) {
    u64 sum = s.text.str().size() + s.text.size();
    for (std::size_t i = 0; i < s.nodes.size() && i < 100; ++i) {
        if (const auto n = s.nodes[i].get()) sum += static_cast<u64>(n->value.get());
    }
    for (const auto& n : s.numbers) sum += n.get();
    if (s.row) {
        for (std::size_t i = 0; i < s.row.get().size(); ++i) sum += s.row.get()[i];
    }
    s.tree.for_each([&](u64 key, const auto& value) { sum += key + (value ? 1 : 0); });
    s.red_black.for_each([&](u64 key, const auto& value) { sum += key + value; });
    s.table.for_each([&](u64 key, const auto& value) { sum += key + (value ? 1 : 0); });
    s.objects.for_each([&](u64 key, const auto& value) { sum += key + value[1]; });
    if (const auto back = s.back.get()) sum += back->numbers.size();
    return sum;
}

void change(nv::tx<>& tx, shelf& s) {
    s.text.append(tx, "more of it");
    s.numbers.push_back(tx, 7);
    s.nodes.push_back(tx, tx.make<node>(9));
    for (u64 i = 0; i < 60; i += 3) {
        (void)s.tree.erase(tx, i);
        (void)s.red_black.erase(tx, i);
        (void)s.table.erase(tx, i);
        (void)s.objects.erase(tx, i);
        s.tree.insert_or_assign(tx, 100 + i, tx.make<node>(1));
        s.red_black.insert_or_assign(tx, 100 + i, 1);
        s.table.insert_or_assign(tx, 100 + i, tx.make<node>(1));
    }
}

nv::heap_options options(engine_kind engine) {
    nv::heap_options o = small_heap();
    o.engine = static_cast<nv::engine>(engine);
    o.region.initial_size = u64{1} << 20;
    o.region.max_size = u64{4} << 20;
    return o;
}

/// Heaps of each engine, closed or as a kill has left them.
class damaged_use : public on_tmpfs,
                    public ::testing::WithParamInterface<std::tuple<engine_kind, bool>> {
   protected:
    void SetUp() override {
        const auto [engine, is_closed] = GetParam();
        {
            auto heap = open_heap(file, options(engine));
            auto root = must(heap.root<shelf>("shelf"));
            for (u64 i = 0; i < 3; ++i) {
                must(heap.atomic([&](nv::tx<>& tx) {
                    auto made = tx.make<shelf>(root.get());
                    fill(tx, *made, i);
                    if (root) made->back.set(tx, root.get());
                    root.set(tx, made);
                }));
            }
            if (is_closed) {
                must(heap.close());
            } else {
                nv::heap_testing::abandon(heap);
            }
        }
        image = read_file(file);
        for (u64 at = layout::page_size; at + 8 <= image.size(); at += 8) {
            if (word(at) != 0) places.push_back(at);
        }
    }
    [[nodiscard]] u64 word(u64 at) const {
        u64 w = 0;
        std::memcpy(&w, image.data() + at, sizeof w);
        return w;
    }
    /// Half of the new words look like what was there: a bit, a neighbour, another word.
    [[nodiscard]] u64 damaged(u64 before, xoshiro256ss& random) const {
        switch (random() % 8) {
            case 0:
                return before ^ u64 { 1 } << random() % 64;
            case 1:
                return before + random() % 64;
            case 2:
                return word(places[random() % places.size()]);
            case 3:
                return random();
            case 4:
                return image.size() - 16 * (random() % 8);
            case 5:
                return before + (u64{1} << (20 + random() % 30));
            case 6:
                return before | (random() & 0xffff) << 48;
            default:
                return 16 * (random() % (image.size() / 8));
        }
    }
    /// The program's operations. Ends with the code of a success, or by a signal.
    [[nodiscard]] int use() const {
        ::alarm(20);
        auto heap = nv::heap<>::open(file, options(std::get<0>(GetParam())));
        if (!heap) return 0;
        (void)heap->check();
        auto root = heap->root<shelf>("shelf");
        if (!root) return 0;
        u64 sum = 0;
        for (int part = 0; part < 3; ++part) {
            const auto at = [&] {
                auto s = root->get();
                for (int i = 0; i < part && s; ++i) s = s->next;
                return s;
            };
            (void)heap->read([&](nv::tx<>&) {
                if (const auto s = at()) sum += read(*s);
            });
            nv::ref<shelf> kept;
            (void)heap->atomic([&](nv::tx<>& tx) {
                if (const auto s = at()) {
                    kept = s;
                    change(tx, *s);
                }
            });
        }
        (void)heap->collect();
        (void)heap->atomic([&](nv::tx<>& tx) {
            if (const auto s = root->get()) root->set(tx, s->next);
        });
        (void)heap->atomic([&](nv::tx<>& tx) { root->set(tx, nullptr); });
        (void)heap->collect();
        (void)heap->close();
        return sum == 1 ? 1 : 0;
    }
    void expect_survives(const std::vector<std::pair<u64, u64>>& edits) {
        std::string told;
        std::vector<std::byte> bytes = image;
        for (const auto& [at, value] : edits) {
            std::memcpy(bytes.data() + at, &value, sizeof value);
            told += " " + std::to_string(at) + ":=" + std::to_string(value);
        }
        write_file(file, bytes);
        const int code = in_child([&]() -> int { ::_exit(use()); });
        EXPECT_LT(code, 2) << told;
    }
    std::vector<std::byte> image;
    std::vector<u64> places;  ///< words that are not 0
};

TEST_P(damaged_use, a_whole_heap_is_used) { expect_survives({}); }

TEST_P(damaged_use, no_damaged_word_ends_the_process) {
    for (int seed = 0; seed < effort(50, 5); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        xoshiro256ss random(static_cast<u64>(seed));
        std::vector<std::pair<u64, u64>> edits;
        for (u64 n = 1 + (random() % 4) * (random() % 2); n != 0; --n) {
            const u64 at = places[random() % places.size()];
            edits.emplace_back(at, damaged(word(at), random));
        }
        expect_survives(edits);
    }
}

INSTANTIATE_TEST_SUITE_P(heaps, damaged_use,
                         ::testing::Combine(::testing::ValuesIn(all_engines().begin(),
                                                                all_engines().end()),
                                            ::testing::Bool()),
                         [](const auto& p) {
                             return std::string(to_string(std::get<0>(p.param))) +
                                    (std::get<1>(p.param) ? "_closed" : "_killed");
                         });

}  // namespace
}  // namespace hf::test
