// index/hot/hot.hpp: P-HOT: the height optimized trie, in which every operation is durable.
//
// Purpose. The ordered index with the lowest tree. It tests only discriminative bits, which
// distinguish the stored keys. A compound node contains a piece of the binary Patricia trie with up
// to 32 entries, whichever bits of the key these are: a million random numbers are four or five
// nodes deep, strings with long common prefixes no deeper. A node is immutable except for its
// words. So a write is a record, a copy of one node, and one word; readers take no lock and never
// restart.
//
//     root block:    word --> a node with bits 0 3 5   sparse keys:  000  "all zero there"
//                               | 000 -----> record                  010
//                               | 010 -----> node with bits 9 11     100
//                               | 100 -----> record                  101
//                               | 101 -----> record
//
// On the medium. node.hpp; records: index/common/keys.hpp. A root of the region points to the root
// block, which is never replaced.
//
// Invariants.
//  I1  Except for lock and words a node is immutable once published. A word of a node changes only
//      under its lock, from one path to another path for the same keys.
//  I2  The keys below an entry share all bits on the path to it. The discriminative bits on a path
//      ascend, also from node to node.
//  I3  A node is higher than the nodes below it (heights are limited to 4,095, which only strings
//      beyond the maximum key length could exceed). A node has at least two entries.
//  I4  An obsolete node does not change any more, and was unlinked durably.
//
// Persist order. Record and new nodes < the word that points to them: P1; a word < the return: P2
// (eager/operation.hpp). There is no other order, because each change of the shape becomes visible
// by one store, of the topmost word.
//  H1  record and *all* new nodes < the topmost word < H2 retiring the nodes it has replaced
//      (a batch: all of its records and nodes < any of its topmost words; batch.hpp)
//  H3  the remaining entry's word in the parent < retiring a node that has lost its second last
//      entry
//
// Concurrency (ROWEX: read-optimised write exclusion). A writer locks the node that it replaces,
// then its parent, and so on up to the node whose word changes. Lock order: the lower node first.
// After each lock it checks that the node is not obsolete and the word is unchanged. A reader in a
// replaced node sees the state at its replacement, which is not before the reader's beginning.
// Flush-on-read: a reader checks each node's lock after it has loaded the word. If the lock is held
// or the node is obsolete, the word's line is recorded, so it is durable before an operation
// returns or depends on it. A value in a record changes under the lock of the node that refers to
// the record at that time: if the word has changed since, the record's line is recorded, whatever
// the lock says.
//
// Recovery. None: the trie is consistent after every store.
//
// Full region. The first allocation fails, before anything is visible. A remove without memory for
// its copy marks the record's word as `dead`, in place; the next copy of the node omits it.
//
// Bad input. Keys and values over their limits: errc::too_large. The root of another index:
// errc::incompatible. audit() finds damage and follows no offset that is not an allocated block.
// Operations throw damage and terminate: steps are counted, a node that occurs twice on a path is
// not locked twice, and the number of restarts is bounded (`sync/patience.hpp`).
//
// Literature. Binna et al., "HOT: a height optimized trie index for main-memory database systems",
// SIGMOD 2018; Leis et al., "The ART of practical synchronization", DaMoN 2016 (ROWEX); Lee et al.,
// "RECIPE", SOSP 2019 (condition 1).
#pragma once

#include "index/common/batch.hpp"
#include "index/common/get_piece.hpp"
#include "index/common/index.hpp"
#include "index/hot/draft.hpp"
#include "index/hot/few.hpp"
#include "index/hot/grown.hpp"
#include "sync/patience.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf {

namespace hot_detail {

inline constexpr layout::room_format hot_format{"hot", 1};
inline constexpr u64 root_type = 0x4846484f54540001;  // "HFHOTT", version 1

}  // namespace hot_detail

template <class D, class Keys>
class hot final : public traced {
   public:
    using key = typename Keys::key;
    using value = typename Keys::value;
    using operation = typename D::operation;
    static constexpr std::string_view name = "hot";
    static constexpr layout::room_format format = hot_detail::hot_format;

