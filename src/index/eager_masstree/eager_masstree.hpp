// index/eager_masstree/eager_masstree.hpp: P-Masstree: a trie of B-link trees in which every
// operation is durable.
//
// Purpose. The ordered index with few, wide nodes. A layer is a B-link tree over eight bytes of the
// key; keys that share these bytes continue in a layer of their own. Integers have one layer, and
// their values are stored in the leaves: an insert is a pair and an order word.
//
//      root block --> | 0 | 40 |            level 1: the first key of each child
//                       |    |
//                   | 3 17 | --> | 40 52 |  level 0, last = 39 and the highest number
//
// It shares slices, length classes and permutations with the tree of the checkpointing disciplines
// (index/masstree). That tree shifts the entries of interior nodes, changes roots in place, and
// logs nodes before a split. Here each of these steps must be a single untorn store, so nodes and
// splits are different.
//
// On the medium. node.hpp; records: index/common/keys.hpp.
//
// Invariants.
//  I1  The nodes of a level, linked by `next`, partition the keys: a node's range begins after the
//      `last` of the node before it. Nothing else determines where a key is: pairs above `last` are
//      ignored, and a missing separator costs a step to the right.
//  I2  A pair that `order` does not refer to may be written by the holder of the lock.
//  I3  The first key of a node's range never changes, and its separator is that key. So an
//      operation that has reached a node by a key at or above it is at the right node, or must go
//      right, as long as the node is not unlinked. The unlinked nodes are leaves that were empty,
//      and interior nodes whose only child was unlinked (unlink.hpp); their `next` stays. A level's
//      first node, and layers, are never unlinked.
//  I4  Equal slices of a layer are never separated: there are ten at most.
//  I5  The version in the lock changes after the order word that drops a pair, and before the pair
//      is written again: so a reader that has loaded both the old order and the new pair sees a
//      changed version. It also changes between a larger `last` and the link that belongs to it, so
//      a reader cannot combine the one with an older version of the other. (A smaller `last` is
//      stored after its link.)
//
// Persist order (P1, P2: eager/operation.hpp).
//  M1  a right half < its left half's `next`
//  M2  the left half's words < the separator above. They are in one line and stored in this order:
//      next, last, order. Any prefix of them is a consistent tree by I1: with `next` alone the
//      right half is a node without keys; with `last` too, the left half has pairs that are
//      ignored.
//  M3  a separator < the left half's unlock. So a split without a separator has a stale lock.
//  M4  a layer < the word that points to it, which replaces the record that had been there alone
//  M5  the separator's removal < the left neighbour's `last` includes the range, and its `next`
//      skips the node
//  M6  these two words, in this order in one line < the node is marked as gone, unlocked, retired
// A pair in the line of the order word needs no fence before it: it is stored first (PCSO).
//
// Recovery. open() does nothing. A writer that reclaims the stale lock of a node (node_lock) trims
// it, unlinks a right half that never got its keys, and inserts the separator, all under this lock;
// each step does nothing if it was done before. An interrupted unlinking is covered, too: the empty
// leaf gets its separator again (unless no stale lock shows that it was removed), or is a right
// half without keys.
//
// Concurrency. Lock order: a writer locks a leaf, and for a split then the parent; from lower to
// higher levels, and within a level one node at a time or from left to right. A writer that has
// locked an unlinked node descends again. Readers take no lock. They read a node again if its
// version has changed meanwhile; that means that a pair was removed, so another thread has made
// progress. After their last load of a node they check its lock: if it is held, the node's lines
// are recorded (flush-on-read).
//
// Full region. Allocating the record or the right half fails before anything is visible. A
// separator without memory is left out (I1). Removes and unlinking allocate nothing.
//
// Bad input. Keys and values over their limits: errc::too_large. The root of another index:
// errc::incompatible. audit() finds damage and follows no offset that is not an allocated block.
// Operations throw damage and terminate: steps are counted, and a thread checks a node's level
// before it locks it, which must be above those of the nodes it holds, so it never waits for
// itself.
//
// Literature. Mao, Kohler, Morris, "Cache craftiness for fast multicore key-value storage", EuroSys
// 2012; Lehman, Yao, "Efficient locking for concurrent operations on B-trees", TODS 1981; Lee et
// al., "RECIPE", SOSP 2019 (condition 3).
#pragma once

