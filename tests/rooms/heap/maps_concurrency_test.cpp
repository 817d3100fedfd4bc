// Threads that change ordered maps, and search in them: what one search loads at once belongs to
// one moment.
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>

#include "base/random.hpp"
#include "heap_of_nodes.hpp"

#include <thread>
#include <vector>

namespace hf::test {
namespace {

struct both_maps {
    static constexpr std::string_view nv_name = "both_maps";
    nv::map<u64, nv::p<u64>> tree;
    nv::rb_map<u64, nv::p<u64>> red_black;
};

class maps_of_threads : public on_tmpfs {
   protected:
    maps_of_threads() : heap(open_heap(file)), maps(must(heap.root<both_maps>("maps"))) {
        must(heap.atomic([&](nv::tx<>& tx) { maps.set(tx, tx.make<both_maps>()); }));
    }
    template <class Map>
    static void toggle(nv::tx<>& tx, Map& map, u64 key) {
        const auto at = map.place_of(key);
        if (at) {
            map.erase_at(tx, at);
        } else {
            static_cast<void>(map.insert_at(tx, at, key));
        }
    }
    /// A key is there with its partner, or both are not: in no attempt, of writers and of readers,
    /// is it otherwise.
    template <class Map>
    static bool is_paired(const Map& map, u64 key) {
        return map.contains(key) == map.contains(key + pairs);
    }
    void change(unsigned thread);
    void look(unsigned thread);

    static constexpr u64 pairs = 24;
    static constexpr int rounds = 20'000;
    nv::heap<> heap;
    nv::root<both_maps> maps;
    std::atomic<bool> ends{false};
    std::atomic<int> broken{0};
};

void maps_of_threads::change(unsigned thread) {
    splitmix64 random(thread);
    for (int i = 0; i < rounds; ++i) {
        const u64 key = random() % pairs;
        must(heap.atomic([&](nv::tx<>& tx) {
            both_maps& m = *maps.get();
            if (!is_paired(m.tree, key) || !is_paired(m.red_black, key)) ++broken;
            toggle(tx, m.tree, key);
            toggle(tx, m.red_black, key);
            toggle(tx, m.tree, key + pairs);
            toggle(tx, m.red_black, key + pairs);
        }));
    }
}

void maps_of_threads::look(unsigned thread) {
    splitmix64 random(thread);
    while (!ends.load()) {
        must(heap.read([&](nv::tx<>&) {
            const both_maps& m = *maps.get();
            for (int i = 0; i < 4; ++i) {
                const u64 key = random() % pairs;
                if (!is_paired(m.tree, key) || !is_paired(m.red_black, key)) ++broken;
                if (m.tree.contains(key) != m.red_black.contains(key)) ++broken;
            }
        }));
    }
}

TEST_F(maps_of_threads, what_a_search_loads_belongs_to_one_moment) {
    std::thread reader([&] { look(3); });
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 2; ++t) writers.emplace_back([this, t] { change(t); });
    for (std::thread& w : writers) w.join();
    ends = true;
    reader.join();
    EXPECT_EQ(broken.load(), 0);
    must(heap.read([&](nv::tx<>&) {
        for (u64 key = 0; key < pairs; ++key) {
            EXPECT_TRUE(is_paired(maps->tree, key));
            EXPECT_TRUE(is_paired(maps->red_black, key));
        }
    }));
    sound(heap);
}

}  // namespace
}  // namespace hf::test
