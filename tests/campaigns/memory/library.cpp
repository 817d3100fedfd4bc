// A library that a program loads and unloads, with a static map and a static heap.
#include <holdfast/heap.hpp>
#include <holdfast/map.hpp>

#include <string>
#include <thread>

namespace {

constexpr std::uint64_t bytes = std::uint64_t{8} << 20;

struct counter {
    hf::nv::p<std::uint64_t> value;
};

hf::region_options small_region() {
    hf::region_options o;
    o.initial_size = bytes;
    o.max_size = bytes;
    return o;
}

bool put(const char* file, const char* key) {
    static hf::result<hf::map> records = [file] {
        hf::map_options o;
        o.region = small_region();
        return hf::map::open(file, o);
    }();
    return records && records->put(key, "value");
}

bool add(const char* file) {
    static hf::result<hf::nv::heap<>> heap = [file] {
        hf::nv::heap_options o;
        o.region = small_region();
        return hf::nv::heap<>::open(file, o);
    }();
    if (!heap) return false;
    auto root = heap->root<counter>("root");
    return root && heap->atomic([&](hf::nv::tx<>& tx) {
        auto made = tx.make<counter>();
        made->value.set(tx, 7);
        root->set(tx, std::move(made));
    });
}

}  // namespace

/// Whether each call of this succeeded: by the calling thread, and by one that has ended.
extern "C" int use_both(const char* map_file, const char* heap_file) {
    bool done = put(map_file, "main") && add(heap_file);
    std::thread([&] { done = done && put(map_file, "other") && add(heap_file); }).join();
    return done ? 0 : 1;
}
