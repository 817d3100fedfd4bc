// masstree/audit.hpp: walks a whole tree that may be damaged, and claims its memory from
// heap_audit.
//
// Purpose. The checks of `holdfast check` and of tests. Nothing in the tree is trusted: an offset
// is followed only if it is that of a block of a fitting size that no other node has claimed, so
// the walk ends on any bytes. Violations are collected, never repaired. Not for trees in malloc's
// memory, whose blocks cannot be audited.
//
// Checks, with the invariants of masstree.hpp that they follow from:
//  (M1) a layer's root is a node, not deleted; layers occur only below slots of keys that continue;
//  (M2) the leaves of a layer are linked in the order of the interior nodes; low keys are the
//       separators above; entries ascend and are in their leaf's range;
//  (M3) interior nodes have ascending keys within their own range, and one more child than keys;
//  (M4) no reachable node is marked deleted, or locked in a future generation;
//  also: permutations are valid, value words have a known form, a record has the size of its block,
//  and its tail repeats the slices above it; the discipline's words have a known form and no future
//  epoch (audit_leaf and audit_interior of the adapter).
//
// Recovery. Leaves with changes of failed epochs are rolled back first, by the code that a reader
// would run; on a region opened with open_mode::inspect that changes a private copy only.
//
// Concurrency. No other thread may use the tree. One operation is open for the whole walk.
// Cost. Memory: that of heap_audit, and the path to one leaf for each layer above it.
#pragma once

#include <holdfast/map.hpp>

#include "checkpoint/heap/audit.hpp"
#include "index/masstree/masstree.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hf {

/// Called from time to time with the number of blocks found and the estimated total.
using audit_progress = std::function<void(u64 done, u64 total)>;

/// Called for each sound record, in no particular order. The value is a view into the region.
using record_visitor = std::function<void(std::string_view key, std::string_view value)>;

template <any_discipline D>
class masstree_audit {
    using adapter = typename masstree_detail::adapter_of<D>::type;

   public:
    using operation = typename D::operation;
    using leaf = typename masstree<D>::leaf;
    using interior = typename masstree<D>::interior;
    using record = masstree_detail::record;

    /// `format`: the format version in the tree's root.
    masstree_audit(region& r, operation& op, heap_audit& memory, audit_report& report, u32 format)
        : base_(r.base()),
          generation_(masstree_detail::version_word::generation_bits(r.super().generation)),
          op_(op),
          memory_(memory),
          report_(report),
          figures_(report.tree),
          may_lack_checksums_(format < masstree_root_format),
          is_inlined_(adapter_can_inline && format == inlined_root_format) {}

    /// Walks the tree whose root is at offset `root`, which was read from offset `from`.
    void walk(u64 root, u64 from, const audit_progress& progress = {},
              const record_visitor& visit = {});

   private:
    struct branch {
        u64 offset;
        u64 from;  ///< offset of the word that refers to it
        u64 low;
        u64 high;  ///< exclusive
        bool bounded;
        unsigned height;  ///< nodes above it in its layer
    };
    struct layer {
        std::string prefix;         ///< the key's bytes in the layers above
        std::vector<branch> to_do;  ///< stack; the leftmost branch is on top
        u64 root = 0;
        u64 previous = 0;  ///< the leaf to the left; 0: unknown
        u64 previous_next = 0;
        bool first = true;  ///< no leaf has been visited
        bool gap = false;   ///< since the last leaf, a branch could not be walked
        u64 records_before = 0;
    };
    struct slot {
        u64 slice;
        unsigned length_class;
        masstree_detail::cell value;
        u64 at;  ///< offset of the value word
        bool is_sound;
    };

    /// Passed to the adapter, which reports its findings about a node's words.
    struct word_check {
        masstree_audit& audit;
        u64 node;

        void epoch(const char* what, u64 epoch) { audit.check_epoch(node, what, epoch); }
        void epoch(const masstree_detail::word* where, const char* what, u64 epoch) {
            audit.check_epoch(audit.offset_of(where), what, epoch);
        }
        void bad(const masstree_detail::word* where, const char* text) {
            audit.bad(audit.offset_of(where), text);
        }
        [[nodiscard]] u64 running() const { return audit.op_.epoch(); }
        [[nodiscard]] bool has_failed(u64 epoch) const {
            return audit.op_.failed().contains(epoch);
        }
    };

