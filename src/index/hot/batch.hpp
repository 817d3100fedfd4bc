// hot/batch.hpp: part of hot.hpp: many inserts under two fences (index/common/batch.hpp).
//
// A piece works on drafts. A node that gets an entry is locked and loaded into one draft, which
// collects all entries for it. The halves of a split, a pair that replaces a record, and a full
// parent are drafts, too. A descent that reaches a word whose node has a draft continues in the
// draft. After all entries are inserted, each tree of linked drafts is written from the bottom up,
// and becomes visible by one store of its topmost word, which is in a node without a draft or in
// the root block.
//
//     root block -> node -> [draft] -> node             for each topmost draft one word:
//                       |        |                         all records and nodes    P1  (H1)
//                       |     [draft] -> record            all topmost words        P2  (H2)
//                    [draft]                               the drafted nodes are retired
//
// Lock order. A piece locks each node with a draft, and each node that contains the word of a
// topmost draft. It never waits, so any order is possible. After locking it checks, like a single
// writer, that the node is not obsolete and the word is unchanged. Entries are left over for single
// inserts if the node is locked (by a live or a dead process), if it has dead records, or if the
// key's record is dead. A draft without new entries, because a lock further up was not available,
// is written as well: a copy is harmless.
//
// Without memory nothing becomes visible; all entries are inserted one by one, or refused.
#pragma once

#include "index/hot/hot.hpp"

namespace hf {

/// A draft, and the word that it replaces.
template <class D, class Keys>
struct hot<D, Keys>::piece_draft {
    draft d;                    ///< count 0: a split has moved all entries to other drafts
    u64 was = 0;                ///< the word of the node that it replaces; 0: it replaces none
    u64 instead = 0;            ///< the word of the record that it replaces
    published* link = nullptr;  ///< for a topmost draft: the word that will point to it
    u64 word = 0;               ///< the word of the written node
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
    /// In a draft's word, marks a link to another draft, whose number is the word's offset.
    static constexpr what drafted = static_cast<what>(15);

    /// A node or a draft on a path, and the entry that was followed.
    struct step {
        node* n;    ///< nullptr: a draft, whose number is `of`
        u64 of;     ///< the word that points to the node
        u64 below;  ///< the word of the entry that was followed
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
    void note_word(const node_lock& l, const published& slot);
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
    u64 linked_ = 0;  ///< a Bloom filter of the slots that point to drafts
    static u64 bit_of(const published* slot) noexcept {
        return u64{1} << (reinterpret_cast<u64>(slot) / sizeof *slot * 0x9e3779b97f4a7c15 >> 58);
    }
};

// ------------------------------------------------------------------------------------ descents

/// The slot's word, or the word of the draft that will replace it.
template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::word_at(const published& slot) const {
    if ((linked_ & bit_of(&slot)) != 0) {
        for (u64 i = 0; i < drafts_.size(); ++i) {
            if (drafts_[i].link == &slot) return word_of(i);
        }
    }
    const u64 word = slot.load();
    if (is_drafted(word)) [[unlikely]] {
        op_.fail(&slot, "a word points to something that does not exist");
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

/// Records the slot's line if another writer holds the lock; the piece's own nodes are unchanged
/// and durable.
template <class D, class Keys>
void hot<D, Keys>::piece_trie::note_word(const node_lock& l, const published& slot) {
    operation& op = op_;
    if (node::may_be_volatile(l.load()) && !holds(l)) [[unlikely]] {
        op.written_line(&slot);
    }
}

template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::descend(key k, steps& w) {
    using namespace hot_detail;
    u64 word = word_at(tree_.root_->word);
    note_word(tree_.root_->lock, tree_.root_->word);
    while (slot_word::is_node(word)) {
        op_.took_step();
        if (is_drafted(word)) {
            const u64 number = slot_word::offset_of(word);
            // Only in a damaged trie: a node with two parents may have been drafted and split.
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
        note_word(n->lock, slot);
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

/// Takes the lock that guards the slot, if it is free. True: the piece holds it, the node is not
/// obsolete, and the slot contains `expected`.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::lock(node_lock& l, const published& slot, u64 expected) {
    const u64 seen = l.load();
    if (!node_lock::is_held(seen, op_.generation()) || !holds(l)) {
        // A free lock cannot become stale: only locks of earlier sessions are.
        if (node::may_be_volatile(seen) ||
            l.try_lock(op_.generation()) != node_lock::attempt::taken) {
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

/// Loads a node, which may be damaged, into a draft.
template <class D, class Keys>
void hot<D, Keys>::piece_trie::load(draft& d, const step& s) const {
    hot::load(op_, d, s.n, s.of);
    for (u32 i = 0; i < d.count; ++i) {
        if (is_drafted(d.words[i])) op_.fail(s.n, "a word points to something that does not exist");
    }
}

/// The word of a draft; a single entry needs no node.
template <class D, class Keys>
u64 hot<D, Keys>::piece_trie::entry_of(const draft& d) {
    return d.count == 1 ? d.words[0] : word_of(add_draft(d));
}

/// Locks and drafts the node at a depth of the path. Drafts that its words point to become children
/// of its draft.
template <class D, class Keys>
bool hot<D, Keys>::piece_trie::make_draft(steps& w, u32 depth) {
    using namespace hot_detail;
    step& s = w[depth];
    if (s.is_draft()) return true;
    published* const words = s.n->words(s.of);
    // If the word points to a draft, the node is already locked.
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

/// Drafts the node at `depth`, and all ancestors that a split of it would change.
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
    if (found == 0) return placing::left;  // damage, which the single insert will report
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
    // The found record stays the key's neighbour as long as the entry that was followed is
    // unchanged.
    if (!make_drafts(w, depth)) return placing::left;
    w.cut(depth + 1);
    add(w, bit, one, record_word);
    return placing::done;
}

/// Inserts the trie's first or second record.
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

/// In a node of height > 1, replaces a record that is alone below the new bit by a pair.
/// placing::there: it is not alone.
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

/// Inserts the entry into the last draft of the path. A draft with too many entries is split as in
/// hot::put().
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

/// Writes a draft and the drafts below it, unreachable. Returns its word.
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
    op.persist_unpublished();  // P1 for all
    HF_PERSIST_POINT("hot H1: record and all new nodes are durable before the topmost word");
    for (const piece_draft& p : drafts_) {
        if (p.link != nullptr) op.publish(*p.link, p.word);
    }
    op.persist_publication();  // P2 for all, before the locks are released
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
