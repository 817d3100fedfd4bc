// masstree.hpp: a concurrent, ordered, durable index (Mao, Kohler, Morris: "Cache craftiness for
// fast multicore key-value storage", EuroSys 2012; made durable as in Cohen et al., ASPLOS 2019,
// section 4).
//
// Purpose. A trie of B+ trees: each layer is a B+ tree over one 8-byte slice of the key; keys that
// share a slice and continue share the next layer. One template for all disciplines; their
// differences are in their adapters (adapter.hpp), one of which the user of the tree includes.
//
// On the medium: node.hpp and checkpoint/leaf.hpp (nodes), record.hpp (values and key tails),
// incll/leaf_log.hpp (in-cache-line logs).
//
// Invariants.
//  M1  Layers have permanent root nodes. A root that overflows moves its contents to two new nodes
//      and becomes their parent in place; the root of an empty layer becomes an empty leaf in
//      place, which the leaf above can then drop. So a pointer to a root never changes.
//  M2  The leaves of a layer form a list by `next`, in order; low keys ascend; a leaf's range ends
//      at its right neighbour's low key. Equal slices are in one leaf.
//  M3  An interior node with n keys has n + 1 children; child i contains slices in [keys[i-1],
//      keys[i]).
//  M4  A node that is marked deleted is in no list and has no parent; its memory is reused only in
//      a later epoch.
//  M5  Before a node's first change in an epoch it is in the external log, or the change is covered
//      by incll/leaf_log.hpp, or the node was created in this epoch (log_epoch says which). All
//      nodes that a split or a removal changes are logged together with one fence, after all locks
//      are held and all memory is allocated.
//
// Concurrency. Readers: sync/version_lock.hpp; they never write, except for lazy recovery. Lock
// order: writers lock from child to parent; within a level and downwards only by try_lock,
// releasing everything on failure (removals). An operation runs within one epoch (gate.hpp), so
// nothing it can reach is reused while it runs.
//
// Recovery. Interior nodes: external log, before the first operation. Leaves: lazily (R1 of
// leaf_log.hpp); the adapter's `arrive` is called before any access to a leaf's contents.
//
// Full region. Operations allocate all memory and log space before the first store; on error
// nothing has changed.
#pragma once

#include "base/check.hpp"
#include "base/damage.hpp"
#include "checkpoint/heap/heap.hpp"
#include "discipline/discipline.hpp"
#include "index/masstree/adapter.hpp"
#include "index/masstree/cell.hpp"
#include "index/masstree/formats.hpp"
#include "index/masstree/key.hpp"
#include "index/masstree/leaf_hints.hpp"
#include "index/masstree/node.hpp"
#include "index/masstree/record.hpp"
#include "region/region.hpp"
#include "sync/patience.hpp"

#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hf {

/// The decision of the callback of masstree::update().
struct decision {
    enum class action { keep, store, erase };
    action what = action::keep;
    u64 record = 0;  ///< store: offset of a filled record, from make_record()
    /// store: a value for the leaf itself, instead of a record, if fits_inline() allows it.
    masstree_detail::cell value = {};

    [[nodiscard]] static decision to_store(masstree_detail::cell value) noexcept {
        return {action::store, 0, value};
    }
};

template <any_discipline D>
class masstree {
    using adapter = typename masstree_detail::adapter_of<D>::type;
    static_assert(masstree_detail::is_adapter<adapter, typename D::memory>());

   public:
    using operation = typename D::operation;
    using memory = typename D::memory;
    using leaf = typename adapter::leaf;
    using interior = typename adapter::interior;
    using record = masstree_detail::record;
    using node = masstree_detail::node;

    /// Creates the root of an empty tree whose nodes come from malloc().
    [[nodiscard]] static result<u64> create_root(memory& blocks, operation& op, u64 generation);
    /// Creates the root of an empty tree in a region that had no session yet, at the offset that
    /// format_heap() returned, and publishes it under this name. Until the last store the region
    /// has no root, and may be formatted again.
    [[nodiscard]] static result<void> create_root(region& r, u64 place, std::string_view name,
                                                  u64 type, u32 format = masstree_root_format);

