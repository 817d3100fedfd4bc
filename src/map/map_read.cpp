// map_read.cpp: the public map's reads.
//
// A large value (size_class.hpp) must not delay the epoch's end while megabytes are copied: get()
// pins its extent, leaves the operation, and copies then.
#include "map/map_impl.hpp"
#include "map/read_batch.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hf {

using map_detail::check_key;

/// Copies in place if the length is the same, which is common for repeated reads.
inline void replace(std::string& out, std::string_view value) {
    if (out.size() != value.size()) {
        out.assign(value);
    } else if (!value.empty()) {
        std::memcpy(out.data(), value.data(), value.size());
    }
}

/// Throws damage.
inline bool map::impl::get(std::string_view key, std::string& out) const {
    engine<incll_discipline>& e = live();
    tree_type& t = e.tree();
    t.prefetch_hint(key);
    lane& l = e.epochs().my_lane();
    std::optional<pin> pinned;
    std::string_view value;
    masstree_detail::record_word head;
    u64 offset = 0;
    {
        operation op(e.checkpoint(), l);
        const tree_type::cell found = t.find_cell(op, key);
        if (masstree_detail::cell_kind::is_inline(found.kind)) {
            replace(out, found.value());
            return true;
        }
        if (found.kind == masstree_detail::cell_kind::none) return false;
        offset = found.word;
        const record* r = t.record_at(offset);
        head = r->head;
        value = r->value();
        if (is_large(r->payload())) [[unlikely]] {
            pinned.emplace(l, offset - block_header_size);
        } else {
            replace(out, value);
        }
    }
    if (pinned) [[unlikely]] {
        out.assign(value);
    }
    if (verifies_reads) t.check_value(key, head, out, offset);
    return true;
}

void map::prefetch(std::span<const std::string_view> keys) const {
    if (impl_->machine == nullptr) return;
    try {
        while (!keys.empty()) {
            const auto group = keys.first(std::min(keys.size(), impl::tree_type::most_finds));
            keys = keys.subspan(group.size());
            const operation op(impl_->checkpoint());
            impl_->tree().prefetch(op, group);
        }
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): a get() of the key will report it
    }
}

result<bool> map::get(std::string_view key, std::string& out) const {
    if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    if (impl_->eager) [[unlikely]] {
        return impl_->meeting_eager_damage(
            "read from the map", [&]() -> result<bool> { return impl_->eager->get(key, out); });
    }
    return impl_->meeting_damage("read from the map",
                                 [&]() -> result<bool> { return impl_->get(key, out); });
}

result<std::size_t> map::get_many(std::span<const std::string_view> keys,
                                  const finder& found) const {
    for (const std::string_view key : keys) {
        if (auto ok = check_key(key); !ok) return tl::unexpected(ok.error());
    }
    if (impl_->eager) {
        return impl_->meeting_eager_damage("read from the map", [&]() -> result<std::size_t> {
            return impl_->eager->get_many(keys, found);
        });
    }
    return impl_->meeting_damage("read from the map", [&] { return impl_->get_many(keys, found); });
}

result<std::size_t> map::impl::get_many(std::span<const std::string_view> keys,
                                        const finder& found) const {
    constexpr std::size_t at_once = tree_type::most_finds;
    std::array<tree_type::cell, at_once> cells{};
    std::size_t count = 0;
    for (std::size_t next = 0; next < keys.size();) {
        const auto group = keys.subspan(next, std::min(keys.size() - next, at_once));
        for (const std::string_view key : group) tree().prefetch_hint(key);
        read_batch batch(group.size());
        {
            operation op(checkpoint());
            tree().find_many(op, group, cells.data());
            bool full = false;
            for (std::size_t i = 0; i < group.size() && !full; ++i, ++next) {
                const tree_type::cell& c = cells[i];
                if (c.kind == masstree_detail::cell_kind::none) continue;
                full = masstree_detail::cell_kind::is_inline(c.kind)
                           ? !batch.add(next, {}, c.value())
                           : !batch.add(op, next, {}, *tree().record_at(c.word), c.word);
            }
        }
        batch.complete();
        for (const read_batch::piece& p : batch) {
            if (verifies_reads && p.offset != 0) {
                tree().check_value(keys[p.number], p.head(), batch.value(p), p.offset);
            }
            found(p.number, batch.value(p));
        }
        count += batch.size();
    }
    return count;
}

