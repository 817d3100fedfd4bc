// tools/holdfast/view/heap_view.hpp: the use of a region's heap, by the allocator's counters.
#pragma once

#include <holdfast/result.hpp>

#include "checkpoint/heap/audit.hpp"
#include "view/output.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf::tool {

/// Adds the use of a heap to a report.
void add_heap(sheet& s, const heap_figures& heap);
[[nodiscard]] json heap_json(const heap_figures& heap);

/// The counters and page runs of a region; no list is walked, so it takes milliseconds.
class heap_view {
   public:
    /// Each opens with open_mode::inspect. Returns the error if the region cannot be mapped.
    [[nodiscard]] static result<heap_view> read_map(const std::filesystem::path& path);
    [[nodiscard]] static result<heap_view> read_objects(const std::filesystem::path& path);
    [[nodiscard]] static result<heap_view> read_eager(const std::filesystem::path& path);
    /// For a discipline whose regions have no heap that the command line knows.
    [[nodiscard]] static result<heap_view> read_none(const std::filesystem::path& path);

    void add_to(sheet& s) const;
    /// null without a heap.
    [[nodiscard]] json to_json() const;

   private:
    void add_eager_to(sheet& s) const;
    /// nullopt: there is no map, or its records were never counted.
    [[nodiscard]] std::optional<u64> records() const;

    bool fresh_ = false;
    bool holds_map_ = false;
    std::string index_;  ///< of discipline eager
    std::string keys_;
    std::optional<u64> counted_;  ///< number of records at the last orderly close
    bool has_heap_ = true;
    audit_report report_;
};

}  // namespace hf::tool
