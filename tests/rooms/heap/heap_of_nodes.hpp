// tests/rooms/heap/heap_of_nodes.hpp: heaps for tests, and what must hold of each.
#pragma once

#include <holdfast/heap.hpp>

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <string>

namespace hf::test {

struct node {
    static constexpr std::string_view nv_name = "node";
    nv::p<int> value;
    nv::ptr<node> next;
};

[[nodiscard]] inline nv::heap_options small_heap() {
    nv::heap_options o;
    o.region.initial_size = u64{2} << 20;
    o.region.max_size = u64{256} << 20;
    o.epoch = std::chrono::microseconds(0);
    return o;
}

template <class H = nv::common>
[[nodiscard]] nv::heap<H> open_heap(const std::filesystem::path& file,
                                    const nv::heap_options& o = small_heap()) {
    return must(nv::heap<H>::open(file, o));
}

/// The findings of check(): none.
template <class H>
nv::heap_report sound(const nv::heap<H>& heap) {
    nv::heap_report r = must(heap.check());
    for (const std::string& v : r.violations) ADD_FAILURE() << v;
    return r;
}

}  // namespace hf::test