namespace {

/// The first batch is small because most scans are short (a page of ten records), and records that
/// are fetched but not visited are wasted. Batches grow, so that a long scan needs few descents.
constexpr std::size_t first_batch = 10;
constexpr std::size_t growth = 2;

/// Visits the records batch by batch. `fill(start, exclusive, batch)` reads the tree within an
/// operation and returns true at the end of the tree.
template <class Fill>
result<std::size_t> deliver(const masstree<incll_discipline>& tree, bool verifies,
                            std::optional<std::string_view> start, bool exclusive,
                            const map::visitor& visit, Fill fill) {
    std::size_t visited = 0;
    std::string last;
    for (std::size_t room = first_batch;;
         room = std::min(room * growth, read_batch::most_records)) {
        read_batch batch(room);
        const bool end = fill(start, exclusive, batch);
        batch.complete();
        for (const read_batch::piece& p : batch) {
            if (verifies && p.offset != 0)
                tree.check_value(batch.key(p), p.head(), batch.value(p), p.offset);
            ++visited;
            if (!visit(batch.key(p), batch.value(p))) return visited;
        }
        if (end) return visited;
        last.assign(batch.key(*(batch.end() - 1)));
        start = last;
        exclusive = true;
    }
}

/// Receives the records of a scan from the tree.
struct taker {
    operation& op;
    const masstree<incll_discipline>& tree;
    read_batch& batch;

    bool operator()(std::string_view key, std::string_view value) const {
        const auto* r = reinterpret_cast<const masstree_detail::record*>(value.data()) - 1;
        // A large value gets a batch of its own: the visitor may stop before it.
        if (is_large(r->payload()) && batch.size() != 0) return false;
        return batch.add(op, 0, key, *r, offset_from(tree.base(), r));
    }
    [[nodiscard]] bool inlined(std::string_view key, const masstree_detail::cell& value) const {
        return batch.add(0, key, value.value());
    }
    /// The number of records that still fit.
    [[nodiscard]] std::size_t room() const noexcept { return batch.room(); }
};

}  // namespace

result<std::size_t> map::scan(std::string_view from, const visitor& visit, bool exclusive) const {
    if (auto ok = check_key(from); !ok) return tl::unexpected(ok.error());
    if (impl_->eager) {
        return impl_->meeting_eager_damage(
            "read from the map", [&] { return impl_->eager->scan(from, exclusive, false, visit); });
    }
    const auto fill = [&](const auto& start, bool without, read_batch& batch) {
        operation op(impl_->checkpoint());
        return impl_->tree().scan(op, *start, without, taker{op, impl_->tree(), batch});
    };
    return impl_->meeting_damage("read from the map", [&] {
        impl_->tree().prefetch_hint(from);
        return deliver(impl_->tree(), impl_->verifies_reads, from, exclusive, visit, fill);
    });
}

result<std::size_t> map::scan_backward(std::optional<std::string_view> from, const visitor& visit,
                                       bool exclusive) const {
    if (from) {
        if (auto ok = check_key(*from); !ok) return tl::unexpected(ok.error());
    }
    if (impl_->eager) {
        return impl_->meeting_eager_damage(
            "read from the map", [&] { return impl_->eager->scan(from, exclusive, true, visit); });
    }
    const auto fill = [&](const auto& start, bool without, read_batch& batch) {
        operation op(impl_->checkpoint());
        return impl_->tree().scan_backward(op, start, without, taker{op, impl_->tree(), batch});
    };
    return impl_->meeting_damage("read from the map", [&] {
        return deliver(impl_->tree(), impl_->verifies_reads, from, exclusive, visit, fill);
    });
}

result<std::size_t> map::walk(std::string& cursor, std::size_t about, const visitor& visit) const {
    if (impl_->eager && !impl_->eager->is_ordered()) {
        return impl_->meeting_eager_damage("read from the map", [&]() -> result<std::size_t> {
            return impl_->eager->walk(cursor, about, visit);
        });
    }
    // The cursor is 'k' and the last key visited, because the empty key is valid, too.
    const bool begins = cursor.empty();
    const std::string from = begins ? "" : cursor.substr(1);
    std::size_t left = std::max<std::size_t>(about, 1);
    bool over = true;
    auto walked = scan(
        from,
        [&](std::string_view key, std::string_view value) {
            const bool goes_on = visit(key, value) && --left != 0;
            if (!goes_on) {
                over = false;
                cursor.assign("k").append(key);
            }
            return goes_on;
        },
        !begins);
    if (walked && over) cursor.clear();
    return walked;
}

}  // namespace hf
