// index/bwtree/bwtree.hpp: P-BwTree: a Bw-tree in which every operation is durable.
//
// Purpose. The ordered index with immutable nodes. A logical node is named by its *cell*, whose
// word points to the head of the node's delta chain (the cell's offset plays the part of the
// paper's page id; there is no mapping table). A write prepends a one-line delta and replaces the
// word by compare-and-swap: it copies nothing, takes no lock, and writes to no line that readers
// use. From time to time a chain is consolidated into a new node.
//
//      cell of a leaf --> delta: +17, -4 --> delta: +3 +9 +12 --> node: 1 4 5 8 | next --> cell
//
//      a split:    cell L --> old chain                  cell L --> lower half | next --> cell R
//                                          one word                                         |
//                             (unreachable: cell R --> upper half)                     upper half
//
// On the medium. node.hpp; records: index/common/keys.hpp. Cells are heap blocks, not slots of a
// table, so the sweep finds the free ones. A root of the region points to the root's cell, which
// never changes.
//
// Invariants.
//  I1  Deltas and nodes are immutable except for their `dead` bits. A cell's word changes by
//      compare-and-swap.
//  I2  A record belongs to the chain that refers to it. It is retired with that chain and not
//      before, even if a delta of the chain has removed its key. No two reachable chains refer to
//      the same record. Hence splits and merges are not deltas: the word of a split replaces the
//      old chain by the lower half, and at that moment the upper half belongs to the right node. A
//      delta that cuts a chain would leave records with two owners until the next consolidation.
//  I3  Bounds and separators are copies inside of the node that needs them.
//  I4  The nodes of a level are linked from left to right, and a node's range ends where its right
//      neighbour's begins. A child without a separator in its parent is reached by that link.
//  I5  The range of a child begins at its separator. Inner nodes are never merged.
//
// Persist order. P1: content < its word; P2: a word < the return (eager/operation.hpp). Each cell
// also stores `durable`, the word that is known to be durable. A thread that publishes a word
// flushes it and then stores it there; so does every thread that reads a word which differs from
// `durable`. So no operation depends on a word that is not durable (cell.hpp).
//  B1  both halves of a split and the new cell < the word that points to them
//  B2  that word < the separator in the parent;  < retiring the old chain
//      (a batch: all new blocks < any of its words; all words < any separator; batch.hpp)
//  B3  (merge) the right leaf is frozen < B4 the parent without its separator < B5 the left leaf
//      with all entries of both < retiring the right leaf and its cell
//  B6  a word that is not known to be durable < any effect of an operation that has read it
//  B7  (removing without memory) a tombstone bit < the next version of the word
//
// Concurrency. A leaf changes only by compare-and-swap of its word. An inner node changes under its
// cell's lock, which readers ignore; a merge holds the parent's lock while a leaf is frozen. Locks
// contain their generation, so a lock of a dead process is stale and can be reclaimed. A reader
// inside a leaf that is merged meanwhile is correct: it began before the merge.
//
// Recovery. open() does nothing. A leaf without a separator in its parent is adopted by the next
// writer that reaches it by a link. A frozen leaf that its left neighbour still points to is thawed
// by the writer that finds it, under the parent's lock: after a crash a merge is undone, never
// finished.
//
// Full region. The first allocation fails, before anything is visible. Without memory for a
// consolidated node chains get longer. A remove without memory for its delta sets the entry's
// tombstone bit while it holds the cell; the record is freed at the next consolidation.
//
// Bad input. Keys and values over their limits: errc::too_large. The root of another index:
// errc::incompatible. audit() finds damage and follows no offset that is not an allocated block.
// Operations throw damage and terminate: their steps are counted, and they release their locks.
//
// Limits. Inner nodes are not merged: one leaf and its ancestors remain after everything is
// removed.
//
// Literature. Levandoski, Lomet, Sengupta, "The Bw-tree", ICDE 2013; Wang et al., "Building a
// Bw-tree takes more than just buzz words", SIGMOD 2018; Lehman, Yao, "Efficient locking for
// concurrent operations on B-trees", TODS 1981 (links); Lee et al., "RECIPE", SOSP 2019
// (condition 2); David et al., "Log-free concurrent data structures", ATC 2018 (marks); Chen et
// al., "LB+-Trees", VLDB 2020 (entries that share a line).
#pragma once

