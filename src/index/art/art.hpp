// index/art/art.hpp: P-ART: the adaptive radix tree with ROWEX synchronisation, in which every
// operation is durable.
//
// Purpose. The ordered index without hashing and sorting: a key's bytes are the path to its record,
// and node sizes adapt to the number of children. Readers take no lock and never restart; a write
// is a record and one word.
//
//        N256, root                     level 0: slots by byte 0
//        |  'h' ----------> N4 "ol"     level 3: prefix of 2 bytes, slots by byte 3
//        |                  |  'd' ---> record "hold"
//        |                  |  'y' ---> record "holy"
//        |                  end ------> record "hol"
//        '  'z' ----------> record "zebra"      lazy expansion: a record is as high as possible
//
// On the medium. node.hpp; records: index/common/keys.hpp. The root is an N256 of level 0, which is
// never replaced; a root of the region points to it.
//
// Invariants.
//  I1  The bytes that lead to a node's slots (its path, `level` bytes) never change while the node
//      exists: each key below begins with them. So any record below contains the path.
//  I2  `depth` bytes lead to the node, and `length` bytes are its compressed prefix: depth + length
//      == level. This does not hold between A2 and A3, and between A4 and A5; a crash makes that
//      state permanent.
//  I3  Each key byte occurs once in a node. All nodes but the root have an entry.
//  I4  Only words and records have to be durable: hints and counts are derived from words.
//  I5  An obsolete node does not change any more, and was unlinked durably.
//
// Persist order. Record and new nodes < their word: P1; a word < the return: P2
// (eager/operation.hpp). Besides:
//  A1  record and N4 of a prefix split < A2 the parent's slot < A3 the node's shorter prefix
//  A4  the parent's slot < A5 the child's longer prefix < retiring the N4 that was merged
//  A7  a larger or smaller copy < A8 the parent's slot < retiring the old node
//  A9  a repaired prefix < releasing the locks under which it was repaired
//
// Concurrency (ROWEX: read-optimised write exclusion). A writer locks the node it changes, and its
// parent if both change. Lock order: the lower node first. After locking it checks again that the
// node is not obsolete and the slot is unchanged. Readers use the levels: they compare a prefix
// only if I2 holds, and compare the whole key at the record. A reader sees an old node's contents
// at most as of its replacement, which is not before the reader's beginning.
// Flush-on-read: a reader checks each node's lock after it has loaded the slot. If the lock is held
// or the node is obsolete, the slot's line is recorded, so it is durable before an operation
// returns or depends on it. A value in a record changes under the lock of the node that refers to
// the record at that time: if the slot has changed since, the record's line is recorded, whatever
// the lock says.
//
// Recovery. No pass. A writer that finds I2 violated takes both locks, checks again, and restores
// the prefix from a record below: one repair for both splits and merges. A single child that was
// not merged is merged by the next remove on its path. Hints: node.hpp.
//
// Full region. The first allocation fails, before anything is visible. Nodes are not shrunk or
// merged then.
//
// Bad input. Keys and values over their limits: errc::too_large. The root of another index:
// errc::incompatible. audit() finds damage and follows no offset that is not an allocated block.
// Operations throw damage and terminate: levels ascend on each descent, so no path is a cycle and
// no thread locks a node twice; the number of restarts is bounded (`sync/patience.hpp`).
//
// Literature. Leis, Kemper, Neumann, "The adaptive radix tree", ICDE 2013; Leis et al., "The ART of
// practical synchronization", DaMoN 2016 (ROWEX); Lee et al., "RECIPE", SOSP 2019 (condition 3); Ma
// et al., "ROART", FAST 2021 (key byte and child in one word).
#pragma once

#include "index/art/node.hpp"
#include "index/common/batch.hpp"
#include "index/common/get_piece.hpp"
#include "index/common/index.hpp"
#include "sync/patience.hpp"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hf {

namespace art_detail {

inline constexpr layout::room_format art_format{"art", 1};
inline constexpr u64 root_type = 0x4846454152540001;  // "HFEART", version 1

}  // namespace art_detail

template <class D, class Keys>
class art final : public traced {
   public:
    using key = typename Keys::key;
    using value = typename Keys::value;
    using operation = typename D::operation;
    static constexpr std::string_view name = "art";
    static constexpr layout::room_format format = art_detail::art_format;

