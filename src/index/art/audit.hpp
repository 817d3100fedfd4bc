// art/audit.hpp: part of art.hpp: creating a tree, tracing for the sweep, auditing.
#pragma once

#include "index/art/art.hpp"

#include <string>
#include <vector>

namespace hf {

// ----------------------------------------------------------------- creating and opening a tree

template <class D, class Keys>
error art<D, Keys>::damaged(const char* attempt, u64 offset, std::string why) const {
    return {errc::corrupt, attempt,
            space_.file().path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

/// Creates an empty tree, durably: its root.
template <class D, class Keys>
result<u64> art<D, Keys>::create_root(eager_space& space) {
    operation op(space);
    auto made = make_node<art_detail::node256>(op, prefix{});
    if (!made) return tl::unexpected(made.error());
    op.written(made->at, sizeof(art_detail::node256));
    op.persist_publication();
    return made->offset;
}

template <class D, class Keys>
result<std::unique_ptr<art<D, Keys>>> art<D, Keys>::open(eager_space& space,
                                                         std::string_view root) {
    constexpr u64 type = art_detail::root_type + (Keys::inline_values ? 1 : 0);
    std::unique_ptr<art> made(new art(space));
    const auto there =
        find_or_create_root(space, root, {"open the ART", type, format.version}, create_root);
    if (!there) return tl::unexpected(there.error());
    const u64 offset = *there;
    const swept::run* r = space.heap().run_of(offset);
    if (r == nullptr || !r->begins_at(offset)) {
        return failure(made->damaged("open the ART", offset, "its root is no block"));
    }
    made->root_offset_ = offset;
    made->root_ = made->template at<node>(offset);
    space.add_structure(*made);
    return made;
}

// --------------------------------------------------------------------------------------- the sweep

template <class D, class Keys>
void art<D, Keys>::trace_roots(tracer& t) const {
    t.visit(root_offset_, static_cast<u32>(what::n256));
}

template <class D, class Keys>
void art<D, Keys>::trace(u64 offset, u32 kind, tracer& t) const {
    using namespace art_detail;
    each_word(at<node>(offset), static_cast<what>(kind), [&](u64 word, published*) {
        const auto child = slot_word::what_of(word);
        t.visit(slot_word::offset_of(word), child == what::record ? leaf : static_cast<u32>(child));
    });
}

// ------------------------------------------------------------------------------------------ audits

template <class D, class Keys>
struct art<D, Keys>::audit_item {
    u64 word;
    u64 from;  ///< offset of the slot that contains it
    u32 depth;
    std::string known;  ///< the bytes that lead to it
};

template <class D, class Keys>
bool art<D, Keys>::claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is,
                         u64 from) const {
    const auto block = a.locate(offset, 0);
    if (!block || block->room < bytes) {
        a.report().add(from, std::string("what should be ") + what_it_is + " is no such block");
        a.report().mark_incomplete();
        return false;
    }
    return a.claim(*block, what_it_is, from);
}

namespace art_detail {

[[nodiscard]] inline std::string bytes_of(std::string_view k) { return std::string(k); }
[[nodiscard]] inline std::string bytes_of(u64 k) {
    std::string bytes(8, '\0');
    for (u32 i = 0; i < 8; ++i) bytes[i] = static_cast<char>(path_of<integer_keys>::at(k, i));
    return bytes;
}

}  // namespace art_detail

/// A record's key; nullopt: it cannot be read.
template <class D, class Keys>
std::optional<std::string> art<D, Keys>::audited_key(const heap_audit& a, u64 word) const {
    const u64 offset = art_detail::slot_word::offset_of(word);
    const auto block = a.locate(offset, 0);
    if (!block || block->room < sizeof(record)) return std::nullopt;
    const auto& r = *at<record>(offset);
    if (!Keys::is_whole(r, block->room)) return std::nullopt;
    return art_detail::bytes_of(Keys::key_of(r));
}

/// The key of any record below a node; trusts nothing on the path.
template <class D, class Keys>
std::optional<std::string> art<D, Keys>::audited_key_below(const heap_audit& a, u64 word) const {
    using namespace art_detail;
    for (u32 steps = 0; steps <= most_key_bytes; ++steps) {
        if (slot_word::what_of(word) == what::record) return audited_key(a, word);
        const auto block = a.locate(slot_word::offset_of(word), 0);
        if (!is_node_kind(slot_word::what_of(word)) || !block ||
            block->room < size_of(slot_word::what_of(word))) {
            return std::nullopt;
        }
        u64 next = 0;
        each_word(node_of(word), slot_word::what_of(word), [&](u64 w, published*) {
            if (next == 0 || slot_word::what_of(w) == what::record) next = w;
        });
        if (next == 0) return std::nullopt;
        word = next;
    }
    return std::nullopt;
}

template <class D, class Keys>
void art<D, Keys>::audit_node(heap_audit& a, const audit_item& i,
                              std::vector<audit_item>& more) const {
    using namespace art_detail;
    const auto kind = slot_word::what_of(i.word);
    const u64 here = slot_word::offset_of(i.word);
    node* n = node_of(i.word);
    const bool is_root = here == root_offset_;
    const prefix p = prefix_of(n);
    const auto bad = [&](const char* text) { a.report().add(here, text); };
    std::string full;
    if ((n->lock.load() & node::obsolete) != 0) bad("a node that was replaced is still there");
    if (is_root) {
        if (p.level != 0 || p.length != 0) return bad("the root of an ART has a prefix");
    } else {
        const auto below = audited_key_below(a, i.word);
        if (!below) return bad("a node of an ART has no record below it");
        if (p.level < i.depth || p.level > below->size())
            return bad("a node's level is impossible");
        full = below->substr(0, p.level);
        if (full.compare(0, i.depth, i.known) != 0) return bad("a node lies under wrong bytes");
    }
    // If I2 does not hold, a crash came between two words; the next writer repairs it.
    if (p.fits(i.depth)) {
        u64 bytes = 0;
        for (u32 b = 0; b < p.stored(); ++b)
            bytes = bytes << 8 | static_cast<u8>(full[i.depth + b]);
        if (bytes != p.bytes) bad("a node's prefix is not that of its keys");
    }
    ++a.report().tree.interiors;
    std::array<bool, 256> seen{};
    const published* end = end_of(n, kind);
    // Scans would read the word as a record.
    if (!path::can_end && end->load() != 0) bad("a key ends where none can");
    each_word(n, kind, [&](u64 word, published* slot) {
        const u64 from = offset_from(base_, slot);
        const u8 byte = slot_word::byte_of(word);
        if (slot == end) {
            if (slot_word::what_of(word) != what::record) bad("a node ends with no record");
            more.push_back({word, from, no_stop, full});
            return;
        }
        if (seen[byte]) bad("a node has two entries for a byte");
        seen[byte] = true;
        if (kind == what::n256 && slot != &static_cast<node256*>(n)->slots[byte]) {
            bad("an entry lies in another byte's slot");
        }
        more.push_back({word, from, p.level + 1, full + static_cast<char>(byte)});
    });
}

template <class D, class Keys>
void art<D, Keys>::audit(heap_audit& a) const {
    using namespace art_detail;
    std::vector<audit_item> left{{slot_word::of(0, what::n256, root_offset_), 0, 0, {}}};
    while (!left.empty()) {
        const audit_item i = std::move(left.back());
        left.pop_back();
        const u64 offset = slot_word::offset_of(i.word);
        const auto kind = slot_word::what_of(i.word);
        if (kind == what::record) {
            if (!claim(a, offset, sizeof(record), "a record", i.from)) continue;
            const auto k = audited_key(a, i.word);
            if (!k) {
                a.report().add(offset, "a record is damaged");
                continue;
            }
            const bool fits = i.depth == no_stop ? *k == i.known : k->starts_with(i.known);
            if (!fits) a.report().add(i.from, "a record lies under bytes that are not its key's");
            ++a.report().tree.records;
        } else if (!is_node_kind(kind)) {
            a.report().add(i.from, "a slot points to something unknown");
            a.report().mark_incomplete();
        } else if (claim(a, offset, size_of(kind), "a node of an ART", i.from)) {
            audit_node(a, i, left);
        }
    }
}

}  // namespace hf
