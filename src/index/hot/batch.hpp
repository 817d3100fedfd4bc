// hot/batch.hpp: a part of hot.hpp: many inserts under two fences (index/common/batch.hpp).
//
// A piece changes drafts. A node that an entry goes into is locked, and drafted once, for all
// entries that come to it; a split, a pair in a record's place and a full parent are drafts like
// any other. A way down that comes to a word whose node is drafted goes on in the draft. What
// drafts are linked by words of drafts is written from below when all entries are in, and becomes
// visible by one word, the topmost one, in a node that is not drafted, or in the root's block.
//
//     root's block -> node -> [draft] -> node            of each topmost draft one word:
//                       |        |                         all records and nodes    P1  (H1)
//                       |     [draft] -> record            all of these words       P2  (H2)
//                    [draft]                               what was drafted goes
//
// Locks. Of each node that is drafted, and of each that has a topmost draft's word. A piece waits
// for none, so their order is free; behind each it looks again, as a single writer does: the node
// is not obsolete, and the word leads to what it led to. A node that is locked, whoever has it or
// had it when he was killed, and one with dead records is left to single inserts, as is a dead
// record's key. Drafts that nothing came into, because a lock above was missing, are written all
// the same: a copy does no harm.
//
// No memory: nothing is visible, and all entries are inserted by themselves, or refused.
#pragma once

#include "index/hot/hot.hpp"

namespace hf {

/// A draft that a piece makes, and what it comes from.
template <class D, class Keys>
struct hot<D, Keys>::piece_draft {
    draft d;          ///< no entries: a split has left none of it
    u64 was = 0;      ///< the word of the node in whose place it comes; 0: it is in nobody's
    u64 instead = 0;  ///< the record's word that it replaces
    published* link = nullptr;  ///< of a topmost one
    u64 word = 0;               ///< when it has been written
};

template <class D, class Keys>
class hot<D, Keys>::piece_trie {
   public:
    piece_trie(const hot& tree, operation& op) : tree_(tree), op_(op) {
        drafts_.reserve(batch_entries);
    }
    piece_trie(const piece_trie&) = delete;
    piece_trie& operator=(const piece_trie&) = delete;
    ~piece_trie() { unlock(); }

    [[nodiscard]] placing place(key k, u64 record_word);
    [[nodiscard]] result<void> write(change& c);
    void publish();

   private:
    using what = hot_detail::what;
    /// Of a word in a draft that leads to another: its number is the offset.
    static constexpr what drafted = static_cast<what>(15);

    /// A node or a draft on a way down, and where it was left.
    struct step {
        node* n;    ///< nullptr: draft number `of`
        u64 of;     ///< else the word that leads to it
        u64 below;  ///< the word there
        u32 index;
        [[nodiscard]] bool is_draft() const noexcept { return n == nullptr; }
    };
    using steps = hot_detail::few<step, 64>;

    [[nodiscard]] static u64 word_of(u64 number) noexcept {
        return hot_detail::slot_word::of(drafted, 0, number);
    }
    [[nodiscard]] static bool is_drafted(u64 word) noexcept {
        return hot_detail::slot_word::what_of(word) == drafted;
    }
    [[nodiscard]] draft& draft_of(u64 number) noexcept { return drafts_[number].d; }
    [[nodiscard]] u64 word_at(const published& slot) const;
    void load(draft& d, const step& s) const;
    [[nodiscard]] static u32 find_in(const draft& d, key k) noexcept;
    [[nodiscard]] u64 descend(key k, steps& w);
    void saw(const node_lock& l, const published& slot);
    [[nodiscard]] u32 first_bit(const step& s) noexcept;
    [[nodiscard]] u32 height_of(const step& s) noexcept;
    [[nodiscard]] bool lock(node_lock& l, const published& slot, u64 expected);
    [[nodiscard]] bool holds(const node_lock& l) const noexcept;
    void unlock();
    [[nodiscard]] u64 add_draft(const draft& d);
    void link_at(published& slot, u64 number);
    [[nodiscard]] u64 entry_of(const draft& d);

    [[nodiscard]] bool make_draft(steps& w, u32 depth);
    [[nodiscard]] bool make_drafts(steps& w, u32 depth);
    [[nodiscard]] bool place_at_root(u64 found, u32 bit, bool one, u64 record_word);
    [[nodiscard]] placing place_beside(const step& s, u32 bit, bool one, u64 record_word);
    void add(const steps& w, u32 bit, bool one, u64 record_word);
    [[nodiscard]] result<u64> write(change& c, u64 number);