    /// Opens the tree with the root at offset `root`. `generation`: of this session; `format`: the
    /// format version in the root.
    masstree(memory& blocks, u64 root, u64 generation, u32 format = masstree_root_format) noexcept
        : heap_(blocks),
          adapter_(make_adapter(blocks, format)),
          base_(blocks.base()),
          root_(root),
          generation_(masstree_detail::version_word::generation_bits(generation)) {}

    /// Enables leaf hints: operations store them and use them. Call before the first operation; has
    /// no effect without address space. `file`: the region with the nodes (not for nodes from
    /// malloc()).
    void keep_hints(const region& file, u64 budget) {
        hinted_file_ = &file;
        hints_ = masstree_detail::leaf_hints::make(budget);
        cover_region();
    }
    /// Memory of the hints; 0: disabled.
    [[nodiscard]] u64 hint_bytes() const noexcept {
        return hints_ != nullptr ? hints_->bytes() : 0;
    }
    /// Prefetches the hint for a key; call as soon as the key is known.
    void prefetch_hint(std::string_view key) const noexcept {
        if (hints_ != nullptr) hints_->prefetch(masstree_detail::slice_of(key));
    }
    /// Prefetches the leaf and the record of the key's hint.
    void prefetch_hinted(const operation& /*inside of it*/, std::string_view key) const noexcept {
        if (hints_ != nullptr) (void)hinted_leaf(masstree_detail::slice_of(key));
    }

    /// Prefetches the leaves of up to most_finds keys, and the records of their hints, for
    /// operations of any kind that follow at once. Throws damage.
    void prefetch(const operation& op, std::span<const std::string_view> keys) const;

    /// Calls found(value) if the key exists; the view ends with the operation. Writes nothing.
    template <class F>
    bool get(operation& op, std::string_view key, F&& found);

    /// Offset of the key's record, or 0. Not for trees with inlined values.
    [[nodiscard]] u64 find(operation& op, std::string_view key) {
        HF_ASSERT(!is_inlined(), "the key may have no record");
        return find_cell(op, key).word;
    }
    using cell = masstree_detail::cell;
    /// The key's value, or its record (the word is the offset), or kind none.
    [[nodiscard]] cell find_cell(operation& op, std::string_view key);
    /// Whether small values of short keys are stored in the leaves.
    [[nodiscard]] bool is_inlined() const noexcept {
        if constexpr (adapter_can_inline) return adapter_.is_inlined();
        return false;
    }
    [[nodiscard]] bool lies_inline(std::string_view key, std::string_view value) const noexcept {
        return is_inlined() && masstree_detail::fits_inline(key.size(), value.size());
    }
    /// find() for up to most_finds keys, with overlapping cache misses.
    static constexpr std::size_t most_finds = 16;
    void find_many(operation& op, std::span<const std::string_view> keys, u64* offsets) {
        HF_ASSERT(!is_inlined(), "a key may have no record");
        std::array<cell, most_finds> found;
        find_many(op, keys, found.data());
        for (std::size_t i = 0; i < keys.size(); ++i) offsets[i] = found[i].word;
    }
    void find_many(operation& op, std::span<const std::string_view> keys, cell* found);

    /// Makes a record of key and value, to be stored in the same operation. Not for large values.
    [[nodiscard]] result<u64> make_record(operation& op, std::string_view key,
                                          std::string_view value);
    /// Frees a record that was not stored, or was committed and not stored.
    void drop_record(operation& op, u64 offset) {
        heap_.deallocate(op, offset, record_at(offset)->payload());
    }
    [[nodiscard]] record* record_at(u64 offset) const noexcept {
        return object_at<record>(base_, offset);
    }
    /// The record at an offset read from a leaf; checks that all of it is within the region. Throws
    /// damage.
    [[nodiscard, gnu::always_inline]] record& sized_record(u64 offset) const {
        const u64 end = heap_.end();
        if (offset < layout::page_size || offset + sizeof(record) > end ||
            offset + record_at(offset)->payload() > end) [[unlikely]] {
            broken(offset, "a record lies outside of the region");
        }
        return *record_at(offset);
    }
    /// Whether the record at `offset` contains what was written under the key.
    [[nodiscard]] bool is_whole(std::string_view key, const record& r, u64 offset) const noexcept {
        return r.is_sound(key, offset) || (r.head.checksum() == 0 && may_lack_checksums());
    }
    /// Throws damage unless `value`, read from a record with this head, is what was written under
    /// the key.
    [[gnu::always_inline]] void check_value(std::string_view key, masstree_detail::record_word head,
                                            std::string_view value, u64 offset) const {
        const u32 sum = head.checksum();
        if (sum == masstree_detail::record_word::checksum_of(key, value, offset)) [[likely]] {
            return;
        }
        if (sum == 0 && may_lack_checksums()) return;
        broken(offset, "a record's checksum is not that of its key and value");
    }
    /// Whether the tree has format 1, without record checksums and leaf seals.
    [[nodiscard]] bool may_lack_checksums() const noexcept { return !adapter_.is_sealed(); }

