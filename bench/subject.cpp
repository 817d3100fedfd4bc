#include "bench/subject.hpp"

#include "bench/compare/peer_library.hpp"
#include "bench/eager_target.hpp"
#include "bench/engine_subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>

namespace hf::bench {

namespace {

std::filesystem::path next_file(std::string_view name, const scratch_space& space) {
    static unsigned made = 0;
    return space.file(std::string(name) + "-" + std::to_string(made++));
}

region_options region_of(const subject_options& options, open_mode mode) {
    region_options r;
    r.mode = mode;
    r.initial_size = options.initial_size;
    r.flush = options.flush;
    r.fence_latency_ns = options.fence_latency_ns;
    return r;
}

template <class D>
result<tree_target<D>> open_tree(const std::filesystem::path& file, const subject_options& options,
                                 open_mode mode) {
    engine_options all;
    all.file = region_of(options, mode);
    all.epochs.epoch = options.epoch;
    auto opened = engine<D>::open(file, all);
    if (!opened) return tl::unexpected(opened.error());
    return tree_target<D>(std::move(*opened));
}

template <map_use Use>
result<map_target<Use>> open_map(const std::filesystem::path& file, const subject_options& options,
                                 open_mode mode) {
    map_options all;
    all.verify_reads = Use != map_use::trusting;
    all.small_values_in_leaves = Use == map_use::inlined;
    all.region = region_of(options, mode);
    all.epoch = options.epoch;
    auto opened = map::open(file, all);
    if (!opened) return tl::unexpected(opened.error());
    return map_target<Use>(std::move(*opened));
}

template <class Target>
result<std::unique_ptr<subject>> new_subject(typename engine_subject<Target>::opener open,
                                             const scratch_space& space,
                                             const subject_options& options) {
    const auto file = next_file(Target::name(), space);
    auto opened = open(file, options, open_mode::create_new);
    if (!opened) {
        space.remove(file);
        return tl::unexpected(opened.error());
    }
    return std::make_unique<engine_subject<Target>>(std::move(*opened), open, space, file, options);
}

template <map_use Use>
result<std::unique_ptr<subject>> new_map(const scratch_space& space,
                                         const subject_options& options) {
    return new_subject<map_target<Use>>(open_map<Use>, space, options);
}

template <class D>
result<std::unique_ptr<subject>> new_tree(const scratch_space& space,
                                          const subject_options& options) {
    return new_subject<tree_target<D>>(open_tree<D>, space, options);
}

/// An eager index, such as "clht-eager".
template <bool Many>
result<std::unique_ptr<subject>> new_index(const std::string& name, const scratch_space& space,
                                           const subject_options& options) {
    const auto file = next_file(name, space);
    const std::size_t dash = name.find('-');
    eager_map_options o;
    o.index = name.substr(0, dash);
    o.transient = name.substr(dash + 1) == yardstick;
    o.region = region_of(options, open_mode::create_new);
    if (o.transient) o.region.flush = flush_policy::automatic;
    const auto make = [&](auto opened, auto&& of) -> result<std::unique_ptr<subject>> {
        if (!opened) {
            space.remove(file);
            return tl::unexpected(opened.error());
        }
        return std::make_unique<engine_subject<eager_target<Many>>>(of(std::move(*opened)), nullptr,
                                                                    space, file, options);
    };
    if (options.value_size == sizeof(u64)) {
        return make(detail::open_engine<u64, u64>(file, o),
                    [&](auto e) { return eager_target<Many>(name, std::move(e), nullptr); });
    }
    return make(detail::open_engine<std::string_view, std::string>(file, o),
                [&](auto e) { return eager_target<Many>(name, nullptr, std::move(e)); });
}

/// A container of Abseil.
result<std::unique_ptr<subject>> new_yardstick(const std::string& name, bool ordered,
                                               const scratch_space& space,
                                               const subject_options& options) {
    const std::string what = "measure " + name;
    auto module = open_peer_module(what, "abseil", "libabsl-dev");
    if (!module) return tl::unexpected(module.error());
    auto* interface =
        reinterpret_cast<unsigned (*)()>(::dlsym(*module, "hf_bench_yardstick_interface"));
    auto* open = reinterpret_cast<yardstick_store* (*)(const char*, u32)>(
        ::dlsym(*module, "hf_bench_yardstick_open"));
    if (interface == nullptr || open == nullptr || interface() != yardstick_interface) {
        return failure({errc::incompatible, what, "abseil",
                        "it was built for another version of the interface",
                        "build all of it again"});
    }
    std::unique_ptr<yardstick_store> store(open(name.c_str(), options.value_size));
    return std::make_unique<engine_subject<yardstick_target>>(
        yardstick_target(name, ordered, std::move(store)), nullptr, space, next_file(name, space),
        options);
}

}  // namespace

const std::vector<std::string>& subject_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all = {
            std::string(yardstick), "logged",      "incll",      "malloc",   "map", "map-many",
            "map-trusting",         "map-inlined", "absl-btree", "absl-hash"};
        for (const std::string& index : eager_index_names()) {
            all.push_back(index + "-eager");
            all.push_back(index + "-transient");
            all.push_back(index + "-many");
        }
        return all;
    }();
    return names;
}

result<std::unique_ptr<subject>> make_subject(std::string_view name, const scratch_space& space,
                                              const subject_options& options) {
    if (name == yardstick) return new_tree<transient_discipline>(space, options);
    if (name == "logged") return new_tree<logged_discipline>(space, options);
    if (name == "incll") return new_tree<incll_discipline>(space, options);
    if (name == "malloc") {
        subject_options heap_pages_only = options;
        heap_pages_only.initial_size = engine<malloc_discipline>::least_size;
        return new_tree<malloc_discipline>(space, heap_pages_only);
    }
    if (name == "map") return new_map<map_use::plain>(space, options);
    if (name == "map-many") return new_map<map_use::many>(space, options);
    if (name == "map-trusting") return new_map<map_use::trusting>(space, options);
    if (name == "map-inlined") return new_map<map_use::inlined>(space, options);
    if (name == "absl-btree" || name == "absl-hash") {
        return new_yardstick(std::string(name), name == "absl-btree", space, options);
    }
    for (const std::string& index : eager_index_names()) {
        if (name == index + "-eager" || name == index + "-transient") {
            return new_index<false>(std::string(name), space, options);
        }
        if (name == index + "-many") return new_index<true>(std::string(name), space, options);
    }
    return failure({errc::usage, "make a tree", std::string(name), "no such discipline",
                    fmt::format("choose among {}", fmt::join(subject_names(), ", "))});
}

u64 size_for(u64 records, u32 value_size) noexcept {
    // A record has a block (header, sizes, value); a leaf of about 400 bytes has ten records on
    // average. A tenth is added for interior nodes, blocks that are freed only at their epoch's
    // end, and logs.
    const u64 record = align_up(u64{value_size} + 24, 16);
    const u64 tree = records * (std::max<u64>(record, 32) + 40);
    return align_up((u64{128} << 20) + tree + tree / 10, u64{2} << 20);
}

}  // namespace hf::bench
