// checkpoint_map/write.cpp: writes.
//
// Small values are stored in blocks, written within the operation and flushed with its epoch. Large
// values: large_value.hpp.
#include "checkpoint_map/checkpoint_map.hpp"

namespace hf {

using map_detail::too_large;

result<void> checkpoint_map::check_writable() const {
    if (file().read_only()) return failure(map_detail::not_writable(file()));
    epochs().slow_writer();
    return epochs().accepts_writes();
}

tl::unexpected<error> checkpoint_map::explained(error why) const {
    const u64 idle = idle_when_full_.load(std::memory_order_relaxed);
    if (idle >= file().size() / 16) {
        why.why += "; " + std::to_string(idle >> 20) + " MiB are free in blocks of other sizes";
        why.next =
            "remove records of about this size, or so many that whole slabs of 64 KiB are free; "
            "allow a larger maximal size; or close the region and compact it (holdfast compact)";
    }
    return failure(std::move(why));
}

bool checkpoint_map::compact() const {
    const u64 before = compactions_.load();
    const std::lock_guard guard(compacting_);
    if (compactions_.load() != before) return true;
    const bool helped = compaction(*machine_).run(budget_);
    if (helped) ++compactions_;
    return helped;
}

void checkpoint_map::tidy(std::string_view key) const {
    epochs().end_epoch(epochs().current_epoch());
    try {
        operation op(checkpoint());
        std::ignore = tree().update(op, key, [](const record*) { return decision{}; }, false);
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): the next access will report it
    }
}

result<write_outcome> checkpoint_map::store_small(std::string_view key, std::string_view value,
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

result<write_outcome> checkpoint_map::store(std::string_view key, std::string_view value,
                                            const condition* allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    return with_room(key, [&] {
        return is_large(masstree_detail::record_payload(key, value.size()))
                   ? store_large_value(*machine_, key, value, allowed)
                   : store_small(key, value, allowed);
    });
}

result<write_outcome> checkpoint_map::erase(std::string_view key,
                                            const std::function<bool(std::string_view)>& allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    return with_room(key, [&] { return try_erase(key, allowed, !allowed); });
}

result<write_outcome> checkpoint_map::erase_unverified(
    std::string_view key, const std::function<bool(std::string_view)>& allowed) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    return with_room(key, [&] { return try_erase(key, allowed, true); });
}

result<write_outcome> checkpoint_map::try_erase(
    std::string_view key, const std::function<bool(std::string_view)>& allowed,
    bool unverified) const {
    tree().prefetch_hint(key);
    operation op(checkpoint());
    const auto decide = [&](const record* old) {
        const bool erase = old != nullptr && (!allowed || allowed(old->value()));
        return decision{erase ? decision::action::erase : decision::action::keep, 0};
    };
    auto done = tree().update(op, key, decide, unverified);
    if (!done) return tl::unexpected(done.error());
    return write_outcome{op.epoch(), done->changed, done->existed};
}

result<write_outcome> checkpoint_map::change(std::string_view key, const modification& change) {
    if (auto ok = check_writable(); !ok) return tl::unexpected(ok.error());
    return with_room(key, [&] { return try_change(key, change); });
}

result<write_outcome> checkpoint_map::try_change(std::string_view key,
                                                 const modification& change) const {
    tree().prefetch_hint(key);
    std::string value;
    std::optional<error> failed;
    u64 made = 0;
    operation op(checkpoint());
    undo_unless_stored undo{[&] {
        if (made != 0) tree().drop_record(op, made);
    }};
    auto done = tree().update(op, key, [&](const record* old) -> decision {
        const auto view = old != nullptr ? std::optional(old->value()) : std::nullopt;
        const map::edit what = change(view, value);
        if (what == map::edit::keep) return {};
        if (what == map::edit::remove) return {decision::action::erase, 0};
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
    if (!done) return tl::unexpected(done.error());
    undo.stored = true;
    if (failed) return failure(*failed);
    return write_outcome{op.epoch(), done->changed, done->existed};
}

}  // namespace hf