    [[nodiscard]] static result<std::unique_ptr<art>> open(eager_space& space,
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
    using path = art_detail::path_of<Keys>;
    using prefix = art_detail::prefix<path>;
    using record = typename Keys::record;
    using node = art_detail::node;
    using what = art_detail::what;
    using found_word = art_detail::found_word;

    enum class wanted : u8 { absent, any, present };

    /// The outcome of a writer's descent.
    enum class end_of_way : u8 {
        absent,    ///< the node has no entry for the key's next byte (or its end)
        equal,     ///< the key's record was found
        occupied,  ///< another key's record is in the key's slot
        apart,     ///< the key differs from the node's prefix
        torn,      ///< I2 does not hold for the node
        lone,      ///< (removes) the node's only entry is a node
    };
    struct place {
        node* at = nullptr;
        what kind = what::n256;
        u64 self = 0;               ///< the word that points to `at`
        published* link = nullptr;  ///< the address of that word, in `parent`
        node* parent = nullptr;     ///< nullptr: `at` is the root
        what parent_kind = what::n256;
        u32 depth = 0;         ///< number of bytes that lead to `at`
        prefix seen;           ///< of `at`
        bool skipped = false;  ///< some bytes of prefixes were not compared with the key
        found_word slot;       ///< the key's slot in `at`
        end_of_way how = end_of_way::absent;
    };
    static constexpr u32 no_stop = ~u32{0};

    explicit art(eager_space& space) : space_(space), base_(space.file().base()) {}

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, region::near_offset(offset, alignof(T)));
    }
    [[nodiscard]] node* root() const noexcept { return root_; }
    [[nodiscard]] node* node_of(u64 word) const noexcept {
        return at<node>(art_detail::slot_word::offset_of(word));
    }
    [[nodiscard]] record* record_of(u64 word) const noexcept {
        return at<record>(art_detail::slot_word::offset_of(word));
    }
    [[nodiscard]] key key_in(u64 word) const noexcept { return Keys::key_of(*record_of(word)); }
    [[nodiscard]] static prefix prefix_of(const node* n) noexcept {
        return prefix::unpack(n->prefix_word.load());
    }
    [[nodiscard]] static published* end_of(node* n, what kind) noexcept {
        return art_detail::visit_node(n, kind, [](auto& x) { return &x.end; });
    }
    [[nodiscard, gnu::always_inline]] static found_word find(node* n, what kind, u8 byte,
                                                             bool hints) noexcept {
        return art_detail::visit_node(n, kind, [&](auto& x) { return x.find(byte, hints); });
    }
    /// The slot for a key that shares the node's path; `level`: the node's level.
    [[nodiscard]] static found_word find_for(node* n, what kind, key k, u32 level,
                                             bool hints) noexcept {
        if constexpr (path::can_end) {
            if (path::length(k) == level) {
                published* end = end_of(n, kind);
                return {end, end->load()};
            }
        }
        return find(n, kind, path::at(k, level), hints);
    }
    /// The number of entries, including a key that ends here.
    [[nodiscard]] static u32 entries_of(node* n, what kind) noexcept {
        return art_detail::visit_node(
            n, kind, [](auto& x) { return x.count() + (x.end.load() != 0 ? 1 : 0); });
    }
    /// Whether the node could be shrunk, or replaced by its only child.
    [[nodiscard]] static bool is_sparse(node* n, what kind) noexcept {
        return art_detail::visit_node(n, kind, [](auto& x) {
            return x.kind == what::n4 ? x.count() + (x.end.load() != 0 ? 1 : 0) <= 1
                                      : x.count() <= x.least;
        });
    }
    static void note_removed(node* n, what kind) noexcept {
        art_detail::visit_node(n, kind, [](auto& x) { x.note_removed(); });
    }
    /// Visits each word that is not 0.
    template <class Visit>
    static void each_word(node* n, what kind, Visit&& visit) {
        art_detail::visit_node(n, kind, [&](auto& x) {
            if constexpr (path::can_end) {
                if (const u64 w = x.end.load(); w != 0) visit(w, &x.end);
            }
            for (published& s : x.slots) {
                if (const u64 w = s.load(); w != 0) visit(w, &s);
            }
        });
    }

    // --- searching (find.hpp) ---
    /// The state of a reader's descent.
    struct reached {
        node* n;
        what kind;
        u32 depth;        ///< number of bytes that lead to n
        bool is_apart;    ///< (at the end) the key differs from the path of n
        found_word slot;  ///< (at the end, otherwise) the slot, which contains no node for the key
    };
    [[nodiscard]] reached start() const noexcept { return {root_, what::n256, 0, false, {}}; }
    [[nodiscard]] bool go_down(operation& op, key k, reached& r) const;
    template <class Found>
    bool end_at(operation& op, key k, const reached& r, Found&& found) const;
    static void begin_loading(const node* n, what kind, u8 byte) noexcept;
    static void note_slot(operation& op, node* n, what kind, const published* slot) noexcept;
    void walk(operation& op, key k, u32 stop, bool removes, place& p) const;
    [[nodiscard]] const record* any_record(const node* n, what kind) const noexcept;
    [[nodiscard]] u32 apart_at(const place& p, key k) const noexcept;

    // --- batches (batch.hpp) ---
    class piece_locks;
    [[nodiscard]] static bool try_lock(operation& op, node* n, what kind) noexcept(!crashes_throw);
    [[nodiscard]] placing place_in_piece(operation& op, piece_locks& locks, key k, u64& made);

    // --- writing (write.hpp) ---
    [[nodiscard]] static bool lock(operation& op, node* n, what kind);
    static void take_over(operation& op, node* n, what kind) noexcept(!crashes_throw);
    void tidy_up(operation& op, const place& p);
    [[nodiscard]] static bool is_usable(operation& op, node* n, what kind) noexcept;
    [[nodiscard]] static bool lock_parent(operation& op, const place& p);
    [[nodiscard]] static bool lock_with_slot(operation& op, const place& p, key k);
    template <class Old>
    [[nodiscard]] result<bool> write(operation& op, key k, value v, wanted w, Old&& old);
    struct fresh_record;
    enum class step : u8 { done, again };
    [[nodiscard]] result<step> add(operation& op, const place& p, key k, fresh_record& r,
                                   u32& stop);
    [[nodiscard]] result<step> push_down(operation& op, const place& p, key k, fresh_record& r,
                                         u32& stop);
    [[nodiscard]] result<step> split_prefix(operation& op, const place& p, key k, fresh_record& r,
                                            u32& stop);
    template <class Old>
    [[nodiscard]] result<step> replace(operation& op, const place& p, key k, value v,
                                       fresh_record& r, Old&& old);
    template <class Old>
    [[nodiscard]] step take_out(operation& op, const place& p, key k, Old&& old);

    // --- changing the shape (shape.hpp) ---
    struct fresh_node {
        u64 offset;
        node* at;
    };
    template <class N>
    [[nodiscard]] static result<fresh_node> make_node(operation& op, const prefix& p);
    [[nodiscard]] static result<fresh_node> make_pair(operation& op, const prefix& p, key one,
                                                      u64 one_word, key other, u64 other_word);
    template <class To>
    [[nodiscard]] result<fresh_node> copy_as(operation& op, node* n, what kind, u64 more) const;
    [[nodiscard]] result<step> grow(operation& op, const place& p, u64 more);
    void repair(operation& op, const place& p);
    void merge(operation& op, const place& p);
    void take_place_of(operation& op, const place& p, node* child, what child_kind, u64 word);
    void shrink(operation& op, const place& p);
    void replace_node(operation& op, const place& p, u64 word);
    void let_go(operation& op, const place& p);

    // --- scans (scan.hpp) ---
    struct scan_state;
    template <bool Up, class Visit>
    u64 scan_from(eager_space& space, const key* bound, u64 most, Visit&& visit) const;
    template <bool Up>
    void seek(operation& op, key bound, scan_state& s) const;
    void collect(scan_state& s, u64 word, const published& slot) const noexcept;
    template <bool Up>
    struct collector;
    template <bool Up>
    [[nodiscard]] bool collect_four(operation& op, scan_state& s, u64 word) const;
    template <bool Up>
    bool collect_next(operation& op, scan_state& s) const;
    template <class Run>
    void note_run(operation& op, const scan_state& s, u32 begin, const Run& r) const noexcept;
    template <bool Up, class Visit>
    u64 visit_collected(operation& op, scan_state& s, const key& bound, Visit&& visit) const;

    // --- audits (audit.hpp) ---
    struct audit_item;
    [[nodiscard]] static result<u64> create_root(eager_space& space);
    [[nodiscard]] error damaged(const char* attempt, u64 offset, std::string why) const;
    bool claim(heap_audit& a, u64 offset, u64 bytes, const char* what_it_is, u64 from) const;
    [[nodiscard]] std::optional<std::string> audited_key(const heap_audit& a, u64 word) const;
    [[nodiscard]] std::optional<std::string> audited_key_below(const heap_audit& a, u64 word) const;
    void audit_node(heap_audit& a, const audit_item& i, std::vector<audit_item>& more) const;

    eager_space& space_;
    std::byte* const base_;
    u64 root_offset_ = 0;
    node* root_ = nullptr;
    mutable std::atomic<bool> damage_is_known_{false};  ///< see `sync/patience.hpp`
};

}  // namespace hf

#include "index/art/audit.hpp"
#include "index/art/batch.hpp"
#include "index/art/find.hpp"
#include "index/art/scan.hpp"
#include "index/art/shape.hpp"
#include "index/art/write.hpp"