    struct outcome {
        bool existed = false;
        bool changed = false;
    };
    /// Read-modify-write: calls decide(const record* old or nullptr) -> decision under the lock of
    /// the key's leaf. `old` is sound. On error, or if an exception is thrown, nothing has changed
    /// and the caller still owns the decision's record. Throws damage.
    ///
    /// `blind`: the old record may be damaged, as long as it lies in the region and is not
    /// evidently another key's. Its block is then leaked until the region is copied: its sizes,
    /// which determine the block to free, may be damaged.
    template <class F>
    [[nodiscard]] result<outcome> update(operation& op, std::string_view key, F&& decide,
                                         bool blind = false);

    struct joining {
        bool joined = false;
        unsigned entries_after = 0;  ///< in the key's leaf; no need to try their keys
    };
    /// Joins the leaf that contains the key, if it is sparse, with a neighbour, if all entries fit
    /// into one. On error nothing has changed. Throws damage.
    [[nodiscard]] result<joining> join(operation& op, std::string_view key);

    /// Visits records from the first key >= from (> if exclusive): visit(key, value) -> bool; false
    /// stops. Both views end with the call; `visit` runs within the operation. Returns whether the
    /// end was reached.
    template <class F>
    bool scan(operation& op, std::string_view from, bool exclusive, F&& visit);
    /// scan() in descending order, from the last key <= from (< if exclusive); nullopt: from the
    /// greatest key.
    template <class F>
    bool scan_backward(operation& op, std::optional<std::string_view> from, bool exclusive,
                       F&& visit);

    /// Bytes of each node.
    [[nodiscard]] u64 node_payload() const noexcept {
        return is_inlined() ? masstree_detail::inlined_node_payload : masstree_detail::node_payload;
    }

    // --- for checks (audit.hpp); no other thread may use the tree ---
    [[nodiscard]] u64 root() const noexcept { return root_; }
    [[nodiscard]] std::byte* base() const noexcept { return base_; }

   private:
    friend typename adapter::shape;

    using version_word = masstree_detail::version_word;
    using key_cursor = masstree_detail::key_cursor;
    using perm = masstree_detail::permutation<leaf::width>;
    static constexpr unsigned interior_width = interior::width;
    static constexpr unsigned max_height = masstree_detail::max_height;

    /// The interior nodes on the path to a leaf, from its layer's root down. A hint: they may have
    /// changed since.
    struct descent {
        std::array<interior*, max_height> nodes;
        unsigned depth = 0;
        void push(interior* n) noexcept {
            if (depth < max_height) nodes[depth++] = n;
        }
        [[nodiscard]] interior* pop() noexcept { return depth == 0 ? nullptr : nodes[--depth]; }
    };

    struct entry {
        u64 slice;
        unsigned length_class;
        cell value;
    };