    static constexpr unsigned most_height = 32;
    static constexpr bool adapter_can_inline = requires { adapter::can_inline; };
    [[nodiscard]] u64 node_payload() const noexcept {
        return is_inlined_ ? masstree_detail::inlined_node_payload : masstree_detail::node_payload;
    }

    template <class T>
    [[nodiscard]] T& at(u64 offset) const noexcept {
        return *object_at<T>(base_, offset);
    }
    [[nodiscard]] u64 offset_of(const void* p) const noexcept { return offset_from(base_, p); }
    static u64 load(const masstree_detail::word& w) noexcept { return masstree_detail::load(w); }

    void bad(u64 offset, std::string text) { report_.add(offset, std::move(text)); }
    void tick();
    void step();
    void end_layer();
    void lose(u64 from, const std::string& why);
    [[nodiscard]] bool enter_node(const branch& b);
    void read_interior(layer& in, const branch& b);
    void read_leaf(layer& in, const branch& b);
    void check_links(layer& in, const branch& b, const leaf& n);
    [[nodiscard]] slot slot_of(const leaf& n, u64 lengths, unsigned i) const;
    void read_inline(const slot& s, bool is_first_layer);
    [[nodiscard]] bool check_permutation(u64 offset, u64 word);
    void check_epoch(u64 offset, const char* what, u64 epoch);
    void read_slot(const std::string& prefix, const slot& s, std::vector<layer>& below);
    void read_record(const std::string& prefix, const slot& s, u64 offset);

    std::byte* base_;
    u64 generation_;  ///< of the last session that could write
    operation& op_;
    heap_audit& memory_;
    audit_report& report_;
    tree_figures& figures_;
    bool may_lack_checksums_;
    bool is_inlined_;
    std::vector<layer> layers_;  ///< from the first layer down to the current one
    const audit_progress* progress_ = nullptr;
    const record_visitor* visit_ = nullptr;
    u64 violations_before_ = 0;  ///< count before the current node was checked
    /// the current leaf has no violation or undone change, so its records are passed to the visitor
    bool is_live_ = false;
    u64 done_ = 0;
    u64 total_ = 0;
};

// -------------------------------------------------------------------------------------------- walk

template <any_discipline D>
void masstree_audit<D>::walk(u64 root, u64 from, const audit_progress& progress,
                             const record_visitor& visit) {
    progress_ = progress ? &progress : nullptr;
    visit_ = visit ? &visit : nullptr;
    for (const auto& c : report_.heap.classes) total_ += c.handed_out;
    layers_.push_back({{}, {{root, from, 0, 0, false, 0}}, root});
    while (!layers_.empty()) step();
    if (progress_ != nullptr) (*progress_)(done_, std::max(done_, total_));
}

template <any_discipline D>
void masstree_audit<D>::tick() {
    ++done_;
    if (progress_ != nullptr && done_ % 4096 == 0) (*progress_)(done_, std::max(done_, total_));
}

/// Checks one node.
template <any_discipline D>
void masstree_audit<D>::step() {
    layer& in = layers_.back();
    if (in.to_do.empty()) {
        end_layer();
        return;
    }
    const branch b = in.to_do.back();
    in.to_do.pop_back();
    violations_before_ = report_.violation_count();
    if (!enter_node(b)) {
        in.gap = true;
        return;
    }
    tick();
    using version_word = masstree_detail::version_word;
    const u64 version = at<masstree_detail::node>(b.offset).version.load();
    if ((version & version_word::deleted) != 0) {
        bad(b.offset, "a node that is marked deleted is still in the tree");
    }
    if (version_word::is_of_future(version, generation_)) {
        bad(b.offset, "a node is locked by a future session");
    }
    if ((version & version_word::leaf) != 0) {
        read_leaf(in, b);  // may add layers, which invalidates `in`
    } else {
        read_interior(in, b);
    }
}

template <any_discipline D>
void masstree_audit<D>::end_layer() {
    const layer& in = layers_.back();
    if (!in.gap && in.previous_next != 0) {
        bad(in.previous, "the last leaf of a layer has a right neighbour, at offset " +
                             std::to_string(in.previous_next));
    }
    layers_.pop_back();
}