#include "index/common/batch.hpp"
#include "index/common/index.hpp"
#include "index/eager_masstree/node.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf {

namespace eager_masstree_detail {

inline constexpr layout::room_format format{"emasstree", 1};
inline constexpr u64 root_type = 0x48464d5452450001;  // "HFMTRE", version 1

}  // namespace eager_masstree_detail

template <class D, class Keys>
class eager_masstree final : public traced {
   public:
    using key = typename Keys::key;
    using value = typename Keys::value;
    using operation = typename D::operation;
    static constexpr std::string_view name = "masstree";
    static constexpr layout::room_format format = eager_masstree_detail::format;

    [[nodiscard]] static result<std::unique_ptr<eager_masstree>> open(eager_space& space,
                                                                      std::string_view root);

    [[nodiscard]] result<bool> insert(operation& op, key k, value v) {
        return write(op, k, v, wanted::absent, ignore);
    }
    using piece_entry = std::pair<key, value>;
    /// Up to batch_entries inserts under two fences (batch.hpp). Returns the number of new keys.
    [[nodiscard]] result<u64> insert_piece(operation& op, std::span<const piece_entry> piece);
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
    u64 scan(eager_space& space, key lower, u64 most, Visit&& visit) const {
        return scan_from<true>(space, lower, most, visit);
    }
    /// scan() in descending order, starting at the last key <= `upper`.
    template <class Visit>
    u64 scan_back(eager_space& space, key upper, u64 most, Visit&& visit) const {
        return scan_from<false>(space, upper, most, visit);
    }
    template <class Visit>
    void for_each(eager_space& space, Visit&& visit) const {
        scan_from<true>(space, key{}, eager_masstree_detail::highest, visit);
    }

    void trace_roots(tracer& t) const override;
    void trace(u64 offset, u32 kind, tracer& t) const override;
    void audit(heap_audit& a) const;

   private:
    using record = typename Keys::record;
    using node = eager_masstree_detail::node;
    using root_block = eager_masstree_detail::root_block;
    using order_word = eager_masstree_detail::order_word;
    static constexpr bool has_layers = !Keys::inline_values;
    using cursor = std::conditional_t<has_layers, eager_masstree_detail::key_cursor,
                                      eager_masstree_detail::number_cursor>;

    enum class wanted : u8 { absent, any, present };
    /// A node, and the first key of its range.
    struct spot {
        node* n;
        u64 low;
    };
    struct entry {
        bool is_there;
        u64 word;
    };
    struct fresh_record;
    class piece_leaves;