    [[nodiscard]] static result<std::unique_ptr<hot>> open(eager_space& space,
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
    /// Looks up many keys in lockstep (index/common/get_piece.hpp).
    template <class Found>
    void get_piece(operation& op, std::span<const key> keys, Found&& found) const;

    /// visit(key, value) of at most `most` entries in ascending order, starting at the first key >=
    /// `lower`. Returns the number visited.
    template <class Visit>
    u64 scan(eager_space& space, key lower, u64 most, Visit&& visit) const {
        return scan_from<true>(space, &lower, most, visit);
    }
    /// scan() in descending order, starting at the last key <= `upper`.
    template <class Visit>
    u64 scan_back(eager_space& space, key upper, u64 most, Visit&& visit) const {
        return scan_from<false>(space, &upper, most, visit);
    }
    template <class Visit>
    void for_each(eager_space& space, Visit&& visit) const;

    void trace_roots(tracer& t) const override;
    void trace(u64 offset, u32 kind, tracer& t) const override;
    void audit(heap_audit& a) const;

   private:
    using path = hot_detail::path_of<Keys>;
    using record = typename Keys::record;
    using node = hot_detail::node;
    using what = hot_detail::what;
    using draft = hot_detail::draft;

    enum class wanted : u8 { absent, any, present };
    enum class step : u8 { done, again };

    /// A node on a path, and the index of the entry that was followed.
    struct level {
        node* n;
        u64 word;  ///< the word that points to it
        u32 index;
    };
    using way = hot_detail::few<level, 64>;
    struct change;
    struct fresh_record;

    explicit hot(eager_space& space) : space_(space), base_(space.file().base()) {}

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, region::near_offset(offset, alignof(T)));
    }
    [[nodiscard]] node* node_of(u64 word) const noexcept {
        return at<node>(hot_detail::slot_word::offset_of(word));
    }
    [[nodiscard]] record* record_of(u64 word) const noexcept {
        return at<record>(hot_detail::slot_word::offset_of(word));
    }
    [[nodiscard]] key key_in(u64 word) const noexcept { return Keys::key_of(*record_of(word)); }
    [[nodiscard, gnu::always_inline]] static u32 find(const node* n, u64 word, key k) noexcept {
        return hot_detail::search::find<path>(n, word, k);
    }

    [[nodiscard, gnu::always_inline]] static published* words_in(node* n, u64 word) noexcept {
        if constexpr (path::is_short) return n->words_of_single_mask(word);
        return n->words(word);
    }

    // --- searching (find.hpp) ---
    /// The state of a reader's descent: the word to follow, its address, and the lock that guards
    /// it.
    struct reached {
        const published* slot;
        const node_lock* lock;
        u64 word;
    };
    void go_down(operation& op, key k, reached& r) const;
    template <class Found>
    bool end_at(operation& op, key k, const reached& r, Found&& found) const;
    void begin_loading(u64 word) const noexcept;
    void begin_copying(const way& w) const noexcept;
    static void note_word(operation& op, const node_lock& lock, const published* slot) noexcept;
    [[nodiscard]] u64 descend(operation& op, key k, way& w) const;
    [[nodiscard]] u32 level_of(const way& w, u32 bit) const noexcept;
    [[nodiscard]] published& link_of(const way& w, u32 depth) const noexcept;
    [[nodiscard]] node_lock& lock_above(const way& w, u32 depth) const noexcept;
    void take_over(operation& op, const way& w, u32 depth) const;

    // --- writing (write.hpp) ---
    template <class Old>
    [[nodiscard]] result<bool> write(operation& op, key k, value v, wanted w, Old&& old);
    [[nodiscard]] result<step> add(operation& op, way& w, u64 found, key k, fresh_record& r);
    template <class Old>
    [[nodiscard]] result<step> replace(operation& op, const way& w, u64 found, key k, value v,
                                       fresh_record& r, Old&& old);
    template <class Old>
    [[nodiscard]] step take_out(operation& op, way& w, u64 found, Old&& old);

    // --- changing the shape (shape.hpp) ---
    static void load(const operation& op, draft& d, node* n, u64 word);
    [[nodiscard]] result<u64> make_node(change& c, const draft& d) const;
    [[nodiscard]] result<u64> make_entry(change& c, const draft& d) const;
    [[nodiscard]] result<u64> place_node(change& c, const hot_detail::node_buffer& buffer,
                                         u64 word) const;
    [[nodiscard]] result<step> put(change& c, way& w, draft& d);
    [[nodiscard]] result<step> put_grown(change& c, const way& w,
                                         const hot_detail::node_buffer& grown, u64 made_word);
    void replace_from(change& c, const way& w, u32 depth, u64 word);
    void publish_pair(change& c, published& link, u64 was, u64 word);
    void leave_out_dead(change& c, draft& d, u32& entry, u32 least) const;

    // --- batches (batch.hpp) ---
    struct piece_draft;
    class piece_trie;

    // --- scans (scan.hpp) ---
    struct scan_state;
    template <bool Up, class Visit>
    u64 scan_from(eager_space& space, const key* bound, u64 most, Visit&& visit) const;
    template <bool Up>
    void seek(operation& op, key bound, scan_state& s) const;
    template <bool Up>
    bool collect_next(operation& op, scan_state& s) const;
    template <bool Up, class Run>
    void note_run(operation& op, const scan_state& s, u32 begin, const Run& r) const noexcept;
    template <bool Up>
    [[nodiscard]] u32 first_in_bounds(scan_state& s, key bound) const;
    template <bool Up, class Visit>
    u64 visit_collected(operation& op, scan_state& s, key bound, Visit&& visit) const;

    // --- audits (audit.hpp) ---
    struct audit_state;
    [[nodiscard]] static result<u64> create_root(eager_space& space);
    [[nodiscard]] error damaged(const char* attempt, u64 offset, std::string why) const;
    bool claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is, u64 from) const;
    void audit_record(audit_state& s, u64 word, u64 from) const;
    [[nodiscard]] bool audit_node(audit_state& s, u64 word, u64 from) const;

    eager_space& space_;
    std::byte* const base_;
    u64 root_offset_ = 0;
    hot_detail::root_block* root_ = nullptr;
    mutable std::atomic<bool> damage_is_known_{false};  ///< see `sync/patience.hpp`
};

}  // namespace hf

#include "index/hot/audit.hpp"
#include "index/hot/batch.hpp"
#include "index/hot/find.hpp"
#include "index/hot/scan.hpp"
#include "index/hot/shape.hpp"
#include "index/hot/write.hpp"