/// Reports that the object to which `from` refers cannot be walked.
template <any_discipline D>
void masstree_audit<D>::lose(u64 from, const std::string& why) {
    bad(from, why);
    report_.mark_incomplete();
}

template <any_discipline D>
bool masstree_audit<D>::enter_node(const branch& b) {
    const auto p = memory_.locate_payload(b.offset);
    if (!p || !memory_.fits(*p, node_payload())) {
        lose(b.from, memory_.is_unknown(b.offset)
                         ? "the node at offset " + std::to_string(b.offset) +
                               " lies where the heap could not be walked"
                         : "offset " + std::to_string(b.offset) + " is not that of a node");
        return false;
    }
    if (!memory_.claim(*p, "the node", b.from)) {
        report_.mark_incomplete();
        return false;
    }
    if (b.height >= most_height) {
        lose(b.offset, "a layer is over " + std::to_string(most_height) + " nodes tall");
        return false;
    }
    figures_.tallest_layer = std::max<u64>(figures_.tallest_layer, b.height + 1);
    if (b.height == 0) {
        ++figures_.layers;
        figures_.deepest_layer =
            std::max<u64>(figures_.deepest_layer, layers_.back().prefix.size() / 8 + 1);
    }
    return true;
}

template <any_discipline D>
void masstree_audit<D>::check_epoch(u64 offset, const char* what, u64 epoch) {
    if (epoch <= op_.epoch()) return;
    bad(offset, std::string(what) + " is stamped with epoch " + std::to_string(epoch) +
                    ", but it is only " + std::to_string(op_.epoch()));
}

// -------------------------------------------------------------------------------------- interiors

template <any_discipline D>
void masstree_audit<D>::read_interior(layer& in, const branch& b) {
    const auto& n = at<interior>(b.offset);
    ++figures_.interiors;
    word_check words{*this, b.offset};
    adapter::audit_interior(n, words);
    if (n.is_of_another_place(b.offset)) {
        bad(b.offset, "an interior node lies where another belongs");
    }
    const u64 count = load(n.count);
    if (count > interior::width) {
        in.gap = true;
        lose(b.offset, "an interior node has " + std::to_string(count) + " keys");
        return;
    }
    u64 low = b.low;
    std::vector<branch> children;
    for (unsigned i = 0; i <= count; ++i) {
        const bool last = i == count;
        const u64 high = last ? b.high : load(n.keys[i]);
        const bool bounded = !last || b.bounded;
        if (bounded && high <= low) {
            bad(last ? b.offset : offset_of(&n.keys[i]),
                "keys of an interior node do not ascend inside of its range");
        }
        children.push_back(
            {load(n.children[i]), offset_of(&n.children[i]), low, high, bounded, b.height + 1});
        low = high;
    }
    in.to_do.insert(in.to_do.end(), children.rbegin(), children.rend());
}

// ------------------------------------------------------------------------------------------ leaves

template <any_discipline D>
bool masstree_audit<D>::check_permutation(u64 offset, u64 word) {
    const masstree_detail::permutation<leaf::width> p(word);
    if (p.is_valid()) return true;
    bad(offset, "a leaf's permutation is none");
    return false;
}

template <any_discipline D>
void masstree_audit<D>::check_links(layer& in, const branch& b, const leaf& n) {
    if (!in.first && !in.gap && in.previous_next != b.offset) {
        bad(in.previous, "a leaf's right neighbour is at offset " + std::to_string(b.offset) +
                             ", but its link says " + std::to_string(in.previous_next));
    }
    if (load(n.low_key) != b.low) {
        bad(b.offset, "a leaf's low key is not that of the nodes above");
    }
    if (n.is_of_another_layer(in.root)) bad(b.offset, "a leaf lies where another belongs");
    in.first = false;
    in.gap = false;
    in.previous = b.offset;
    in.previous_next = load(n.next);
}

template <any_discipline D>
auto masstree_audit<D>::slot_of(const leaf& n, u64 lengths, unsigned i) const -> slot {
    const u64 slice = load(n.keys[i]);
    const unsigned length = masstree_detail::length_class(lengths, i);
    if constexpr (adapter_can_inline) {
        if (is_inlined_) {
            return {slice, length, adapter::inlined_at(n, i),
                    offset_of(&adapter::inlined_word(n, i)), adapter::is_sound_inlined(n, i)};
        }
    }
    const u64 word = load(n.values[i]);
    const bool unsealed = masstree_detail::value_word::plain(word) == word;
    return {slice,
            length,
            {word, static_cast<unsigned>(word & masstree_detail::value_word::kind_field)},
            offset_of(&n.values[i]),
            n.is_value(word) || (unsealed && may_lack_checksums_)};
}