    static constexpr bool adapter_can_inline = requires { adapter::can_inline; };
    [[nodiscard]] static adapter make_adapter(memory& blocks, u32 format) noexcept {
        const bool sealed = format >= masstree_root_format;
        if constexpr (adapter_can_inline) {
            return adapter(blocks, sealed, format == inlined_root_format);
        } else {
            return adapter(blocks, sealed);
        }
    }
    /// A slot's contents as read, with the seal. Valid if the leaf's version is unchanged
    /// afterwards.
    [[nodiscard, gnu::always_inline]] cell cell_at(const leaf& n, unsigned slot) const noexcept {
        if constexpr (adapter_can_inline) {
            if (is_inlined()) return adapter::inlined_at(n, slot);
        }
        return of_word(load(n.values[slot]));
    }
    [[nodiscard]] static cell of_word(u64 word) noexcept {
        namespace kind = masstree_detail::cell_kind;
        return {word, masstree_detail::value_word::is_layer(word) ? kind::layer : kind::record};
    }
    [[nodiscard]] static cell cell_of_record(u64 offset) noexcept {
        return of_word(masstree_detail::value_word::of_record(offset));
    }
    [[nodiscard]] static cell cell_of_layer(u64 offset) noexcept {
        return of_word(masstree_detail::value_word::of_layer(offset));
    }
    /// Stores `c`, without a seal yet, into a slot that is not visible, or in a leaf whose version
    /// is marked; the slot's key is set.
    void put_cell(leaf& n, unsigned slot, const cell& c) const noexcept {
        if constexpr (adapter_can_inline) {
            if (is_inlined()) {
                adapter::put_inlined(n, slot, sealed(n, c));
                return;
            }
        }
        store(n.values[slot], n.sealed_value(c.word));
    }
    /// Replaces the contents `old` of a used slot, which is logged.
    void publish_cell(operation& op, leaf& n, unsigned slot, const cell& old, const cell& c) const {
        if constexpr (adapter_can_inline) {
            if (is_inlined()) {
                // a reader must not combine a word with another kind
                if (old.kind != c.kind) n.version.mark_inserting();
                adapter::put_inlined(n, slot, sealed(n, c));
                return;
            }
        }
        adapter_.publish(op, n.values[slot], n.sealed_value(c.word));
    }
    [[nodiscard]] static cell sealed(const leaf& n, const cell& c) noexcept {
        if (masstree_detail::cell_kind::is_inline(c.kind)) return c;
        return {n.sealed_value(c.word), c.kind};
    }
    /// The record's offset for prefetching and hints; 0: no record.
    [[nodiscard]] static u64 record_offset(const cell& c) noexcept {
        const bool none = masstree_detail::cell_kind::is_inline(c.kind);
        return none ? 0 : masstree_detail::value_word::offset(c.word);
    }
    /// Prefetches all lines of a node.
    [[gnu::always_inline]] void fetch(const node* n) const noexcept {
        interior::prefetch(n);
        fetch_sixth_line(n);
    }
    /// Prefetches the sixth line of a node, if it has one.
    [[gnu::always_inline]] void fetch_sixth_line(const node* n) const noexcept {
        constexpr u64 last = masstree_detail::inlined_node_payload - line_size;
        if (is_inlined()) __builtin_prefetch(reinterpret_cast<const char*>(n) + last);
    }