    const hot& tree_;
    operation& op_;
    std::vector<piece_draft> drafts_;
    hot_detail::few<node_lock*, 2 * batch_entries> held_;
    u64 linked_ = 0;  ///< bits of the slots that lead to drafts, for a quick no
    static u64 bit_of(const published* slot) noexcept {
        return u64{1} << (reinterpret_cast<u64>(slot) / sizeof *slot * 0x9e3779b97f4a7c15 >> 58);
    }
};

// ------------------------------------------------------------------------------------ ways down

/// A slot's word, or that of the draft to which it will lead.
template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::word_at(const published& slot) const {
    if ((linked_ & bit_of(&slot)) != 0) {
        for (u64 i = 0; i < drafts_.size(); ++i) {
            if (drafts_[i].link == &slot) return word_of(i);
        }
    }
    const u64 word = slot.load();
    if (is_drafted(word)) [[unlikely]] {
        op_.fail(&slot, "a word leads to nothing that there is");
    }
    return word;
}

template <class D, class Keys>
u32 hot<D, Keys>::piece_trie::find_in(const draft& d, key k) noexcept {
    u32 dense = 0;
    for (u32 i = 0; i < d.bit_count; ++i) {
        if (path::bit(k, d.bits[i])) dense |= draft::top >> i;
    }
    u32 i = d.count - 1;
    while (i != 0 && (d.sparse[i] & ~dense) != 0) --i;
    return i;
}

/// What others are changing is noted; what this piece has is as it was, and durable.
template <class D, class Keys>
void hot<D, Keys>::piece_trie::saw(const node_lock& l, const published& slot) {
    operation& op = op_;
    if (node::is_unsure(l.load()) && !holds(l)) [[unlikely]] {
        op.written_line(&slot);
    }
}

template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::descend(key k, steps& w) {
    using namespace hot_detail;
    u64 word = word_at(tree_.root_->word);
    saw(tree_.root_->lock, tree_.root_->word);
    while (slot_word::is_node(word)) {
        op_.took_step();
        if (is_drafted(word)) {
            const u64 number = slot_word::offset_of(word);
            // A node that two ways lead to may be drafted twice, and split.
            if (draft_of(number).count == 0) op_.fail(tree_.root_, "nodes have two ways to them");
            const u32 i = find_in(draft_of(number), k);
            word = draft_of(number).words[i];
            w.push({nullptr, number, word, i});
            continue;
        }
        node* n = tree_.node_of(word);
        const u32 i = find(n, word, k);
        const published& slot = n->words(word)[i];
        const u64 below = word_at(slot);
        w.push({n, word, below, i});
        word = below;
        saw(n->lock, slot);
    }
    return word;
}

template <class D, class Keys>
u32 hot<D, Keys>::piece_trie::first_bit(const step& s) noexcept {
    return s.is_draft() ? draft_of(s.of).bits[0]
                        : s.n->first_bit(hot_detail::slot_word::what_of(s.of));
}
template <class D, class Keys>
u32 hot<D, Keys>::piece_trie::height_of(const step& s) noexcept {
    return s.is_draft() ? draft_of(s.of).height : s.n->height();
}

// ---------------------------------------------------------------------------------------- locks

template <class D, class Keys>
bool hot<D, Keys>::piece_trie::holds(const node_lock& l) const noexcept {
    for (u32 i = 0; i < held_.size(); ++i) {
        if (held_[i] == &l) return true;
    }
    return false;
}

/// Takes the lock under which the slot changes, if nobody has it. True: it is the piece's, its node
/// is not obsolete, and the slot has that word.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::lock(node_lock& l, const published& slot, u64 expected) {
    const u64 seen = l.load();
    if (!node_lock::is_held(seen, op_.generation()) || !holds(l)) {
        // No lock of an earlier opening comes to be, so what is not locked is not taken over.
        if (node::is_unsure(seen) || l.try_lock(op_.generation()) != node_lock::attempt::taken) {
            return false;
        }
        held_.push(&l);
    }
    return (l.load() & node::obsolete) == 0 && slot.load() == expected;
}

template <class D, class Keys>
void hot<D, Keys>::piece_trie::unlock() {
    while (!held_.empty()) {
        held_.back()->unlock();
        held_.pop();
    }
}

// --------------------------------------------------------------------------------------- drafts

template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::add_draft(const draft& d) {
    drafts_.push_back({d});
    return drafts_.size() - 1;
}

template <class D, class Keys>
void hot<D, Keys>::piece_trie::link_at(published& slot, u64 number) {
    drafts_[number].link = &slot;
    linked_ |= bit_of(&slot);
}

/// A node that may be damaged, as a draft.
template <class D, class Keys>
void hot<D, Keys>::piece_trie::load(draft& d, const step& s) const {
    hot::load(op_, d, s.n, s.of);
    for (u32 i = 0; i < d.count; ++i) {
        if (is_drafted(d.words[i])) op_.fail(s.n, "a word leads to nothing that there is");
    }
}

