// tools/holdfast/heap_view.hpp: how full a region's heap is, by its own books.
#pragma once

#include <holdfast/result.hpp>

#include "checkpoint/heap/audit.hpp"
#include "output.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf::tool {

/// How full a heap is, as a report.
void add_heap(sheet& s, const heap_figures& heap);
[[nodiscard]] json heap_json(const heap_figures& heap);

/// The counters and page runs of a region; no list is walked, so it takes milliseconds.
class heap_view {
   public:
    /// Opens with open_mode::inspect. The error is what keeps the region from being mapped.
    [[nodiscard]] static result<heap_view> read(const std::filesystem::path& path);

    void add_to(sheet& s) const;
    /// null of a snapshot.
    [[nodiscard]] json to_json() const;

   private:
    /// The same of a heap of objects.
    [[nodiscard]] static result<heap_view> read_objects(const std::filesystem::path& path);
    [[nodiscard]] static result<heap_view> read_eager(const std::filesystem::path& path);
    void add_eager_to(sheet& s) const;
    /// nullopt: there is no map, or its records have never been counted.
    [[nodiscard]] std::optional<u64> records() const;

    bool fresh_ = false;
    bool holds_map_ = false;
    std::string index_;  ///< of discipline eager
    std::string keys_;
    std::optional<u64> counted_;  ///< its records, when it was last closed
    bool is_snapshot_ = false;    ///< its memory is its program's: there is no heap
    audit_report report_;
};

}  // namespace hf::tool
