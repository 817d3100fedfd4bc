// eager_map/engine.hpp: type-erased interface to one eager index in a region of its own, for the
// public map, the benchmark and the tools. Only the code that creates an engine includes the index
// types (indexes.hpp).
#pragma once

#include <holdfast/eager.hpp>

#include "alloc/audit.hpp"
#include "alloc/swept/audit_view.hpp"
#include "eager/space.hpp"
#include "sync/fork.hpp"

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace hf::detail {

inline constexpr std::array index_names = {std::string_view("clht"), std::string_view("art"),
                                           std::string_view("hot"), std::string_view("bwtree"),
                                           std::string_view("masstree")};

/// The implementation of basic_eager_map: one virtual call per operation.
template <class Key, class Owned>
class eager_engine {
   public:
    virtual ~eager_engine() = default;
    [[nodiscard]] virtual result<bool> insert(Key k, Key v) = 0;
    [[nodiscard]] virtual result<u64> insert_many(std::span<const std::pair<Key, Key>> all) = 0;
    [[nodiscard]] virtual result<bool> put(Key k, Key v) = 0;
    [[nodiscard]] virtual result<bool> update(Key k, Key v) = 0;
    virtual bool remove(Key k) = 0;
    virtual bool get(Key k, Owned& into) const = 0;
    using hit = typename basic_eager_map<Key, Owned>::hit;
    using run_of_hits = typename basic_eager_map<Key, Owned>::run_of_hits;
    /// Calls found(of, run, n) for runs of the keys that exist, while an operation is open. Returns
    /// how many keys exist.
    virtual std::size_t get_runs(std::span<const Key> keys, run_of_hits found, void* of) const = 0;
    /// get_runs() with a callable; the inlined form of basic_eager_map::get_many().
    template <class Found>
    std::size_t get_many(std::span<const Key> keys, Found& found) const {
        return get_runs(keys, basic_eager_map<Key, Owned>::template tell_run<Found>,
                        const_cast<void*>(static_cast<const void*>(std::addressof(found))));
    }
    virtual void for_each(const std::function<void(Key, Key)>& visit) const = 0;
    [[nodiscard]] virtual bool is_ordered() const noexcept = 0;
    /// An unordered index splits for_each() into parts() parts.
    [[nodiscard]] virtual u64 parts() const noexcept = 0;
    virtual void for_each_in(u64 part, const std::function<void(Key, Key)>& visit) const = 0;
    [[nodiscard]] virtual u64 scan(Key from, u64 most, bool backwards,
                                   const std::function<void(Key, Key)>& visit) const = 0;
    using entry = typename basic_eager_map<Key, Owned>::entry;
    using run_visitor = typename basic_eager_map<Key, Owned>::run_visitor;
    /// scan() that passes entries to the visitor in runs: visit(of, run, n).
    [[nodiscard]] virtual u64 scan_runs(Key from, u64 most, bool backwards, run_visitor visit,
                                        void* of) const = 0;
    /// scan_runs() with a callable; the inlined form of basic_eager_map::scan().
    template <class Visit>
    [[nodiscard]] u64 scan_with(Key from, u64 most, bool backwards, Visit& visit) const {
        return scan_runs(from, most, backwards,
                         basic_eager_map<Key, Owned>::template visit_run<Visit>,
                         const_cast<void*>(static_cast<const void*>(std::addressof(visit))));
    }
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    virtual void audit(heap_audit& a) const = 0;

    [[nodiscard]] eager_space& space() const noexcept { return *opened; }

    process_mark made_in;
    /// destroyed before the index, because it traces the index
    std::unique_ptr<eager_space> opened;
};

template <class Key, class Owned>
[[nodiscard]] result<std::unique_ptr<eager_engine<Key, Owned>>> open_engine(
    const std::filesystem::path& path, const eager_map_options& options);

/// open_engine() for one discipline. Instantiated in durable.cpp and transient.cpp.
template <class D, class Key, class Owned>
[[nodiscard]] result<std::unique_ptr<eager_engine<Key, Owned>>> open_for(
    const std::filesystem::path& path, const eager_map_options& options);

}  // namespace hf::detail
