// checkpoint_map/read.cpp: reads.
//
// A large value (size_class.hpp) must not delay the epoch's end while megabytes are copied: get()
// pins its extent, leaves the operation, and copies then.
#include "checkpoint_map/checkpoint_map.hpp"
#include "checkpoint_map/read_batch.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hf {

/// Copies in place if the length is the same, which is common for repeated reads.
inline void replace(std::string& out, std::string_view value) {
    if (out.size() != value.size()) {
        out.assign(value);
    } else if (!value.empty()) {
        std::memcpy(out.data(), value.data(), value.size());
    }
}

bool checkpoint_map::get(std::string_view key, std::string& out) const {
    engine<incll_discipline>& e = machine();
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
    if (verifies_reads_) t.check_value(key, head, out, offset);
    return true;
}

void checkpoint_map::prefetch(std::span<const std::string_view> keys) const {
    try {
        while (!keys.empty()) {
            const auto group = keys.first(std::min(keys.size(), tree_type::most_finds));
            keys = keys.subspan(group.size());
            const operation op(checkpoint());
            tree().prefetch(op, group);
        }
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): a get() of the key will report it
    }
}

std::size_t checkpoint_map::get_many(std::span<const std::string_view> keys,
                                     const map::finder& found) const {
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
            if (verifies_reads_ && p.offset != 0) {
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

result<std::size_t> checkpoint_map::scan(std::optional<std::string_view> from, bool exclusive,
                                         bool backwards, const map::visitor& visit) const {
    const auto fill = [&](const auto& start, bool without, read_batch& batch) {
        operation op(checkpoint());
        const taker into{op, tree(), batch};
        return backwards ? tree().scan_backward(op, start, without, into)
                         : tree().scan(op, *start, without, into);
    };
    if (!backwards) tree().prefetch_hint(*from);
    return deliver(tree(), verifies_reads_, from, exclusive, visit, fill);
}

}  // namespace hf
