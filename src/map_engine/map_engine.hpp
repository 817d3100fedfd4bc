// map_engine/map_engine.hpp: the interface between the public map and a family of maps.
//
// Purpose. hf::map (src/map) checks arguments, turns damage into errors and forwards; a family of
// maps implements this interface in a room of its own (checkpoint_map, eager_map). A further family
// is a folder and a row in map/families.cpp.
//
// Errors. Functions throw `damage` where an index or a record contradicts itself; map.cpp catches
//  it. The arguments are within the limits of holdfast/map.hpp.
// Concurrency. As hf::map. close() is called once, when no other function runs or will be called.
// Cost. A single read costs one virtual call; get_many() costs one for all its keys.
#pragma once

#include <holdfast/map.hpp>

#include "alloc/audit.hpp"
#include "region/region.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hf {

/// Called with the current value, or nullopt; false: the value is not replaced.
using write_condition = std::function<bool(std::optional<std::string_view>)>;

class map_engine {
   public:
    map_engine() = default;
    map_engine(const map_engine&) = delete;
    map_engine& operator=(const map_engine&) = delete;
    virtual ~map_engine() = default;

    /// False: the key does not exist.
    [[nodiscard]] virtual bool get(std::string_view key, std::string& out) const = 0;
    /// map::get_many().
    [[nodiscard]] virtual std::size_t get_many(std::span<const std::string_view> keys,
                                               const map::finder& found) const = 0;
    /// A hint.
    virtual void prefetch(std::span<const std::string_view> /*keys*/) const {}

    /// map::put_if(); `allowed` may be null.
    [[nodiscard]] virtual result<write_outcome> store(std::string_view key, std::string_view value,
                                                      const write_condition* allowed) = 0;
    /// map::remove_if(); `allowed` may be empty.
    [[nodiscard]] virtual result<write_outcome> erase(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) = 0;
    /// As erase(), but `allowed` is also called with a value whose checksum is wrong.
    [[nodiscard]] virtual result<write_outcome> erase_unverified(
        std::string_view key, const std::function<bool(std::string_view)>& allowed) = 0;
    using modification =
        std::function<map::edit(std::optional<std::string_view> old, std::string& fresh)>;
    /// map::modify().
    [[nodiscard]] virtual result<write_outcome> change(std::string_view key,
                                                       const modification& change) = 0;

    /// `from` = nullopt with `backwards`: from the last key. errc::usage without an order.
    [[nodiscard]] virtual result<std::size_t> scan(std::optional<std::string_view> from,
                                                   bool exclusive, bool backwards,
                                                   const map::visitor& visit) const = 0;
    /// map::walk(). By default by scans; an engine without an order overrides it.
    [[nodiscard]] virtual result<std::size_t> walk(std::string& cursor, std::size_t about,
                                                   const map::visitor& visit) const;

    [[nodiscard]] virtual result<void> wait_durable(ticket t) = 0;
    [[nodiscard]] virtual ticket durable_epoch() const noexcept = 0;
    [[nodiscard]] virtual ticket current_epoch() const noexcept = 0;

    [[nodiscard]] virtual discipline kind() const noexcept = 0;
    [[nodiscard]] virtual std::string_view index() const noexcept = 0;
    [[nodiscard]] virtual bool is_ordered() const noexcept { return true; }
    [[nodiscard]] virtual bool has_small_values() const { return false; }
    [[nodiscard]] virtual std::uint64_t generation() const noexcept = 0;
    [[nodiscard]] virtual region& file() const noexcept = 0;
    [[nodiscard]] virtual statistics stats() const = 0;
    /// Returns when background work that places further records has ended.
    [[nodiscard]] virtual result<void> wait_for_sweep() { return {}; }
    /// Audits the open map, which must not be in use. errc::usage: only its file can be audited.
    [[nodiscard]] virtual result<audit_report> audit();
    [[nodiscard]] virtual result<void> close() = 0;
};

namespace map_detail {

[[nodiscard]] error too_large(const char* what, std::size_t size, std::size_t most);
[[nodiscard]] error not_writable(const region& file);
/// The statistics that every engine has: those of its region, and the process's persist counters.
[[nodiscard]] statistics common_statistics(const map_engine& of);

}  // namespace map_detail
}  // namespace hf