/// One entry needs no node.
template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::entry_of(const draft& d) {
    return d.count == 1 ? d.words[0] : word_of(add_draft(d));
}

/// The node at a depth of the way is locked and drafted. Drafts that its words lead to hang from
/// its draft then.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::make_draft(steps& w, u32 depth) {
    using namespace hot_detail;
    step& s = w[depth];
    if (s.is_draft()) return true;
    published* const words = s.n->words(s.of);
    // What leads to a draft is locked already.
    const u64 below = is_drafted(s.below) ? words[s.index].load() : s.below;
    if (!lock(s.n->lock, words[s.index], below)) return false;
    published* slot = nullptr;
    if (depth == 0 || !w[depth - 1].is_draft()) {
        const step* above = depth == 0 ? nullptr : &w[depth - 1];
        slot = above == nullptr ? &tree_.root_->word : &above->n->words(above->of)[above->index];
        if (!lock(above == nullptr ? tree_.root_->lock : above->n->lock, *slot, s.of)) return false;
    }
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): load() fills it
    load(d, s);
    if (d.has_dead) return false;
    const u64 number = add_draft(d);
    piece_draft& mine = drafts_[number];
    mine.was = s.of;
    for (u64 i = 0; i < number; ++i) {
        piece_draft& other = drafts_[i];
        if (other.link < words || other.link >= words + d.count) continue;
        mine.d.words[other.link - words] = word_of(i);
        other.link = nullptr;
    }
    if (slot != nullptr) {
        link_at(*slot, number);
    } else {
        draft_of(w[depth - 1].of).words[w[depth - 1].index] = word_of(number);
    }
    s.n = nullptr;
    s.of = number;
    return true;
}

/// The same, of all that a split there will change.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::make_drafts(steps& w, u32 depth) {
    for (;; --depth) {
        if (!make_draft(w, depth)) return false;
        const draft& d = draft_of(w[depth].of);
        if (d.count < hot_detail::most_entries || depth == 0 ||
            height_of(w[depth - 1]) > d.height + 1) {
            return true;
        }
    }
}

// -------------------------------------------------------------------------------------- placing

template <class D, class Keys>
placing hot<D, Keys>::piece_trie::place(key k, u64 record_word) {
    using namespace hot_detail;
    steps w;
    const u64 found = descend(k, w);
    if (found == 0 && w.empty()) {
        return place_at_root(0, 0, false, record_word) ? placing::done : placing::left;
    }
    if (found == 0) return placing::left;  // damage, of which a single insert will say more
    const key there = tree_.key_in(found);
    if (there == k) {
        return slot_word::what_of(found) == what::record ? placing::there : placing::left;
    }
    const u32 bit = path::first_difference(there, k);
    const bool one = path::bit(k, bit);
    if (w.empty()) {
        return place_at_root(found, bit, one, record_word) ? placing::done : placing::left;
    }
    u32 depth = w.size() - 1;
    while (depth > 0 && first_bit(w[depth]) > bit) --depth;
    if (depth + 1 == w.size() && height_of(w[depth]) > 1) {
        const placing p = place_beside(w[depth], bit, one, record_word);
        if (p != placing::there) return p;
    }
    // What the way found below is where it was as long as the entry here is.
    if (!make_drafts(w, depth)) return placing::left;
    w.cut(depth + 1);
    add(w, bit, one, record_word);
    return placing::done;
}

/// The first record, or the second one.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::place_at_root(u64 found, u32 bit, bool one, u64 record_word) {
    if (!lock(tree_.root_->lock, tree_.root_->word, found)) return false;
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): make_pair() fills it
    d.make_pair(bit, one ? found : record_word, one ? record_word : found, 1);
    if (found == 0) {
        d.count = 1;
        d.bit_count = 0;
    }
    d.has_dead = false;
    const u64 number = add_draft(d);
    drafts_[number].instead = found;
    link_at(tree_.root_->word, number);
    return true;
}

/// In a high node, a record that is alone behind the bit makes room for a pair of them. `there`: it
/// is not alone.
template <class D, class Keys>
placing hot<D, Keys>::piece_trie::place_beside(const step& s, u32 bit, bool one, u64 record_word) {
    using namespace hot_detail;
    published* const slot = s.is_draft() ? nullptr : &s.n->words(s.of)[s.index];
    draft d;  // NOLINT(cppcoreguidelines-pro-type-member-init): load() or make_pair() fills it
    if (slot != nullptr) {
        if (!lock(s.n->lock, *slot, s.below)) return placing::left;
        load(d, s);
    }
    const draft& in = slot == nullptr ? draft_of(s.of) : d;
    const auto [from, to] = in.sharing(s.index, in.rank_of(bit));
    if (from != to) return placing::there;
    d.make_pair(bit, one ? s.below : record_word, one ? record_word : s.below, 1);
    d.has_dead = false;
    const u64 number = add_draft(d);
    if (slot != nullptr) {
        drafts_[number].instead = s.below;
        link_at(*slot, number);
    } else {
        draft_of(s.of).words[s.index] = word_of(number);
    }
    return placing::done;
}