template <any_discipline D>
void masstree_audit<D>::read_leaf(layer& in, const branch& b) {
    auto& n = at<leaf>(b.offset);
    ++figures_.leaves;
    word_check words{*this, b.offset};
    if constexpr (adapter_can_inline) {
        if (!may_lack_checksums_) {
            adapter::audit_seals(n, words, is_inlined_ ? &op_.failed() : nullptr);
        }
        if (adapter::recover_for_audit(op_, n, is_inlined_)) ++figures_.recovered_leaves;
        adapter::audit_leaf(n, words, is_inlined_);
    } else {
        if (!may_lack_checksums_) adapter::audit_seals(n, words);
        if (adapter::recover_for_audit(op_, n)) ++figures_.recovered_leaves;
        adapter::audit_leaf(n, words);
    }
    is_live_ = report_.violation_count() == violations_before_;
    check_links(in, b, n);
    const u64 word = load(n.order);
    if (!check_permutation(offset_of(&n.order), word)) {
        report_.mark_incomplete();
        return;
    }
    const masstree_detail::permutation<leaf::width> p(word);
    if (p.size() == 0) {
        if (b.height != 0) ++figures_.empty_leaves;
        if (b.height == 0 && layers_.size() > 1) ++figures_.empty_layers;
    }
    const u64 lengths = load(n.lengths);
    const std::string prefix = in.prefix;
    std::vector<layer> below;
    slot before{};
    for (unsigned r = 0; r < p.size(); ++r) {
        const unsigned i = p.slot(r);
        const slot s = slot_of(n, lengths, i);
        if (s.slice < b.low || (b.bounded && s.slice >= b.high)) {
            bad(offset_of(&n.keys[i]), "a key lies outside of its leaf's range");
        }
        if (r > 0 &&
            std::pair(s.slice, s.length_class) <= std::pair(before.slice, before.length_class)) {
            bad(offset_of(&n.keys[i]), "the keys of a leaf do not ascend");
        }
        before = s;
        read_slot(prefix, s, below);
    }
    for (layer& one : below) layers_.push_back(std::move(one));
}

// ------------------------------------------------------------------------------------------- slots

template <any_discipline D>
void masstree_audit<D>::read_slot(const std::string& prefix, const slot& s,
                                  std::vector<layer>& below) {
    namespace value_word = masstree_detail::value_word;
    using masstree_detail::longer;
    using masstree_detail::slice_size;
    if (s.length_class > longer) {
        lose(s.at, "a key's length class is " + std::to_string(s.length_class));
        return;
    }
    if (s.length_class < slice_size && s.slice << (8 * s.length_class) != 0) {
        bad(s.at, "a short key's slice is not padded with zeros");
    }
    if (s.is_sound && is_inlined_ && masstree_detail::cell_kind::is_inline(s.value.kind)) {
        read_inline(s, prefix.empty());
        return;
    }
    const u64 offset = value_word::offset(s.value.word);
    const u64 kind = s.value.kind;
    if (!s.is_sound || (kind != value_word::record_kind && kind != value_word::layer_kind)) {
        lose(s.at, "a value word has an unknown form");
        return;
    }
    if (kind == value_word::record_kind) {
        read_record(prefix, s, offset);
        return;
    }
    if (s.length_class != longer) bad(s.at, "a layer lies below a key that does not go on");
    if (prefix.size() + slice_size >= max_key_size) {
        lose(s.at, "layers are nested deeper than keys are long");
        return;
    }
    layer next;
    next.prefix = prefix;
    masstree_detail::append_slice(next.prefix, s.slice, slice_size);
    next.to_do.push_back({offset, s.at, 0, 0, false, 0});
    next.root = offset;
    below.push_back(std::move(next));
}

