// storm/machine.hpp: a map and its engine, for tests of the whole system.
//
// The only file of these tests that opens regions and ends epochs.
#pragma once

#include <holdfast/map.hpp>

#include "checkpoint_map/engine.hpp"
#include "index/masstree/inspection.hpp"
#include "map/inspect.hpp"
#include "support/must.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hf::test {

struct machine_options {
    u64 first_epoch = 1;
    u64 size = u64{16} << 20;
    u64 max_size = 0;
    u64 hint_memory = u64{1} << 20;
    std::chrono::microseconds epoch{0};
    medium_kind medium = medium_kind::shm;
    bool flushes = true;
    bool small_values = false;  ///< inlined
};

/// A map whose epochs are ended by the test.
class machine {
   public:
    using options = machine_options;

    machine(const std::filesystem::path& file, const options& o)
        : map_(must(map::open(file, map_options_of(o)))),
          engine_(&map_inspection::machine_of(map_)) {}

    static map_options map_options_of(const options& o) {
        map_options m;
        m.region.initial_size = o.size;
        m.region.max_size = o.max_size;
        m.region.first_epoch = o.first_epoch;
        m.region.medium = o.medium;
        m.region.flush = o.flushes ? flush_policy::always : flush_policy::automatic;
        m.epoch = o.epoch;
        m.hint_memory = o.hint_memory;
        m.small_values_in_leaves = o.small_values;
        return m;
    }

    [[nodiscard]] map& records() noexcept { return map_; }
    [[nodiscard]] map* operator->() noexcept { return &map_; }
    void end_epoch() { engine_->epochs().end_epoch(); }
    void end_epochs(u64 count) {
        for (u64 i = 0; i < count; ++i) end_epoch();
    }
    [[nodiscard]] u64 epoch() { return engine_->epochs().current_epoch(); }
    [[nodiscard]] bool has_failed_epochs() { return map_.stats().failed_epochs != 0; }
    [[nodiscard]] engine<incll_discipline>& behind() noexcept { return *engine_; }
    [[nodiscard]] std::byte* base() noexcept { return engine_->file().base(); }

    /// Calls f for each page run of the heap, while all operations are stopped.
    template <class F>
    void each_run(F&& visit) {
        engine_->memory().pages().walk([&](u64 offset, const page_run& run) {
            visit(offset, run);
            return true;
        });
    }

   private:
    map map_;
    engine<incll_discipline>* engine_;
};

/// The epoch that was current when the medium had this image: it has failed, and recovery restores
/// the end of the one before.
inline u64 epoch_of_image(const std::vector<std::byte>& image) {
    return must(
        layout::epoch_record_load(reinterpret_cast<const layout::header*>(image.data())->epoch));
}

/// The violations that `holdfast check` finds in a closed region; empty: none.
inline std::vector<std::string> audit_of(const std::filesystem::path& file) {
    std::vector<std::string> wrong;
    const inspection looked = inspect_map(file);
    if (looked.refusal()) wrong.push_back(looked.refusal()->to_string());
    if (!looked.is_open()) return wrong;
    const audit_report report = looked.audit();
    for (const violation& v : report.violations()) {
        wrong.push_back("offset " + std::to_string(v.offset) + ": " + v.text);
    }
    if (!report.complete()) wrong.emplace_back("not everything could be walked");
    u64 leaked = 0;
    for (const auto& c : report.heap.classes) leaked += c.leaked;
    if (leaked != 0) wrong.push_back(std::to_string(leaked) + " blocks leaked");
    return wrong;
}

}  // namespace hf::test