#include "index/bwtree/node.hpp"
#include "index/common/batch.hpp"
#include "index/common/index.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf {

namespace bwtree_detail {

inline constexpr layout::room_format bwtree_format{"bwtree", 1};
inline constexpr u64 root_type = 0x4846425754520001;  // "HFBWTR", version 1

}  // namespace bwtree_detail

template <class D, class Keys>
class bwtree final : public traced {
   public:
    using key = typename Keys::key;
    using value = typename Keys::value;
    using operation = typename D::operation;
    static constexpr std::string_view name = "bwtree";
    static constexpr layout::room_format format = bwtree_detail::bwtree_format;

    [[nodiscard]] static result<std::unique_ptr<bwtree>> open(eager_space& space,
                                                              std::string_view root);

    using piece_entry = std::pair<key, value>;
    /// One piece of insert_many() (index/common/batch.hpp).
    [[nodiscard]] result<u64> insert_piece(operation& op, std::span<const piece_entry> piece);
    [[nodiscard]] result<bool> insert(operation& op, key k, value v) {
        return write(op, k, v, wanted::absent, ignore);
    }
    template <class Old = ignore_old>
    [[nodiscard]] result<bool> upsert(operation& op, key k, value v, Old&& old = {}) {
        return write(op, k, v, wanted::any, old);
    }
    template <class Old = ignore_old>
    [[nodiscard]] result<bool> update(operation& op, key k, value v, Old&& old = {}) {
        return write(op, k, v, wanted::present, old);
    }
    template <class Old = ignore_old>
    bool remove(operation& op, key k, Old&& old = {});
    template <class Found>
    bool get(operation& op, key k, Found&& found) const;

    /// visit(key, value) of at most `most` entries in ascending order, starting at the first key >=
    /// `lower`. Returns the number visited.
    template <class Visit>
    u64 scan(eager_space& space, key lower, u64 most, Visit&& visit) const;
    /// scan() in descending order, starting at the last key <= `upper`.
    template <class Visit>
    u64 scan_back(eager_space& space, key upper, u64 most, Visit&& visit) const;
    template <class Visit>
    void for_each(eager_space& space, Visit&& visit) const;

    void trace_roots(tracer& t) const override;
    void trace(u64 offset, u32 kind, tracer& t) const override;
    void audit(heap_audit& a) const;

   private:
    using order = bwtree_detail::order_of<Keys>;
    using record = typename Keys::record;
    using cell = bwtree_detail::cell;
    using entry = bwtree_detail::entry;
    using block = bwtree_detail::block;
    using delta = bwtree_detail::delta;
    using node = bwtree_detail::node;
    using span = bwtree_detail::span;
    using what = bwtree_detail::what;

    enum class wanted : u8 { absent, any, present };
    enum class step : u8 { done, again };
    enum class change_of : u8 { added, replaced, removed };

    /// A key as nodes compare it: the head and the bytes; for integer keys, the head alone.
    struct bound {
        u64 head = 0;
        std::string_view bytes;
        [[nodiscard]] static bound of(key k) noexcept { return {order::head(k), order::bytes(k)}; }
    };
    using limit = std::optional<bound>;

    /// The result of a descent.
    struct place {
        cell* at = nullptr;
        u64 word = 0;  ///< the word of `at` that was read; durable
        block* head = nullptr;
        node* base = nullptr;
        bool sideways = false;  ///< reached by the link of its left neighbour, not from the parent
    };
    /// The result of a search for a key in a chain.
    struct finding {
        bool is_there = false;
        u64 word = 0;
        /// the block with the key's newest entry; nullptr: the chain has none
        block* in = nullptr;
        u32 index = 0;
    };
    /// The two halves of a leaf, unreachable.
    struct halves {
        u64 word = 0;   ///< the new offset for the leaf's cell
        u64 right = 0;  ///< the cell of the upper half
        bound apart;
    };
    struct gathered;
    struct separators;
    struct fresh_blocks;
    class held_cell;