/// Checks a value stored in its leaf.
template <any_discipline D>
void masstree_audit<D>::read_inline(const slot& s, bool is_first_layer) {
    if (!is_first_layer || s.length_class > masstree_detail::slice_size) {
        bad(s.at, "a value in a leaf is of too long a key");
        return;
    }
    ++figures_.records;
    std::string key;
    masstree_detail::append_slice(key, s.slice, s.length_class);
    figures_.key_bytes += key.size();
    figures_.value_bytes += s.value.kind;
    if (visit_ == nullptr || !is_live_) return;
    // The view refers to the region, like a record's, because visitors may keep it.
    const auto* const there = reinterpret_cast<const char*>(&at<masstree_detail::word>(s.at));
    (*visit_)(key, {there, s.value.kind});
}

template <any_discipline D>
void masstree_audit<D>::read_record(const std::string& prefix, const slot& s, u64 offset) {
    using masstree_detail::longer;
    using masstree_detail::slice_size;
    const auto p = memory_.locate_payload(offset);
    if (!p) {
        lose(s.at, memory_.is_unknown(offset)
                       ? "the record at offset " + std::to_string(offset) +
                             " lies where the heap could not be walked"
                       : "offset " + std::to_string(offset) + " is not that of a record");
        return;
    }
    tick();
    if (!memory_.claim(*p, "the record", s.at)) return;
    const auto& r = at<record>(offset);
    if (!memory_.fits(*p, r.payload()) || r.head.value_size() > max_value_size) {
        bad(offset, "a record of " + std::to_string(r.head.value_size()) + " + " +
                        std::to_string(r.head.tail_size()) +
                        " bytes does not have the size of its block");
        return;
    }
    ++figures_.records;
    if (p->extent) ++figures_.large_records;
    // Compare the key according to the path with the record's tail (the key from its ninth byte
    // on).
    std::string key = prefix;
    masstree_detail::append_slice(key, s.slice, std::min<unsigned>(s.length_class, slice_size));
    const std::string_view tail = r.tail();
    const std::string_view rest =
        key.size() > slice_size ? std::string_view(key).substr(slice_size) : std::string_view{};
    const bool agrees = s.length_class == longer
                            ? tail.size() > rest.size() && tail.substr(0, rest.size()) == rest
                            : tail == rest;
    if (!agrees || tail.size() + slice_size > max_key_size) {
        bad(offset, "a record's key is not the one under which it lies");
    } else {
        if (s.length_class == longer) key = key.substr(0, slice_size).append(tail);
        const bool has_none = r.head.checksum() == 0 && may_lack_checksums_;
        if (!has_none && !r.is_sound(key, offset)) {
            bad(offset, "a record's checksum is not that of its key and value");
        } else if (visit_ != nullptr && is_live_) {
            (*visit_)(key, r.value());
        }
    }
    figures_.key_bytes += std::max(key.size(), tail.empty() ? 0 : tail.size() + slice_size);
    figures_.value_bytes += r.head.value_size();
}

// --------------------------------------------------------------------------------------- the whole

/// Checks a region's heap and tree. `root`: offset of the tree's root, which was read from offset
/// `from` and has the format version `format`; 0: there is no tree.
template <any_discipline D>
audit_report audit(region& r, checkpoint_state& checkpoint, u64 root, u64 from,
                   const audit_progress& progress = {}, u32 format = masstree_root_format,
                   const record_visitor& visit = {}) {
    audit_report report;
    operation op(checkpoint);
    rolled_back_audit memory(r, op.failed(), op.epoch(), report);
    memory.read_runs();
    memory.read_free();
    if (root != 0)
        masstree_audit<D>(r, op, memory, report, format).walk(root, from, progress, visit);
    memory.finish();
    if (report.heap.objects && *report.heap.objects != report.tree.records) {
        report.add(from, "the heap counts " + std::to_string(*report.heap.objects) +
                             " records, found were " + std::to_string(report.tree.records));
    }
    return report;
}

namespace detail {
template <any_discipline D, class Engine>
audit_report audit_engine(Engine& e, masstree<D>& tree) {
    return audit<D>(e.file(), e.checkpoint(), tree.root(), 0, {},
                    tree.may_lack_checksums() ? 1
                    : tree.is_inlined()       ? inlined_root_format
                                              : masstree_root_format);
}
}  // namespace detail

/// Checks any engine with file(), checkpoint() and tree(); no other thread may use it.
template <class Engine>
audit_report audit(Engine& e) {
    return detail::audit_engine(e, e.tree());
}

}  // namespace hf
