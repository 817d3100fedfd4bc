#include "base/check.hpp"
#include "base/damage.hpp"
#include "eager/discipline.hpp"
#include "eager_map/engine.hpp"

#include <algorithm>

namespace hf {
namespace detail {

template <class Key, class Owned>
result<std::unique_ptr<eager_engine<Key, Owned>>> open_engine(const std::filesystem::path& path,
                                                              const eager_map_options& options) {
    const bool is_known = options.index.empty() || std::find(index_names.begin(), index_names.end(),
                                                             options.index) != index_names.end();
    if (!is_known) {
        return failure({errc::usage, "open the eager map", path.string(),
                        "there is no index \"" + options.index + "\"",
                        "choose clht, art, hot, bwtree or masstree"});
    }
    if (options.transient) return open_for<eager_transient_discipline, Key, Owned>(path, options);
    return open_for<eager_discipline, Key, Owned>(path, options);
}

template result<std::unique_ptr<eager_engine<std::string_view, std::string>>>
open_engine<std::string_view, std::string>(const std::filesystem::path&, const eager_map_options&);
template result<std::unique_ptr<eager_engine<u64, u64>>> open_engine<u64, u64>(
    const std::filesystem::path&, const eager_map_options&);

}  // namespace detail

const std::vector<std::string>& eager_index_names() {
    static const std::vector<std::string> names(detail::index_names.begin(),
                                                detail::index_names.end());
    return names;
}

template <class Key, class Owned>
result<basic_eager_map<Key, Owned>> basic_eager_map<Key, Owned>::open(
    const std::filesystem::path& path, const eager_map_options& options) {
    if (options.region.mode == open_mode::inspect) {
        return failure({errc::usage, "open the eager map", path.string(),
                        "a map is not opened for inspection", "use `holdfast check`"});
    }
    auto made = detail::open_engine<Key, Owned>(path, options);
    if (!made) return tl::unexpected(made.error());
    return basic_eager_map(std::move(*made));
}

template <class Key, class Owned>
basic_eager_map<Key, Owned>::basic_eager_map(std::unique_ptr<detail::eager_engine<Key, Owned>> e)
    : engine_(std::move(e)) {}
template <class Key, class Owned>
basic_eager_map<Key, Owned>::basic_eager_map(basic_eager_map&&) noexcept = default;

template <class Key, class Owned>
basic_eager_map<Key, Owned>& basic_eager_map<Key, Owned>::operator=(basic_eager_map&& m) noexcept {
    if (engine_ != nullptr) static_cast<void>(close());
    engine_ = std::move(m.engine_);
    return *this;
}

template <class Key, class Owned>
basic_eager_map<Key, Owned>::~basic_eager_map() {
    if (engine_ != nullptr) static_cast<void>(close());
}

template <class Key, class Owned>
detail::eager_engine<Key, Owned>& basic_eager_map<Key, Owned>::engine() const {
    HF_CHECK(engine_ != nullptr, "the map was closed");
    return *engine_;
}

template <class Key, class Owned>
result<bool> basic_eager_map<Key, Owned>::insert(Key key, Key value) {
    if (auto ok = engine().space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine().insert(key, value);
}
template <class Key, class Owned>
result<std::uint64_t> basic_eager_map<Key, Owned>::insert_many(
    std::span<const std::pair<Key, Key>> entries) {
    return engine().insert_many(entries);
}
template <class Key, class Owned>
result<bool> basic_eager_map<Key, Owned>::put(Key key, Key value) {
    if (auto ok = engine().space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine().put(key, value);
}
template <class Key, class Owned>
result<bool> basic_eager_map<Key, Owned>::update(Key key, Key value) {
    if (auto ok = engine().space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine().update(key, value);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::remove(Key key) {
    // waits for a slow disk; a removal needs no space
    static_cast<void>(engine().space().accepts_writes());
    return engine().remove(key);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::get(Key key, Owned& value) const {
    return engine().get(key, value);
}
template <class Key, class Owned>
std::optional<Owned> basic_eager_map<Key, Owned>::get(Key key) const {
    std::optional<Owned> found(std::in_place);
    if (!engine().get(key, *found)) found.reset();
    return found;
}
template <class Key, class Owned>
result<std::size_t> basic_eager_map<Key, Owned>::get_runs(std::span<const Key> keys,
                                                          run_of_hits found, void* of) const {
    const auto& from = engine();
    try {
        return from.get_runs(keys, found, of);
    } catch (const damage& d) {
        return failure(d.to_error("read from the eager map", from.space().file().path()));
    }
}
template <class Key, class Owned>
void basic_eager_map<Key, Owned>::for_each(const visitor& visit) const {
    engine().for_each(visit);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::is_ordered() const noexcept {
    return engine().is_ordered();
}
template <class Key, class Owned>
template <class Scan>
result<std::uint64_t> basic_eager_map<Key, Owned>::scan_by(Scan&& found) const {
    if (!is_ordered()) {
        return failure({errc::usage, "scan the eager map", engine().space().file().path().string(),
                        "its index has no order",
                        "use for_each, or a region with the index art, hot, bwtree or masstree"});
    }
    try {
        return found();
    } catch (const damage& d) {
        return failure(d.to_error("scan the eager map", engine().space().file().path()));
    }
}
template <class Key, class Owned>
result<std::uint64_t> basic_eager_map<Key, Owned>::scan(Key from, std::uint64_t most,
                                                        const visitor& visit,
                                                        bool backwards) const {
    return scan_by([&] { return engine().scan(from, most, backwards, visit); });
}
template <class Key, class Owned>
result<std::uint64_t> basic_eager_map<Key, Owned>::scan_runs(Key from, std::uint64_t most,
                                                             bool backwards, run_visitor visit,
                                                             void* of) const {
    return scan_by([&] { return engine().scan_runs(from, most, backwards, visit, of); });
}
template <class Key, class Owned>
std::string_view basic_eager_map<Key, Owned>::index() const noexcept {
    return engine().name();
}
template <class Key, class Owned>
std::uint64_t basic_eager_map<Key, Owned>::size() const noexcept {
    return engine().space().file().size();
}
template <class Key, class Owned>
ticket basic_eager_map<Key, Owned>::current_epoch() const noexcept {
    return engine().space().current_epoch();
}
template <class Key, class Owned>
ticket basic_eager_map<Key, Owned>::durable_epoch() const noexcept {
    return engine().space().durable_epoch();
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::wait_durable(ticket t) {
    return engine().space().wait_durable(t);
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::sync() {
    return wait_durable(current_epoch());
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::wait_for_sweep() {
    return engine().space().wait_for_sweep();
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::close() {
    if (engine_ == nullptr) return {};
    if (engine_->made_in.is_inherited()) return leave_to_parent(engine_, "close the map");
    auto done = engine_->space().close();
    engine_.reset();
    return done;
}

template class basic_eager_map<std::string_view, std::string>;
template class basic_eager_map<std::uint64_t, std::uint64_t>;

}  // namespace hf
