// eager_masstree/audit.hpp: part of eager_masstree.hpp: creating a tree, tracing for the sweep,
// auditing.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

#include <map>
#include <optional>

namespace hf {

// ----------------------------------------------------------------------------------------- opening

template <class D, class Keys>
error eager_masstree<D, Keys>::damaged(const char* attempt, u64 offset, std::string why) const {
    return {errc::corrupt, attempt,
            space_.file().path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

/// Creates a layer with an empty leaf, durably.
template <class D, class Keys>
result<u64> eager_masstree<D, Keys>::create_root(eager_space& space) {
    operation op(space);
    auto block = op.allocate(sizeof(root_block));
    if (!block) return block;
    auto first = op.allocate(sizeof(node));
    if (!first) return first;
    auto* n = op.template at<node>(*first);
    n->fill_header(0, op.generation(), 0, 0, eager_masstree_detail::highest);
    op.written(n, sizeof *n);
    auto* b = op.template at<root_block>(*block);
    b->lock.fill(node_lock::fresh(0, false, op.generation()));
    b->word.fill(*first);
    op.written(b, sizeof *b);
    op.persist_publication();
    return block;
}

template <class D, class Keys>
result<std::unique_ptr<eager_masstree<D, Keys>>> eager_masstree<D, Keys>::open(
    eager_space& space, std::string_view root) {
    constexpr const char* attempt = "open the Masstree";
    constexpr u64 type = eager_masstree_detail::root_type + (Keys::inline_values ? 1 : 0);
    std::unique_ptr<eager_masstree> made(new eager_masstree(space));
    const auto there =
        find_or_create_root(space, root, {attempt, type, format.version}, create_root);
    if (!there) return tl::unexpected(there.error());
    const u64 offset = *there;
    const auto is_block = [&](u64 o) {
        const swept::run* r = space.heap().run_of(o);
        return r != nullptr && r->begins_at(o);
    };
    if (!is_block(offset)) return failure(made->damaged(attempt, offset, "its root is no block"));
    made->root_offset_ = offset;
    made->root_ = made->template at<root_block>(offset);
    if (!is_block(made->root_->word.load())) {
        return failure(made->damaged(attempt, offset, "its first node is no block"));
    }
    space.add_structure(*made);
    return made;
}

// --------------------------------------------------------------------------------------- the sweep

template <class D, class Keys>
void eager_masstree<D, Keys>::trace_roots(tracer& t) const {
    t.visit(root_offset_, static_cast<u32>(eager_masstree_detail::what::root));
}

/// Ignores pairs above `last`: the objects they refer to may have been removed elsewhere.
template <class D, class Keys>
void eager_masstree<D, Keys>::trace(u64 offset, u32 kind, tracer& t) const {
    using namespace eager_masstree_detail;
    constexpr u32 a_node = static_cast<u32>(what::node);
    if (kind != a_node) return t.visit(at<root_block>(offset)->word.load(), a_node);
    const node& n = *at<node>(offset);
    t.visit(n.next.load(), a_node);
    const bool is_leaf = n.level() == 0;
    if (is_leaf && !has_layers) return;
    const order_word o = n.used();
    const u64 last = n.last.load();
    for (unsigned r = 0; r < std::min(o.size(), width); ++r) {
        const auto& p = n.pairs[std::min(o.slot(r), width - 1)];
        if (p.key.load() > last) continue;
        const u64 word = p.word.load();
        if (is_leaf) {
            t.visit(entry_word::offset_of(word), entry_word::kind_of(word));
        } else {
            t.visit(word, a_node);
        }
    }
}

// ------------------------------------------------------------------------------------------ audits

template <class D, class Keys>
struct eager_masstree<D, Keys>::audit_state {
    heap_audit& a;
    std::vector<std::pair<u64, std::string>> layers;  ///< to be audited, each with its key prefix
    /// of the level above: the first key of each child
    std::map<u64, u64> children;
};

template <class D, class Keys>
bool eager_masstree<D, Keys>::claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is,
                                    u64 from) const {
    const auto block = a.locate(offset, 0);
    if (!block || block->room < bytes) {
        a.report().add(from, std::string("what should be ") + what_it_is + " is no such block");
        a.report().mark_incomplete();
        return false;
    }
    return a.claim(*block, what_it_is, from);
}

/// Audits an entry of a leaf with byte-string keys.
template <class D, class Keys>
void eager_masstree<D, Keys>::audit_entry(audit_state& s, u64 slice, u64 word, u64 from,
                                          const std::string& prefix) const {
    using namespace eager_masstree_detail;
    if constexpr (has_layers) {
        const u64 offset = entry_word::offset_of(word);
        const unsigned length_class = entry_word::class_of(word);
        const bool is_padded = length_class < 8 && slice << (8 * length_class) != 0;
        const bool may_be =
            entry_word::is_layer(word) ? length_class == longer : length_class <= longer;
        if (!may_be || is_padded) {
            s.a.report().add(from, "an entry is under a slice that no key has");
        }
        std::string whole = prefix;
        masstree_detail::append_slice(whole, slice, std::min(length_class, unsigned{8}));
        if (entry_word::is_layer(word)) {
            s.layers.emplace_back(offset, whole);
            return;
        }
        if (!claim(s.a, offset, sizeof(record), "a record", from)) return;
        const record& r = *at<record>(offset);
        if (!Keys::is_whole(r, s.a.locate(offset, 0)->room)) {
            return s.a.report().add(offset, "a record is damaged");
        }
        const auto k = Keys::key_of(r);
        const bool goes_on = length_class == longer;
        if (!k.starts_with(whole) || goes_on != (k.size() > whole.size())) {
            s.a.report().add(from, "a record lies where its key does not lead");
        }
    }
    ++s.a.report().tree.records;
}

/// Audits the nodes of a level from the left. Returns the leftmost node of the level below.
template <class D, class Keys>
u64 eager_masstree<D, Keys>::audit_level(audit_state& s, u64 leftmost, unsigned level,
                                         const std::string& prefix) const {
    using namespace eager_masstree_detail;
    std::map<u64, u64> below;
    std::optional<u64> end;  // the largest `last` so far
    u64 first = 0;
    u64 from = leftmost;
    for (u64 offset = leftmost; offset != 0; offset = at<node>(offset)->next.load()) {
        if (!claim(s.a, offset, sizeof(node), "a node of a Masstree", from)) break;
        from = offset;
        const node& n = *at<node>(offset);
        const auto bad = [&](const char* text) { s.a.report().add(offset, text); };
        ++(level == 0 ? s.a.report().tree.leaves : s.a.report().tree.interiors);
        const order_word o = n.used();
        if (n.level() != level || n.is_gone() || !o.is_valid()) {
            bad("a node is damaged");
            s.a.report().mark_incomplete();
            break;
        }
        const auto known = s.children.find(offset);
        if (known != s.children.end()) {
            if (known->second != (end ? *end + 1 : 0)) bad("a separator is not its child's first");
            s.children.erase(known);
        }
        const u64 last = n.last.load();
        // false for the right half of an interrupted split
        const bool has_range = !end || last > *end;
        std::optional<std::pair<u64, unsigned>> before;
        for (unsigned r = 0; r < o.size(); ++r) {
            const u64 k = n.key_at(o, r);
            const u64 word = n.pairs[o.slot(r)].word.load();
            const unsigned c = level == 0 && has_layers ? entry_word::class_of(word) : 0;
            if (before && std::pair(k, c) <= *before) bad("a node's keys are not in order");
            before = std::pair(k, c);
            if (k > last || !has_range) continue;
            if (end && k <= *end) bad("a key lies in a node of other keys");
            if (level == 0) {
                audit_entry(s, k, word, offset, prefix);
            } else {
                if (first == 0) first = word;
                below.emplace(word, k);
            }
        }
        if (end && last < *end) bad("a node's last key is below the one before");
        end = last;
    }
    if (end != highest) s.a.report().add(from, "the last node of a level is not the last");
    if (!s.children.empty())
        s.a.report().add(from, "a separator does not point to a node of its level");
    s.children = std::move(below);
    return first;
}

template <class D, class Keys>
void eager_masstree<D, Keys>::audit_layer(audit_state& s, u64 offset,
                                          const std::string& prefix) const {
    using namespace eager_masstree_detail;
    if (!claim(s.a, offset, sizeof(root_block), "the root of a layer", offset)) return;
    u64 leftmost = at<root_block>(offset)->word.load();
    const auto block = s.a.locate(leftmost, 0);
    if (!block || block->room < sizeof(node)) {
        s.a.report().add(offset, "what should be a node of a Masstree is no such block");
        return s.a.report().mark_incomplete();
    }
    s.children.clear();
    for (unsigned level = at<node>(leftmost)->level();; --level) {
        leftmost = audit_level(s, leftmost, level, prefix);
        if (level == 0 || leftmost == 0) return;
    }
}

template <class D, class Keys>
void eager_masstree<D, Keys>::audit(heap_audit& a) const {
    audit_state s{a, {}, {}};
    s.layers.emplace_back(root_offset_, "");
    while (!s.layers.empty()) {
        const auto [offset, prefix] = std::move(s.layers.back());
        s.layers.pop_back();
        audit_layer(s, offset, prefix);
    }
}

}  // namespace hf
