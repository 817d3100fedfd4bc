// tools/holdfast/heap_view.hpp: the usage of a region's heap, from its own counters.
#pragma once

#include <holdfast/result.hpp>

#include "checkpoint/heap/audit.hpp"
#include "output.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace hf::tool {

/// Adds the heap's usage to a report.
void add_heap(sheet& s, const heap_figures& heap);
[[nodiscard]] json heap_json(const heap_figures& heap);

/// The counters and page runs of a region. No list is walked, so it takes milliseconds.
class heap_view {
   public:
    /// Opens the region with open_mode::inspect. An error is the reason why it cannot be mapped.
    [[nodiscard]] static result<heap_view> read(const std::filesystem::path& path);

    void add_to(sheet& s) const;
    /// null for a snapshot.
    [[nodiscard]] json to_json() const;

   private:
    /// As read(), for a heap of objects.
    [[nodiscard]] static result<heap_view> read_objects(const std::filesystem::path& path);
    [[nodiscard]] static result<heap_view> read_eager(const std::filesystem::path& path);
    void add_eager_to(sheet& s) const;
    /// nullopt: there is no map, or its records were never counted.
    [[nodiscard]] std::optional<u64> records() const;

    bool fresh_ = false;
    bool holds_map_ = false;
    std::string index_;  ///< of an eager region
    std::string keys_;
    std::optional<u64> counted_;  ///< record count at the last close
    bool is_snapshot_ = false;    ///< the program manages the memory: there is no heap
    audit_report report_;
};

}  // namespace hf::tool
