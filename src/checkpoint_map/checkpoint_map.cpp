#include "checkpoint_map/checkpoint_map.hpp"

#include <algorithm>

namespace hf {
namespace {

u64 hint_memory_of(const map_options& options) {
    constexpr u64 share = 8;
    if (options.hint_memory) return *options.hint_memory;
    // most inspections scan, which does not use hints
    if (options.region.mode == open_mode::inspect) return 0;
    const u64 memory = options.region.memory;
    return (memory != 0 ? memory : default_memory_budget()) / share;
}

}  // namespace

result<std::unique_ptr<map_engine>> checkpoint_map::open(const std::filesystem::path& path,
                                                         const map_options& options) {
    engine_options all;
    all.file = options.region;
    all.epochs.epoch = options.epoch;
    all.hint_memory = hint_memory_of(options);
    all.inline_values = options.small_values_in_leaves;
    auto machine = engine<incll_discipline>::open(path, all);
    if (!machine) return tl::unexpected(machine.error());
    (*machine)->memory().sweep_before_growth();
    return std::unique_ptr<map_engine>(
        new checkpoint_map(std::move(*machine), options.verify_reads));
}

bool checkpoint_map::has_small_values() const {
    const auto root = file().find_root(engine<incll_discipline>::root_name);
    return root && (*root)->format == inlined_root_format;
}

statistics checkpoint_map::stats() const {
    statistics s = map_detail::common_statistics(*this);
    {
        operation op(checkpoint());  // the set changes only while no operation is running
        s.failed_epochs = op.failed().count();
    }
    s.recovery_ns = machine_->recovery_ns();
    s.recovered_entries = checkpoint().recovered_entries();
    s.recovered_records = machine_->recovered_records();
    s.log_entries = checkpoint().log_entries();
    s.log_bytes = checkpoint().log_bytes();
    s.pause = epochs().pauses();
    s.journal = epochs().journal_numbers();
    for (const u64 bytes : memory().usage()) s.allocated_bytes += bytes;
    s.free_bytes = s.region_bytes - std::min(s.region_bytes, s.allocated_bytes);
    s.hint_bytes = tree().hint_bytes();
    if (memory().counts_objects()) s.records = memory().objects();
    return s;
}

}  // namespace hf