    explicit bwtree(eager_space& space) : space_(space), base_(space.file().base()) {}

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, region::near_offset(offset, alignof(T)));
    }
    [[nodiscard]] u64 offset_of(const void* p) const noexcept { return offset_from(base_, p); }

    // --- searching (find.hpp) ---
    [[nodiscard]] static int compare(const bound& a, const bound& b) noexcept;
    [[nodiscard]] bound key_of(const entry& e) const noexcept;
    [[nodiscard]] key whole_key_of(const entry& e) const noexcept;
    [[nodiscard]] value value_of(const entry& e) const noexcept;
    [[nodiscard]] value value_if_sound(const entry& e) const;
    [[nodiscard]] static limit low_of(const node* n) noexcept;
    [[nodiscard]] static limit high_of(const node* n) noexcept;
    [[nodiscard]] static bound low_behind(const operation& op, const node* n);
    template <class Compare>
    [[nodiscard]] static u32 first_not_below(const node* n, u64 head, Compare&& compared) noexcept;
    template <bool Below>
    [[nodiscard]] cell* child_for(const node* n, const bound& k) const noexcept;
    [[nodiscard]] static u64 load_word(operation& op, const cell& c);
    [[nodiscard]] node* base_of(block* b) const noexcept;
    static void begin_loading(const node* n) noexcept;
    void begin_loading_chain(const cell& c) const noexcept;
    template <bool Below = false>
    [[nodiscard]] place find(operation& op, const bound& k, u32 level) const;
    [[nodiscard]] finding search(operation& op, const place& p, const bound& k) const;
    [[nodiscard]] finding search_base(operation& op, node* n, const bound& k) const;

    // --- making nodes (draft.hpp) ---
    void gather_changes(operation& op, block* head, node* base, gathered& g) const;
    [[nodiscard]] static u64 dead_in(operation& op, const node* n);
    struct meeting {
        u32 at;
        bool is_same;
    };
    [[nodiscard]] meeting meet(const node* n, u32 from, const entry& e) const;
    void gather(operation& op, block* head, node* base, gathered& g) const;
    void drop(gathered& g, const entry& e) const;
    [[nodiscard]] static result<u64> make_node(fresh_blocks& made, what kind, u32 level, u32 count,
                                               const limit& low, const limit& high, u64 next,
                                               u64 more);
    [[nodiscard]] result<u64> make_leaf(fresh_blocks& made, const gathered& g, u32 from, u32 to,
                                        const limit& low, const limit& high, u64 next) const;
    [[nodiscard]] result<u64> make_inner(fresh_blocks& made, const separators& s, u32 from, u32 to,
                                         const limit& low, const limit& high, u64 next,
                                         u32 level) const;
    [[nodiscard]] static result<u64> make_cell(fresh_blocks& made, u64 offset);

    // --- writing (write.hpp) ---
    template <class Old>
    [[nodiscard]] result<bool> write(operation& op, key k, value v, wanted w, Old&& old);
    struct fresh_word;
    void await_hold(operation& op, const place& p);
    [[nodiscard]] bool prepare_place(operation& op, place& p, const bound& k, bool& helped);
    [[nodiscard]] result<step> put(operation& op, const place& p, const entry& e, change_of how);
    [[nodiscard]] result<step> put_delta(operation& op, const place& p, const entry& e, bool gone,
                                         u32 live);
    [[nodiscard]] static bool has_room(const block* head) noexcept;
    [[nodiscard]] result<delta*> make_delta(fresh_blocks& made, const place& p,
                                            std::span<const entry> more, bool gone, u32 live) const;
    [[nodiscard]] step kill(operation& op, const place& p, const bound& k);
    [[nodiscard]] u32 live_in(const place& p) const noexcept;

    // --- changing the shape (shape.hpp) ---
    [[nodiscard]] static bool publish(operation& op, cell& c, u64 seen, u64 offset);
    [[nodiscard]] static bool publish_node(operation& op, cell& c, u64 seen, u64 offset);
    [[nodiscard]] result<step> consolidate(operation& op, const place& p, const entry& e,
                                           bool gone);
    [[nodiscard]] result<step> split(operation& op, const place& p, const gathered& g);
    [[nodiscard]] result<halves> make_halves(fresh_blocks& made, const place& p, const gathered& g,
                                             u32 half) const;
    void retire_chain(operation& op, block* head, std::span<const u64> dropped) const;
    [[nodiscard]] std::optional<place> lock_at(operation& op, held_cell& held, const bound& k,
                                               u32 level) const;
    void thaw(operation& op, cell& c) const;
    void adopt(operation& op, cell* c, const bound& low, u32 level);
    void name_child(operation& op, const place& parent, held_cell& held, const bound& low,
                    u64 child);
    void merge(operation& op, cell* c, const bound& k);
    [[nodiscard]] bool freeze(operation& op, cell& c, u64& word) const;
    [[nodiscard]] bool absorb(operation& op, cell* left, cell& right, u64 right_word);

    // --- batches (batch.hpp) ---
    struct piece_leaf;
    class piece_leaves;
    [[nodiscard]] placing place_in_piece(operation& op, piece_leaves& leaves,
                                         std::span<const piece_entry> piece, u32 i) const;
    [[nodiscard]] result<void> make_for(operation& op, piece_leaf& l,
                                        std::span<const entry> entries) const;
    [[nodiscard]] result<void> make_deltas(operation& op, piece_leaf& l,
                                           std::span<const entry> entries) const;
    [[nodiscard]] u64 publish_piece(operation& op, piece_leaves& leaves);
    void end_for(operation& op, piece_leaf& l);

    // --- scans (scan.hpp) ---
    template <bool Up, class Visit>
    u64 scan_from(eager_space& space, const key* from, u64 most, Visit&& visit) const;
    void begin_loading_right(const node& n) const noexcept;
    [[nodiscard]] u32 first_change(const gathered& g, const bound& from, bool exclusive) const;
    template <class Visit>
    u64 visit_upwards(operation& op, const place& p, const limit& from, bool exclusive, u64 most,
                      Visit&& visit) const;
    template <class Visit>
    u64 visit_downwards(operation& op, const place& p, const limit& from, bool exclusive, u64 most,
                        Visit&& visit) const;

    // --- audits (audit.hpp) ---
    struct audit_state;
    [[nodiscard]] static result<u64> create_root(eager_space& space);
    [[nodiscard]] error damaged(const char* attempt, u64 offset, std::string why) const;
    bool claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is, u64 from) const;
    [[nodiscard]] node* audit_chain(audit_state& s, u64 word, u64 from) const;
    [[nodiscard]] bool audit_record(audit_state& s, const entry& e, u64 from) const;
    [[nodiscard]] bool audit_name(audit_state& s, const entry& e, u64 from) const;
    [[nodiscard]] bool audit_node(audit_state& s, u64 offset, u64 from) const;
    void audit_leaf(audit_state& s, block* head, node* n) const;
    void audit_range(audit_state& s, u64 first, const limit& low, const limit& high, u32 level,
                     u64 from) const;

    eager_space& space_;
    std::byte* const base_;
    u64 root_offset_ = 0;
    cell* root_ = nullptr;
};

}  // namespace hf

#include "index/bwtree/audit.hpp"
#include "index/bwtree/batch.hpp"
#include "index/bwtree/draft.hpp"
#include "index/bwtree/find.hpp"
#include "index/bwtree/scan.hpp"
#include "index/bwtree/shape.hpp"
#include "index/bwtree/write.hpp"
