// map_write.cpp: the public map's writes.
//
// Small values are stored in blocks, written within the operation and flushed with its epoch. Large
// values: large_value.hpp.
#include "map/map_impl.hpp"

namespace hf {

using map_detail::check_key;
using map_detail::too_large;

namespace {

result<void> check_writable(engine<incll_discipline>* machine) {
    if (machine == nullptr) [[unlikely]] {
        return failure(map_detail::closed("write to the map"));
    }
    const region& r = machine->file();
    if (r.read_only()) {
        return failure({errc::denied, "write to the map", r.path().string(),
                        "it was opened for inspection", "open it for writing"});
    }
    machine->epochs().slow_writer();
    return machine->epochs().accepts_writes();
}

result<void> check_sizes(std::string_view key, std::string_view value) {
    if (value.size() > max_value_size) {
        return failure(too_large("store the value", value.size(), max_value_size));
    }
    return check_key(key);
}

}  // namespace

tl::unexpected<error> map::impl::explained(error why) const {
    const u64 idle = idle_when_full.load(std::memory_order_relaxed);
    if (idle >= live().file().size() / 16) {
        why.why += "; " + std::to_string(idle >> 20) + " MiB are free in blocks of other sizes";
        why.next =
            "remove records of about this size, or so many that whole slabs of 64 KiB are free; "
            "allow a larger maximal size; or close the region and compact it (holdfast compact)";
    }
    return failure(std::move(why));
}

void map::impl::tidy(std::string_view key) const {
    epochs().end_epoch(epochs().current_epoch());
    std::ignore = meeting_damage("write to the map", [&] {
        operation op(checkpoint());
        return tree().update(op, key, [](const record*) { return decision{}; }, false);
    });
}

result<write_outcome> map::impl::store_small(std::string_view key, std::string_view value,
                                             const condition* allowed) const {
    tree().prefetch_hint(key);
    operation op(checkpoint());
    tree().prefetch_hinted(op, key);
    if (tree().lies_inline(key, value)) {
        const decision put = decision::to_store(tree_type::cell::of_value(value));
        auto done = tree().update(
            op, key,
            [&](const record* old) {
                const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
                return allowed == nullptr || (*allowed)(view) ? put : decision{};
            },
            allowed == nullptr);
        if (!done) return tl::unexpected(done.error());
        return write_outcome{op.epoch(), done->changed, done->existed};
    }
    auto fresh = tree().make_record(op, key, value);
    if (!fresh) return tl::unexpected(fresh.error());
    undo_unless_stored undo{[&] { tree().drop_record(op, *fresh); }};
    const auto decide = [&](const record* old) {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        if (allowed != nullptr && !(*allowed)(view)) return decision{};
        return decision{decision::action::store, *fresh};
    };
    auto done = tree().update(op, key, decide, allowed == nullptr);
    if (!done) return tl::unexpected(done.error());
    undo.stored = done->changed;
    return write_outcome{op.epoch(), done->changed, done->existed};
}

result<write_outcome> map::impl::store(std::string_view key, std::string_view value,
                                       const condition* allowed) const {
    if (auto ok = check_sizes(key, value); !ok) return tl::unexpected(ok.error());
    if (eager) [[unlikely]] {
        return meeting_eager_damage("write to the map",
                                    [&] { return eager->store(key, value, allowed); });
    }
    if (auto ok = check_writable(machine.get()); !ok) return tl::unexpected(ok.error());
    return with_room(key, [&] {
        return is_large(masstree_detail::record_payload(key, value.size()))
                   ? store_large_value(*machine, key, value, allowed)
                   : store_small(key, value, allowed);
    });
}

result<write_outcome> map::put(std::string_view key, std::string_view value) {
    return impl_->store(key, value, nullptr);
}

result<write_outcome> map::put_if(
    std::string_view key, std::string_view value,
    const std::function<bool(std::optional<std::string_view>)>& condition) {
    return impl_->store(key, value, &condition);
}

result<write_outcome> map::remove(std::string_view key) { return remove_if(key, {}); }

result<write_outcome> map::remove_if(std::string_view key,
                                     const std::function<bool(std::string_view)>& condition) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    if (impl_->eager) {
        return impl_->meeting_eager_damage("write to the map",
                                           [&] { return impl_->eager->erase(key, condition); });
    }
    if (auto ok = check_writable(impl_->machine.get()); !ok) return tl::unexpected(ok.error());
    return impl_->with_room(key, [&] { return impl_->erase(key, condition); });
}

result<write_outcome> map::impl::erase(std::string_view key,
                                       const std::function<bool(std::string_view)>& allowed) const {
    tree().prefetch_hint(key);
    operation op(checkpoint());
    const auto decide = [&](const record* old) {
        const bool erase = old != nullptr && (!allowed || allowed(old->value()));
        return decision{erase ? decision::action::erase : decision::action::keep, 0};
    };
    auto done = tree().update(op, key, decide, !allowed);
    if (!done) return tl::unexpected(done.error());
    return write_outcome{op.epoch(), done->changed, done->existed};
}

result<write_outcome> map::modify(
    std::string_view key,
    const std::function<edit(std::optional<std::string_view> old, std::string& fresh)>& change) {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    if (impl_->eager) {
        return impl_->meeting_eager_damage("write to the map",
                                           [&] { return impl_->eager->change(key, change); });
    }
    if (auto ok = check_writable(impl_->machine.get()); !ok) return tl::unexpected(ok.error());
    return impl_->with_room(key, [&] { return impl_->change(key, change); });
}

result<write_outcome> map::impl::change(std::string_view key, const modification& change) const {
    tree().prefetch_hint(key);
    std::string value;
    std::optional<error> failed;
    u64 made = 0;
    operation op(checkpoint());
    auto done = tree().update(op, key, [&](const record* old) -> decision {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        const edit what = change(view, value);
        if (what == edit::keep) return {};
        if (what == edit::remove) return {decision::action::erase, 0};
        if (is_large(masstree_detail::record_payload(key, value.size()))) {
            failed = too_large("modify the value in place", value.size(), largest_block);
            return {};
        }
        if (tree().lies_inline(key, value)) {
            return decision::to_store(tree_type::cell::of_value(value));
        }
        auto fresh = tree().make_record(op, key, value);
        if (!fresh) {
            failed = fresh.error();
            return {};
        }
        made = *fresh;
        return {decision::action::store, made};
    });
    if (!done) {
        if (made != 0) tree().drop_record(op, made);
        return tl::unexpected(done.error());
    }
    if (failed) return failure(*failed);
    return write_outcome{op.epoch(), done->changed, done->existed};
}

}  // namespace hf