/// Into the last draft of the way. One entry too many: as hot::put().
template <class D, class Keys>
void hot<D, Keys>::piece_trie::add(const steps& w, u32 bit, bool one, u64 word) {
    for (u32 depth = w.size() - 1;; --depth) {
        const u64 number = w[depth].of;
        draft_of(number).add(w[depth].index, bit, one, word);
        if (draft_of(number).count <= hot_detail::most_entries) return;
        draft zeros;  // NOLINT(cppcoreguidelines-pro-type-member-init): split() fills them
        draft ones;   // NOLINT(cppcoreguidelines-pro-type-member-init)
        if (!draft_of(number).split(zeros, ones)) {
            op_.fail(tree_.root_, "a node does not tell its keys apart");
        }
        zeros.has_dead = ones.has_dead = false;
        bit = draft_of(number).bits[0];
        one = true;
        word = entry_of(ones);
        const u32 height = draft_of(number).height;
        if (depth == 0 || height_of(w[depth - 1]) > height + 1) {
            const u64 zero = entry_of(zeros);
            draft_of(number).make_pair(bit, zero, word, height + 1);
            return;
        }
        const step& above = w[depth - 1];
        if (zeros.count == 1) {
            draft_of(above.of).words[above.index] = zeros.words[0];
            zeros.count = 0;
        }
        draft_of(number) = zeros;
    }
}

// ------------------------------------------------------------------------------------- the end

/// A draft and those below it. Nobody reaches them yet.
template <class D, class Keys>
result<u64> hot<D, Keys>::piece_trie::write(change& c, u64 number) {
    using namespace hot_detail;
    draft& d = draft_of(number);
    for (u32 i = 0; i < d.count; ++i) {
        if (!is_drafted(d.words[i])) continue;
        auto below = write(c, slot_word::offset_of(d.words[i]));
        if (!below) return below;
        d.words[i] = *below;
    }
    return tree_.make_entry(c, d);
}

template <class D, class Keys>
result<void> hot<D, Keys>::piece_trie::write(change& c) {
    for (u64 i = 0; i < drafts_.size(); ++i) {
        if (drafts_[i].link == nullptr) continue;
        auto word = write(c, i);
        if (!word) return tl::unexpected(word.error());
        drafts_[i].word = *word;
    }
    return {};
}

template <class D, class Keys>
void hot<D, Keys>::piece_trie::publish() {
    using namespace hot_detail;
    operation& op = op_;
    for (const piece_draft& p : drafts_) {
        if (p.link != nullptr && p.instead != 0) {
            op.shade(tree_, slot_word::offset_of(p.instead), leaf);
        }
    }
    op.settle();  // P1 of all
    HF_PERSIST_POINT("hot H1: record and all new nodes are durable before the topmost word");
    for (const piece_draft& p : drafts_) {
        if (p.link != nullptr) op.publish(*p.link, p.word);
    }
    op.commit();  // P2 of all, before the locks are given back
    HF_PERSIST_POINT("hot H2: the topmost word is durable before what it has replaced is retired");
    for (const piece_draft& p : drafts_) {
        if (p.was != 0) tree_.node_of(p.was)->lock.set_flags(node::obsolete, true);
    }
    unlock();
    for (const piece_draft& p : drafts_) {
        if (p.was == 0) continue;
        op.retire(tree_, slot_word::offset_of(p.was), slot_word::kind_of(p.was));
    }
}

template <class D, class Keys>
result<u64> hot<D, Keys>::insert_piece(operation& op, std::span<const piece_entry> piece) {
    u64 inserted = 0;
    batch_rest<hot> rest(piece);
    {
        batch_records<operation> records(op);
        if (auto ok = records.template make<Keys>(piece); !ok) return tl::unexpected(ok.error());
        std::array<bool, batch_entries> placed{};
        piece_trie all(*this, op);
        inserted = rest.place_each(op, [&](std::size_t i) {
            const u64 word = hot_detail::slot_word::of(what::record, 0, records[i]);
            const placing p = all.place(piece[i].first, word);
            placed[i] = p == placing::done;
            return p;
        });
        change made(op);
        if (all.write(made)) {
            all.publish();
            made.made.clear();
            for (std::size_t i = 0; i < piece.size(); ++i) {
                if (placed[i]) records[i] = 0;
            }
        } else {
            inserted = 0;
            for (std::size_t i = 0; i < piece.size(); ++i) {
                if (placed[i]) rest.leave(i);
            }
        }
    }
    return rest.insert(*this, op, inserted);
}

}  // namespace hf
