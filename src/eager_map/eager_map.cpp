#include "base/check.hpp"
#include "base/damage.hpp"
#include "eager_map/indexes.hpp"

#include <algorithm>

namespace hf {
namespace detail {
namespace {

/// The name of the index that the region has; "": none yet.
result<std::string> index_in(const region& r, std::string_view keys) {
    for (const layout::root& entry : r.header().roots) {
        if (entry.value.load(std::memory_order_acquire) == 0) continue;
        const std::string name(entry.name, ::strnlen(entry.name, sizeof entry.name));
        for (const std::string_view index : index_names) {
            if (name == root_name(index, keys)) return std::string(index);
        }
        return failure({errc::incompatible, "open the eager map", r.path().string(),
                        "it holds \"" + name + "\", and not an index of " + std::string(keys),
                        "open it as what it was made"});
    }
    return std::string();
}

template <class D, class Key, class Owned>
result<std::unique_ptr<eager_engine<Key, Owned>>> open_for(const std::filesystem::path& path,
                                                           const eager_map_options& options) {
    using keys = typename keys_for<Key>::type;
    eager_options o;
    o.region = options.region;
    o.region.kind = D::kind;
    o.epoch = options.epoch;
    o.sweep = options.sweep_in_background ? sweeping::in_background : sweeping::at_opening;
    o.sweep_threads = std::max(1U, options.sweep_threads);
    std::unique_ptr<eager_engine<Key, Owned>> made;
    const auto rooms = formats_of_all<D, keys>();
    auto space = eager_space::open(path, o, rooms, [&](eager_space& s) -> result<void> {
        auto there = index_in(s.file(), keys_for<Key>::name);
        if (!there) return tl::unexpected(there.error());
        if (!there->empty() && !options.index.empty() && *there != options.index) {
            return failure({errc::incompatible, "open the eager map", path.string(),
                            "its index is " + *there + ", and not " + options.index,
                            "name that one, or none"});
        }
        if (there->empty() && s.file().read_only()) {
            return failure({errc::not_found, "open the eager map", path.string(),
                            "no index has been made in it yet", "open it for writing first"});
        }
        const std::string name = !there->empty()         ? *there
                                 : options.index.empty() ? "clht"
                                                         : options.index;
        return for_index<D, keys>(name, [&]<class Index>() -> result<void> {
            auto index = Index::open(s, root_name(name, keys_for<Key>::name));
            if (!index) return tl::unexpected(index.error());
            auto engine = std::make_unique<engine_of<Index>>();
            engine->index = std::move(*index);
            made = std::move(engine);
            return {};
        });
    });
    if (!space) return tl::unexpected(space.error());
    made->opened = std::move(*space);
    return made;
}

}  // namespace

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
result<bool> basic_eager_map<Key, Owned>::insert(Key key, Key value) {
    if (auto ok = engine_->space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine_->insert(key, value);
}
template <class Key, class Owned>
result<std::uint64_t> basic_eager_map<Key, Owned>::insert_many(
    std::span<const std::pair<Key, Key>> entries) {
    return engine_->insert_many(entries);
}
template <class Key, class Owned>
result<bool> basic_eager_map<Key, Owned>::put(Key key, Key value) {
    if (auto ok = engine_->space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine_->put(key, value);
}
template <class Key, class Owned>
result<bool> basic_eager_map<Key, Owned>::update(Key key, Key value) {
    if (auto ok = engine_->space().accepts_writes(); !ok) return tl::unexpected(ok.error());
    return engine_->update(key, value);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::remove(Key key) {
    static_cast<void>(engine_->space().accepts_writes());  // it needs no room but the disk's
    return engine_->remove(key);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::get(Key key, Owned& value) const {
    return engine_->get(key, value);
}
template <class Key, class Owned>
std::optional<Owned> basic_eager_map<Key, Owned>::get(Key key) const {
    std::optional<Owned> found(std::in_place);
    if (!engine_->get(key, *found)) found.reset();
    return found;
}
template <class Key, class Owned>
void basic_eager_map<Key, Owned>::for_each(const visitor& visit) const {
    engine_->for_each(visit);
}
template <class Key, class Owned>
bool basic_eager_map<Key, Owned>::is_ordered() const noexcept {
    return engine_->is_ordered();
}
template <class Key, class Owned>
result<std::uint64_t> basic_eager_map<Key, Owned>::scan(Key from, std::uint64_t most,
                                                        const visitor& visit,
                                                        bool backwards) const {
    if (!is_ordered()) {
        return failure({errc::usage, "scan the eager map", engine_->space().file().path().string(),
                        "its index has no order",
                        "use for_each, or a region with the index art, hot or bwtree"});
    }
    try {
        return engine_->scan(from, most, backwards, visit);
    } catch (const damage& d) {
        return failure(d.to_error("scan the eager map", engine_->space().file().path()));
    }
}
template <class Key, class Owned>
std::string_view basic_eager_map<Key, Owned>::index() const noexcept {
    return engine_->name();
}
template <class Key, class Owned>
std::uint64_t basic_eager_map<Key, Owned>::size() const noexcept {
    return engine_->space().file().size();
}
template <class Key, class Owned>
ticket basic_eager_map<Key, Owned>::current_epoch() const noexcept {
    return engine_->space().current_epoch();
}
template <class Key, class Owned>
ticket basic_eager_map<Key, Owned>::durable_epoch() const noexcept {
    return engine_->space().durable_epoch();
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::wait_durable(ticket t) {
    return engine_->space().wait_durable(t);
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::sync() {
    return wait_durable(current_epoch());
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::wait_for_sweep() {
    return engine_->space().wait_for_sweep();
}
template <class Key, class Owned>
result<void> basic_eager_map<Key, Owned>::close() {
    if (engine_ == nullptr) return {};
    auto done = engine_->space().close();
    engine_.reset();
    return done;
}

template class basic_eager_map<std::string_view, std::string>;
template class basic_eager_map<std::uint64_t, std::uint64_t>;

}  // namespace hf
