// bench/compare/entrant.hpp: the participants of a comparison, and the directories of their files.
#pragma once

#include "bench/compare/ledger.hpp"
#include "bench/compare/options.hpp"
#include "bench/peers/contender.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hf::bench {

inline constexpr std::string_view ours = "holdfast/file";
inline constexpr std::string_view in_memory = "holdfast/shm";

/// A new directory; the destructor removes it with its contents.
class own_directory {
   public:
    [[nodiscard]] static result<std::unique_ptr<own_directory>> make(
        const std::filesystem::path& parent, const std::string& name);
    ~own_directory();
    own_directory(const own_directory&) = delete;
    own_directory& operator=(const own_directory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    explicit own_directory(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

/// Memory budget of Holdfast for the records: the region and its hints.
[[nodiscard]] u64 memory_for(const compare_options& o) noexcept;

struct entrant {
    std::string name;
    std::function<result<std::unique_ptr<contender>>(const contender_options&)> make;
    std::unique_ptr<own_directory> directory;
    ledger notes;
    std::unique_ptr<contender> store;  ///< nullptr while closed

    [[nodiscard]] result<void> open(const compare_options& o, acknowledge ack);
    [[nodiscard]] result<void> close();
};

using entrants = std::vector<std::unique_ptr<entrant>>;

/// Holdfast on the disk, Holdfast in tmpfs, and the peers; not open yet. A missing peer is an error
/// before any measurement.
[[nodiscard]] result<entrants> make_entrants(const compare_options& o);

}  // namespace hf::bench