    // --- helpers ---
    /// The entry of a slot of a sound leaf, without the seal.
    [[nodiscard]] entry entry_at(const leaf& n, u64 lengths, unsigned slot) const noexcept {
        return {load(n.keys[slot]), masstree_detail::length_class(lengths, slot),
                plain(cell_at(n, slot))};
    }
    [[nodiscard]] static cell plain(const cell& c) noexcept {
        if (masstree_detail::cell_kind::is_inline(c.kind)) return c;
        return {masstree_detail::value_word::plain(c.word), c.kind};
    }
    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, offset);
    }
    [[nodiscard]] u64 offset_of(const void* p) const noexcept { return offset_from(base_, p); }
    static u64 load(const masstree_detail::word& w) noexcept { return masstree_detail::load(w); }
    static void store(masstree_detail::word& w, u64 v) noexcept { masstree_detail::store(w, v); }
    /// Waits until no writer has marked the node, and returns its version. Throws damage after the
    /// timeout.
    [[nodiscard, gnu::always_inline]] u64 stable(node* n) const {
        return n->version.stable(generation_, [this, n] { return vigil(stuck_, offset_of(n)); });
    }
    /// version_lock::lock(). Throws damage after the timeout.
    [[gnu::always_inline]] bool lock(node* n) const {
        return n->version.lock(generation_, [this, n] { return vigil(stuck_, offset_of(n)); });
    }
    [[nodiscard]] static bool is_leaf(u64 v) noexcept { return (v & version_word::leaf) != 0; }
    [[nodiscard]] static bool is_deleted(u64 v) noexcept {
        return (v & version_word::deleted) != 0;
    }

    struct split_plan;

    // --- damage: checks before a pointer is followed ---
    [[noreturn, gnu::cold, gnu::noinline]] static void broken(u64 offset, const char* why) {
        throw damage(offset, why);
    }
    /// The node at an offset read from another node; checks that it is within the region. Throws
    /// damage.
    template <class T = node>
    [[nodiscard]] T* followed(u64 offset) const {
        if (!can_be_followed(offset)) [[unlikely]] {
            broken(offset, "a node lies outside of the region, or between two places");
        }
        return at<T>(offset);
    }
    [[nodiscard]] bool can_be_followed(u64 offset) const noexcept {
        if constexpr (memory::is_in_region) {
            constexpr u64 least = layout::page_size;
            const u64 room = heap_.end() - least - node_payload();
            return offset - least <= room && offset % line_size == block_header_size;
        } else {
            return true;
        }
    }
    /// Whether `order`, read from n, matches its seal.
    [[nodiscard]] bool is_order(const leaf& n, u64 order) const noexcept {
        return n.is_order(order) || !adapter_.is_sealed();
    }
    void check_order(const leaf& n, u64 order) const {
        if (!is_order(n, order)) [[unlikely]] {
            broken(offset_of(&n.order), "a leaf's permutation contradicts its seal");
        }
    }
    /// check_order() for a permutation read while the leaf had this version.
    void check_order(const leaf& n, u64 order, u64 version) const {
        check_order(n, order);
        if (!adapter_.is_stamped(n) && !n.version.changed(version)) [[unlikely]] {
            broken(offset_of(&n), "a leaf's epoch contradicts its seal");
        }
    }
    /// Checks and removes the seal of a slot's contents, after the version was validated. An
    /// inlined value is checked separately (is_torn).
    [[nodiscard]] cell opened(const leaf& n, const cell& c) const {
        namespace kind = masstree_detail::cell_kind;
        if (is_inlined() && kind::is_inline(c.kind)) return c;
        if ((!n.is_value(c.word) || !kind::is_known(c.kind)) && adapter_.is_sealed()) [[unlikely]] {
            broken(offset_of(&n), "a value of a leaf contradicts its seal");
        }
        return plain(c);
    }
    /// Whether an inlined value and its check do not match: read from two different stores, or
    /// damaged.
    [[nodiscard, gnu::always_inline]] bool is_torn(const leaf& n, const cell& c, u64 slice,
                                                   unsigned length_class) const noexcept {
        if constexpr (adapter_can_inline) {
            return is_inlined() && !adapter::fits_inlined(n, c, slice, length_class);
        }
        return false;
    }
    [[nodiscard]] bool read_again(leaf& n, u64 version, unsigned slot, u64 slice,
                                  unsigned length_class, cell& c) const;
    /// The permutation of a locked leaf.
    [[nodiscard]] perm order_of(const leaf& n) const {
        const u64 order = load(n.order);
        check_order(n, order);
        return perm(order);
    }
    /// order_of() of a leaf whose slots are about to change: checks that the permutation is valid.
    [[nodiscard]] perm whole_order_of(const leaf& n) const {
        const perm p = order_of(n);
        if (!p.is_valid()) [[unlikely]] {
            broken(offset_of(&n.order), "a leaf's permutation is none");
        }
        return p;
    }
    void check_before_split(const leaf& n) const;
    void check_entries(const leaf& n) const;

    /// Unlocks a node if damage, or an exception of the caller's function, is thrown.
    class held {
       public:
        explicit held(leaf& n) noexcept : n_(&n) {}
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() {
            if (n_ != nullptr) n_->version.unlock();
        }
        void let_go() noexcept { n_ = nullptr; }
        void unlock() noexcept { std::exchange(n_, nullptr)->version.unlock(); }

       private:
        leaf* n_;
    };

    /// M5, for assertions.
    [[nodiscard]] bool may_change(operation& op, const node& n) const noexcept {
        return n.version.is_held(generation_) && adapter_.is_logged(op, n);
    }

    // --- hinted.hpp: descents shortened by hints ---
    void cover_region() noexcept {
        if (hints_ != nullptr) hints_->cover(hinted_file_->size());
    }
    [[nodiscard]] leaf* hinted_leaf(u64 slice) const noexcept;
    [[nodiscard]] leaf* reach_hinted(operation& op, const key_cursor& key, u64& version,
                                     int& slot) const;
    [[nodiscard]] cell find_hinted(operation& op, const key_cursor& key) const;
    [[nodiscard]] leaf* lock_hinted(operation& op, const key_cursor& key, int& slot) const;
    void leave_hint(u64 slice, const leaf& n, u32 count, u64 its_record) noexcept;
    void leave_hint(const key_cursor& key, const leaf& n, u64 its_record) noexcept;
    void unlock_with_hint(const key_cursor& key, leaf& n, u64 its_record) noexcept;
    void leave_hints(const split_plan& plan, const node* root, const entry& e) noexcept;
    void retire(const leaf& n) noexcept {
        if (hints_ != nullptr) hints_->retire(offset_of(&n));
    }

    // --- find.hpp: descents ---
    [[nodiscard]] leaf* reach_leaf(node* root, u64 slice, u64& version, descent* path) const;
    [[nodiscard]] std::optional<cell> find_in_leaf(operation& op, leaf* n, u64 version,
                                                   const key_cursor& key);
    [[nodiscard]] cell find_from(operation& op, key_cursor key, cell value);
    [[nodiscard]] cell if_same_rest(const cell& value, const key_cursor& key) const;
    [[nodiscard]] node* below(u64 offset, key_cursor& key) const;
    [[nodiscard]] bool follow_right(leaf*& n, u64& version, u64 slice) const;
    /// arrive() for a reader without the lock, which has reached n at this version. Meanwhile a
    /// root that is a leaf may become an interior node, whose words would be misread as a leaf's.
    /// It is marked before the first of these words is stored, so a reader of one finds the version
    /// changed, and reads n again in any case.
    void arrive_unlocked(operation& op, leaf& n, u64 version) const {
        try {
            adapter_.arrive(op, n);
        } catch (const damage&) {
            if (!n.version.changed(version)) throw;
        }
    }
    void arrive_locked(operation& op, leaf& n, bool taken_over) const {
        if (taken_over) [[unlikely]] {
            adapter_.arrive_taken_over(op, n);
        } else {
            adapter_.arrive(op, n);
        }
    }
    [[nodiscard]] leaf* lock_leaf(operation& op, node* root, u64 slice, descent& path) const;
    [[nodiscard]] static int find_slot(const leaf& n, perm p, u64 slice,
                                       unsigned length_class) noexcept;
    [[nodiscard]] static unsigned lower_rank(const leaf& n, perm p, u64 slice,
                                             unsigned length_class) noexcept;

    // --- find_many.hpp ---
    /// One search during its descent of layer 0.
    struct walker {
        key_cursor key{std::string_view{}};
        std::size_t which = 0;  ///< index of its key
        node* n = nullptr;
        u64 version = 0;
        node* child = nullptr;      ///< child of n, not validated
        std::optional<cell> value;  ///< the result of find_in_leaf()
    };
    void walk_down(std::span<walker> all) const;

    // --- update.hpp: changes within a leaf ---
    void check_before_insert(leaf& n, u64 slice, const node* root, const descent& path) const;
    [[nodiscard]] result<void> insert(operation& op, leaf& n, node* root, descent& path,
                                      const entry& e);
    [[nodiscard]] cell to_store(const decision& d, const key_cursor& key) const noexcept;
    [[nodiscard]] result<void> make_layer(operation& op, leaf& n, unsigned slot,
                                          const cell& old_cell, key_cursor key, u64 fresh);
    static void init_leaf(leaf& n, u64 generation, u64 layer) noexcept;
    [[nodiscard]] result<leaf*> new_leaf(operation& op, const node* root);
    void fill_leaf(leaf& n, const entry* entries, unsigned count) noexcept;
    [[nodiscard]] result<interior*> new_interior(operation& op);
    void drop_node(operation& op, node* n) { heap_.deallocate(op, offset_of(n), node_payload()); }

    // --- split.hpp: a full leaf ---
    [[nodiscard]] interior* lock_parent(node* root, node* child, u64 slice, descent& path) const;
    [[nodiscard]] result<void> split_in_place(operation& op, leaf& n, node* root, descent& path,
                                              const entry& e);
    void lock_path_up(split_plan& plan, node* root, u64 slice, descent& path) const;
    [[nodiscard]] result<void> get_nodes(operation& op, split_plan& plan, const node* root);
    void divide_leaf(operation& op, split_plan& plan, leaf& n, const entry& e, u64& separator,
                     node*& right);
    void divide_root_leaf(operation& op, split_plan& plan, leaf& n, const entry& e);
    void insert_child(interior& p, u64 separator, node* child) noexcept;
    void divide_interior(split_plan& plan, interior& p, bool is_root, u64& separator, node*& child);
    void become_parent(operation& op, node& root, u64 separator, node* left, node* right);
    static void set_interior(interior& n, std::span<const u64> keys,
                             std::span<const u64> children) noexcept;

    // --- remove.hpp: empty nodes and layers, leaves that are joined ---
    struct removal;
    void remove_in_place(operation& op, key_cursor key, leaf* n, node* root, descent& path);
    [[nodiscard]] bool unlink_leaf(operation& op, leaf& n, node* root, descent& path);
    [[nodiscard]] bool gather_removal(operation& op, removal& r, node* root, descent& path) const;
    void assert_may_change(operation& op, const removal& r) const;
    [[nodiscard]] bool fits_heir(const removal& r) const;
    void check_before_join(const removal& r, u64 layer) const;
    void hand_over(removal& r);
    [[nodiscard]] result<bool> join_leaf(operation& op, leaf& n, node* root, descent& path);
    void apply_removal(operation& op, removal& r);
    [[nodiscard]] leaf* drop_layer(operation& op, key_cursor key, node*& root, descent& path);

    // --- scan.hpp ---
    enum class walk { done, stopped, restart };
    struct scan_state;
    struct last_visit;
    template <class F>
    walk scan_layer(operation& op, node* root, scan_state& s, std::optional<std::string_view> bound,
                    F& visit);
    template <class F>
    walk scan_layer_backward(operation& op, node* root, scan_state& s, bool bounded,
                             std::string_view bound, F& visit);
    struct snapshot {
        std::array<entry, leaf::width> entries;
        unsigned count = 0;
        u64 next = 0;
        u64 low_key = 0;
    };
    [[nodiscard]] node* layer_below(const entry& e, std::size_t prefix) const;
    void check_way(operation& op, node* root, u64 slice) const;
    void check_range(const leaf& n, const snapshot& s, bool by_link, u64 position) const;
    [[nodiscard]] bool take_snapshot(operation& op, leaf* n, u64 version, snapshot& s) const;
    void fetch_ahead(u64 next) const noexcept;
    [[gnu::always_inline]] void fetch_next(const node* n) const noexcept {
        masstree_detail::prefetch_node(n);
        fetch_sixth_line(n);
    }
    template <class F>
    static bool show_inlined(scan_state& s, const entry& e, last_visit& last, F& visit);

    memory& heap_;
    [[no_unique_address]] adapter adapter_;
    std::byte* base_;
    u64 root_;
    // see `patience.hpp`
    mutable std::atomic<bool> damage_is_known_{false};
    mutable std::atomic<u64> stuck_{0};
    u64 generation_;
    std::unique_ptr<masstree_detail::leaf_hints> hints_;  ///< nullptr: disabled
    const region* hinted_file_ = nullptr;                 ///< the number of hints grows with it
};

}  // namespace hf

#include "index/masstree/find.hpp"       // IWYU pragma: keep
#include "index/masstree/find_many.hpp"  // IWYU pragma: keep
#include "index/masstree/hinted.hpp"     // IWYU pragma: keep
#include "index/masstree/remove.hpp"     // IWYU pragma: keep
#include "index/masstree/scan.hpp"       // IWYU pragma: keep
#include "index/masstree/split.hpp"      // IWYU pragma: keep
#include "index/masstree/update.hpp"     // IWYU pragma: keep
