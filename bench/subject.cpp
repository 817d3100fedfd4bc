#include "bench/subject.hpp"

#include "bench/engine_subject.hpp"

namespace hf::bench {

namespace {

std::filesystem::path next_file(std::string_view name, const scratch_space& space) {
    static unsigned made = 0;
    return space.file(std::string(name) + "-" + std::to_string(made++));
}

region_options region_of(const subject_options& options) {
    region_options r;
    r.mode = open_mode::create_new;
    r.initial_size = options.initial_size;
    r.flush = options.flush;
    r.fence_latency_ns = options.fence_latency_ns;
    return r;
}

template <class Target, class Opened>
result<std::unique_ptr<subject>> subject_of(Opened opened, const std::filesystem::path& file,
                                            const scratch_space& space,
                                            const subject_options& options) {
    if (!opened) {
        space.remove(file);
        return tl::unexpected(opened.error());
    }
    return std::make_unique<engine_subject<Target>>(Target(std::move(*opened)), space, file,
                                                    options);
}

template <class D>
result<std::unique_ptr<subject>> open_tree(const scratch_space& space,
                                           const subject_options& options) {
    engine_options all;
    all.file = region_of(options);
    all.epochs.epoch = options.epoch;
    const auto file = next_file(D::name, space);
    return subject_of<tree_target<D>>(engine<D>::open(file, all), file, space, options);
}

template <bool Many>
result<std::unique_ptr<subject>> open_map(const scratch_space& space,
                                          const subject_options& options) {
    map_options all;
    all.region = region_of(options);
    all.epoch = options.epoch;
    const auto file = next_file(map_target<Many>::name(), space);
    return subject_of<map_target<Many>>(map::open(file, all), file, space, options);
}

}  // namespace

const std::vector<std::string>& subject_names() {
    static const std::vector<std::string> names = {
        std::string(yardstick), "logged", "incll", "malloc", "map", "map-many"};
    return names;
}

result<std::unique_ptr<subject>> make_subject(std::string_view name, const scratch_space& space,
                                              const subject_options& options) {
    if (name == yardstick) return open_tree<transient_discipline>(space, options);
    if (name == "logged") return open_tree<logged_discipline>(space, options);
    if (name == "incll") return open_tree<incll_discipline>(space, options);
    if (name == "malloc") {
        subject_options heap_pages_only = options;
        heap_pages_only.initial_size = engine<malloc_discipline>::least_size;
        return open_tree<malloc_discipline>(space, heap_pages_only);
    }
    if (name == "map") return open_map<false>(space, options);
    if (name == "map-many") return open_map<true>(space, options);
    return failure({errc::usage, "make a tree", std::string(name), "no such discipline",
                    "choose transient, logged, incll, malloc, map or map-many"});
}

u64 size_for(u64 records, u32 value_size) noexcept {
    // A record is its block (header, sizes, value); a leaf of some 400 bytes holds ten on average.
    // A tenth on top for interior nodes, blocks that wait for their epoch's end, and logs.
    const u64 record = align_up(u64{value_size} + 24, 16);
    const u64 tree = records * (std::max<u64>(record, 32) + 40);
    return align_up((u64{128} << 20) + tree + tree / 10, u64{2} << 20);
}

}  // namespace hf::bench