    explicit eager_masstree(eager_space& space) : space_(space), base_(space.file().base()) {}

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, region::near_offset(offset, alignof(T)));
    }
    [[nodiscard]] record& record_of(u64 word) const noexcept {
        return *at<record>(eager_masstree_detail::entry_word::offset_of(word));
    }
    [[nodiscard]] value value_of(u64 word) const noexcept {
        if constexpr (has_layers) {
            return Keys::value_of(record_of(word));
        } else {
            return word;
        }
    }
    [[nodiscard]] value value_if_sound(u64 word) const {
        if constexpr (has_layers) {
            return Keys::value_if_sound(record_of(word));
        } else {
            return word;
        }
    }
    /// Checks that the key may continue in a layer. Throws damage.
    static void check_goes_on(operation& op, const cursor& c, const root_block* layer) {
        if (c.length_class() != eager_masstree_detail::longer) [[unlikely]] {
            op.fail(layer, "a layer lies below a key that ends above it");
        }
    }
    /// Whether the entry found for the cursor belongs to another key with the same slice.
    [[nodiscard]] bool is_of_another(const cursor& c, u64 word) const noexcept {
        if constexpr (has_layers) {
            return c.length_class() == eager_masstree_detail::longer &&
                   Keys::key_of(record_of(word)) != c.whole();
        } else {
            return false;
        }
    }

    // --- searching (find.hpp) ---
    static void note_node_read(operation& op, const node& n, u64 lock_word) noexcept;
    static bool is_changed(u64 before, u64 after) noexcept {
        return node_lock::version_of(before) != node_lock::version_of(after);
    }
    [[nodiscard]] spot descend(operation& op, const root_block& root, u64 slice,
                               unsigned level) const;
    /// Continues a descent from `s`, which is at `level` or above.
    [[nodiscard]] spot descend(operation& op, spot s, u64 slice, unsigned level) const;
    void go_right(operation& op, spot& s, u64 before, u64 last) const;
    [[nodiscard]] entry find(operation& op, spot s, const cursor& c) const;

    // --- writing (write.hpp) ---
    template <class Old>
    [[nodiscard]] result<bool> write(operation& op, key k, value v, wanted w, Old&& old);
    [[nodiscard]] result<void> add(operation& op, node& n, unsigned rank, const cursor& c,
                                   fresh_record& r);
    template <class Old>
    [[nodiscard]] result<void> replace(operation& op, node& n, unsigned slot, fresh_record& r,
                                       Old&& old);
    template <class Old>
    void take_out(operation& op, node& n, unsigned rank, Old&& old);
    void put(operation& op, node& n, unsigned rank, u64 slice, u64 word);
    [[nodiscard]] result<void> make_layer(operation& op, node& n, unsigned slot, const cursor& c,
                                          fresh_record& r);

    // --- batches (batch.hpp) ---
    [[nodiscard]] placing place_in_piece(operation& op, piece_leaves& leaves, key k, u64 made);

    // --- splits and their repair (split.hpp) ---
    [[nodiscard]] node& lock_for(operation& op, root_block& root, node* n, u64 slice,
                                 unsigned level);
    [[nodiscard]] static unsigned kept_in_split(const node& n, order_word o, u64 slice) noexcept;
    [[nodiscard]] result<void> split(operation& op, root_block& root, node& n, u64 slice);
    void post(operation& op, root_block& root, unsigned level, u64 separator, u64 child);
    [[nodiscard]] bool grow(operation& op, root_block& root, unsigned level, u64 separator,
                            u64 child);
    void repair(operation& op, root_block& root, node& n);
    void shade_pair(operation& op, const node& n, unsigned slot);

    // --- removing empty nodes (unlink.hpp) ---
    void unlink_empty(operation& op, root_block& root, u64 slice);
    [[nodiscard]] bool unlink(operation& op, root_block& root, unsigned level, u64 low, u64 child,
                              u64& lonely);
    [[nodiscard]] bool detach(operation& op, root_block& root, node& left, node& n, u64& lonely);
    [[nodiscard]] bool unpost(operation& op, root_block& root, unsigned level, u64 separator,
                              u64 child, u64& lonely);

    // --- scans (scan.hpp) ---
    struct copied;
    struct leaf_copy;
    struct scan_state;
    class leaves_ahead;
    /// Whether a leaf's pairs are copied directly to the end of the scan's collected entries,
    /// because everything in bounds is taken unchanged.
    template <bool Up>
    static constexpr bool is_copied_in_place = Up && !has_layers;
    void copy_leaf(operation& op, spot s, u64 slice, leaf_copy& l) const;
    template <bool Up>
    void collect(operation& op, const root_block& root, const cursor* bound, scan_state& s) const;
    template <bool Up>
    void collect_leaf(operation& op, const leaf_copy& l, const cursor* bound, scan_state& s) const;
    template <bool Up, class Visit>
    u64 scan_from(eager_space& space, key bound, u64 most, Visit&& visit) const;

    // --- audits (audit.hpp) ---
    struct audit_state;
    [[nodiscard]] static result<u64> create_root(eager_space& space);
    [[nodiscard]] error damaged(const char* attempt, u64 offset, std::string why) const;
    bool claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is, u64 from) const;
    void audit_layer(audit_state& s, u64 offset, const std::string& prefix) const;
    [[nodiscard]] u64 audit_level(audit_state& s, u64 leftmost, unsigned level,
                                  const std::string& prefix) const;
    void audit_entry(audit_state& s, u64 slice, u64 word, u64 from,
                     const std::string& prefix) const;

    eager_space& space_;
    std::byte* const base_;
    u64 root_offset_ = 0;
    root_block* root_ = nullptr;
};

}  // namespace hf

#include "index/eager_masstree/audit.hpp"
#include "index/eager_masstree/batch.hpp"
#include "index/eager_masstree/find.hpp"
#include "index/eager_masstree/scan.hpp"
#include "index/eager_masstree/split.hpp"
#include "index/eager_masstree/unlink.hpp"
#include "index/eager_masstree/write.hpp"
