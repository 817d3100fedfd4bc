#include "bench/subject.hpp"

#include "bench/engine_subject.hpp"

namespace hf::bench {

namespace {

template <class D>
result<std::unique_ptr<subject>> open_subject(const scratch_space& space,
                                              const subject_options& options) {
    engine_options all;
    all.file.mode = open_mode::create_new;
    all.file.initial_size = options.initial_size;
    all.file.flush = options.flush;
    all.file.fence_latency_ns = options.fence_latency_ns;
    all.epochs.epoch = options.epoch;
    static unsigned made = 0;
    const auto file = space.file(D::name + ("-" + std::to_string(made++)));
    auto machine = engine<D>::open(file, all);
    if (!machine) {
        space.remove(file);
        return tl::unexpected(machine.error());
    }
    return std::make_unique<engine_subject<D>>(std::move(*machine), space, file, options);
}

}  // namespace

const std::vector<std::string>& subject_names() {
    static const std::vector<std::string> names = {std::string(yardstick), "logged", "incll",
                                                   "malloc"};
    return names;
}

result<std::unique_ptr<subject>> make_subject(std::string_view name, const scratch_space& space,
                                              const subject_options& options) {
    if (name == yardstick) return open_subject<transient_discipline>(space, options);
    if (name == "logged") return open_subject<logged_discipline>(space, options);
    if (name == "incll") return open_subject<incll_discipline>(space, options);
    if (name == "malloc") {
        subject_options heap_pages_only = options;
        heap_pages_only.initial_size = engine<malloc_discipline>::least_size;
        return open_subject<malloc_discipline>(space, heap_pages_only);
    }
    return failure({errc::usage, "make a tree", std::string(name), "no such discipline",
                    "choose transient, logged, incll or malloc"});
}

u64 size_for(u64 records, u32 value_size) noexcept {
    // A record is its block (header, sizes, value); a leaf of some 400 bytes holds ten on average.
    // A tenth on top for interior nodes, blocks that wait for their epoch's end, and logs.
    const u64 record = align_up(u64{value_size} + 24, 16);
    const u64 tree = records * (std::max<u64>(record, 32) + 40);
    return align_up((u64{128} << 20) + tree + tree / 10, u64{2} << 20);
}

}  // namespace hf::bench
