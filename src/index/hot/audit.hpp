// hot/audit.hpp: part of hot.hpp: creating a trie, tracing for the sweep, auditing.
#pragma once

#include "index/hot/hot.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hf {

// ----------------------------------------------------------------------------------------- opening

template <class D, class Keys>
error hot<D, Keys>::damaged(const char* attempt, u64 offset, std::string why) const {
    return {errc::corrupt, attempt,
            space_.file().path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

/// Creates an empty trie, durably: its root block.
template <class D, class Keys>
result<u64> hot<D, Keys>::create_root(eager_space& space) {
    operation op(space);
    auto offset = op.allocate(line_size);
    if (!offset) return offset;
    auto* r = op.template at<hot_detail::root_block>(*offset);
    r->lock.fill(node_lock::fresh(0, false, op.generation()));
    r->word.fill(0);
    op.written_line(r);
    op.persist_publication();
    return offset;
}

template <class D, class Keys>
result<std::unique_ptr<hot<D, Keys>>> hot<D, Keys>::open(eager_space& space,
                                                         std::string_view root) {
    constexpr u64 type = hot_detail::root_type + (Keys::inline_values ? 1 : 0);
    std::unique_ptr<hot> made(new hot(space));
    const auto there =
        find_or_create_root(space, root, {"open the HOT", type, format.version}, create_root);
    if (!there) return tl::unexpected(there.error());
    const u64 offset = *there;
    const swept::run* r = space.heap().run_of(offset);
    if (r == nullptr || !r->begins_at(offset)) {
        return failure(made->damaged("open the HOT", offset, "its root is no block"));
    }
    made->root_offset_ = offset;
    made->root_ = made->template at<hot_detail::root_block>(offset);
    space.add_structure(*made);
    return made;
}

// --------------------------------------------------------------------------------------- the sweep

template <class D, class Keys>
void hot<D, Keys>::trace_roots(tracer& t) const {
    t.visit(root_offset_, static_cast<u32>(what::root));
}

template <class D, class Keys>
void hot<D, Keys>::trace(u64 offset, u32 kind, tracer& t) const {
    using namespace hot_detail;
    const auto visit = [&t](u64 word) {
        t.visit(slot_word::offset_of(word), slot_word::kind_of(word));
    };
    if (kind == static_cast<u32>(what::root)) return visit(at<root_block>(offset)->word.load());
    const u64 word = slot_word::of_kind(kind, offset);
    const published* words = at<node>(offset)->words(word);
    for (u32 i = 0; i < slot_word::count_of(word); ++i) visit(words[i].load());
}

// ------------------------------------------------------------------------------------------ audits

template <class D, class Keys>
struct hot<D, Keys>::audit_state {
    using kept_key = std::conditional_t<std::is_same_v<key, std::string_view>, std::string, key>;
    heap_audit& a;
    std::vector<level> chain;  ///< the path to the node being audited
    std::optional<kept_key> last = std::nullopt;
};

template <class D, class Keys>
bool hot<D, Keys>::claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is,
                         u64 from) const {
    const auto block = a.locate(offset, 0);
    if (!block || block->room < bytes) {
        a.report().add(from, std::string("what should be ") + what_it_is + " is no such block");
        a.report().mark_incomplete();
        return false;
    }
    return a.claim(*block, what_it_is, from);
}

template <class D, class Keys>
void hot<D, Keys>::audit_record(audit_state& s, u64 word, u64 from) const {
    using namespace hot_detail;
    const u64 offset = slot_word::offset_of(word);
    if (!claim(s.a, offset, sizeof(record), "a record", from)) return;
    const auto block = s.a.locate(offset, 0);
    const record& r = *at<record>(offset);
    if (!Keys::is_whole(r, block->room)) return s.a.report().add(offset, "a record is damaged");
    const key k = Keys::key_of(r);
    for (const level& l : s.chain) {
        if (find(l.n, l.word, k) == l.index) continue;
        s.a.report().add(from, "a record lies where its key does not lead");
        break;
    }
    if (s.last && path::compare(key(*s.last), k) >= 0) {
        s.a.report().add(from, "a record's key is not above the one before it");
    }
    s.last = typename audit_state::kept_key(k);
    if (slot_word::what_of(word) == what::record) ++s.a.report().tree.records;
}

/// Audits a node's format. Returns whether its entries can be walked.
template <class D, class Keys>
bool hot<D, Keys>::audit_node(audit_state& s, u64 word, u64 from) const {
    using namespace hot_detail;
    const what w = slot_word::what_of(word);
    const u32 count = slot_word::count_of(word);
    if (!is_node_kind(w) || count < 2 || count > most_entries ||
        (path::is_short && has_groups(w))) {
        s.a.report().add(from, "a word points to something unknown");
        s.a.report().mark_incomplete();
        return false;
    }
    const u64 offset = slot_word::offset_of(word);
    if (!claim(s.a, offset, size_of(word), "a node of a HOT", from)) return false;
    ++s.a.report().tree.interiors;
    const node* n = node_of(word);
    const auto bad = [&](const char* text) { s.a.report().add(offset, text); };
    if ((n->lock.load() & node::obsolete) != 0) bad("a node that was replaced is still there");
    u32 bits = 0;
    for (u32 g = 0; g < (has_groups(w) ? groups_of(w) : 1); ++g) {
        bits += static_cast<u32>(std::popcount(n->masks[g]));
    }
    if (bits == 0 || bits >= count || bits > (u32{8} << width_bits(w))) {
        bad("a node's mask does not suit its entries");
        return true;
    }
    u32 used = 0;
    for (u32 i = 0; i < count; ++i) {
        used |= n->key(w, i);
        if (i == 0 ? n->key(w, 0) != 0 : n->key(w, i) <= n->key(w, i - 1)) {
            bad("a node's sparse keys are not in order");
        }
    }
    if (used != ~u32{0} >> (32 - bits)) bad("a node has bits that no entry asks for");
    if (!s.chain.empty()) {
        const node* above = s.chain.back().n;
        if (n->height() >= above->height() && n->height() != 0xfff) {
            bad("a node is not below its parent");
        }
        if (n->first_bit(w) <= above->first_bit(slot_word::what_of(s.chain.back().word))) {
            bad("a node asks for bits that its parent has asked for");
        }
    }
    return true;
}

template <class D, class Keys>
void hot<D, Keys>::audit(heap_audit& a) const {
    using namespace hot_detail;
    audit_state s{a, {}};
    if (!claim(a, root_offset_, sizeof(root_block), "the root of a HOT", root_offset_)) return;
    const auto look_at = [&](const published& slot) {
        const u64 word = slot.load();
        const u64 from = offset_from(base_, &slot);
        const what w = slot_word::what_of(word);
        if (w == what::record || w == what::dead) {
            audit_record(s, word, from);
        } else if (audit_node(s, word, from)) {
            s.chain.push_back({node_of(word), word, 0});
            return true;
        }
        return false;
    };
    if (root_->word.load() == 0) return;
    look_at(root_->word);
    while (!s.chain.empty()) {
        const level top = s.chain.back();
        if (top.index == slot_word::count_of(top.word)) {
            s.chain.pop_back();
            if (!s.chain.empty()) ++s.chain.back().index;
        } else if (!look_at(top.n->words(top.word)[top.index])) {
            ++s.chain.back().index;
        }
    }
}

}  // namespace hf
