#include "damage/places.hpp"

#include "checkpoint/heap/layout.hpp"
#include "checkpoint/inspect.hpp"
#include "damage/victim.hpp"
#include "eager_map/inspection.hpp"
#include "index/masstree/formats.hpp"
#include "index/masstree/incll/leaf_log.hpp"
#include "index/masstree/inlined/leaf.hpp"
#include "map/inspect.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace hf::damage_test {

namespace {

namespace tree = masstree_detail;

class finder {
   public:
    finder(const inspection& looked, u64 used)
        : file_(looked.file()), used_(used), inlined_(looked.root_format() == inlined_root_format) {
        read_header();
        for (const segment& s : file_.segments()) {
            s.kind == segment_kind::heap ? read_heap(s) : read_log(s);
        }
        read_node(looked.root(), true);
        add(part::anything, 0, used_);
    }
    [[nodiscard]] places take() { return std::move(found_); }

   private:
    void add(part p, u64 offset, u64 size) {
        if (offset + size <= used_) found_[static_cast<unsigned>(p)].push_back({offset, size});
    }
    template <class T>
    void add(part p, const T& t) {
        add(p, file_.offset_of(&t), sizeof t);
    }

    void read_header() {
        // bytes of a superblock with meaning, including those of other rooms
        constexpr u64 telling = 600;
        const layout::header& h = file_.header();
        for (const layout::superblock& s : h.super) {
            add(part::superblock, file_.offset_of(&s), telling);
            add(part::superblock, s.checksum);
        }
        add(part::epoch_record, file_.offset_of(&h.epoch), 3 * sizeof(u64));
        add(part::root_entry, h.roots[0]);
        add(part::growth_intent, file_.offset_of(&h.intent), 2 * sizeof(u64));
        find_sealed_header(found_);
        const std::size_t segments = file_.segments().size();
        for (std::size_t i = 0; i <= segments; ++i) add(part::segment_entry, h.segments[i]);
    }

    void read_heap(const segment& s) {
        auto& h = *file_.at<heap_segment>(s.offset);
        add(part::heap_segment, file_.offset_of(&h), sizeof h - sizeof h.reserved);
        const u64 frontier = h.frontier.get(0);
        for (u64 page = h.first_usable; page < frontier; ++page) {
            add(part::descriptor, h.descriptors()[page]);
        }
        const u64 first = s.offset + h.first_usable * page_size;
        const auto& root = *file_.at<heap_root>(first);
        const auto layout = root.layout();
        if (!layout) return;
        add(part::heap_root, first, offsetof(heap_root, reserved));
        for (u64 i = 0; i < layout->count(); ++i) {
            const class_lists& g = root.lists(*layout)[i];
            if (g.lists.epoch.load() == 0) continue;
            add(part::list_head, g);
            if ((i + 1) % layout->lists_in_set() == 0) continue;  // extents have no lists
            read_chain(g.lists.get(class_lists::free));
            read_chain(g.lists.get(class_lists::pending));
        }
    }
    void read_chain(u64 block) {
        constexpr unsigned most = 100'000;
        for (unsigned n = 0; block != 0 && block < used_ && n < most; ++n) {
            add(part::free_block, block, sizeof(compact_cell));
            block = file_.at<compact_cell>(block)->load().now_value << 4;
        }
    }
    void read_log(const segment& s) {
        u64 end = std::min(s.offset + s.bytes(), used_);
        while (end > s.offset && *file_.at<char>(end - 1) == 0) --end;
        if (end > s.offset) add(part::log, s.offset, end - s.offset);
    }

    void read_node(u64 offset, bool root) {
        const u64 bytes = inlined_ ? tree::inlined_node_payload : tree::node_payload;
        if (offset == 0 || offset + bytes > used_) return;
        auto* n = file_.at<tree::node>(offset);
        if ((n->version.load() & tree::version_word::leaf) != 0) {
            add(root ? part::root_leaf : part::leaf, offset, bytes);
            read_leaf(*static_cast<tree::leaf_head*>(n));
            return;
        }
        const auto& in = *static_cast<tree::interior*>(n);
        add(part::interior, offset, sizeof in);
        for (unsigned i = 0; i <= in.key_count(); ++i) read_node(tree::load(in.children[i]), false);
    }
    /// nullopt: the value is inlined.
    [[nodiscard]] std::optional<u64> value_word_at(const tree::leaf_head& n, unsigned slot) const {
        if (!inlined_) return tree::load(static_cast<const tree::durable_leaf&>(n).values[slot]);
        const tree::cell c = static_cast<const tree::inlined_leaf&>(n).at(slot);
        if (tree::cell_kind::is_inline(c.kind)) return std::nullopt;
        return c.word;
    }
    void read_leaf(const tree::leaf_head& n) {
        const tree::leaf_permutation p(tree::load(n.order));
        for (unsigned r = 0; r < p.size(); ++r) {
            const auto value = value_word_at(n, p.slot(r));
            if (!value) continue;
            const u64 target = tree::value_word::offset(*value);
            if (tree::value_word::is_layer(*value)) {
                read_node(target, true);
                continue;
            }
            if (target + sizeof(tree::record) > used_) continue;
            add(part::record, target, file_.at<tree::record>(target)->payload());
            add(part::block_header, target - block_header_size, block_header_size);
        }
    }

    region& file_;
    u64 used_;
    bool inlined_;
    places found_;
};

}  // namespace

const char* name_of(part p) noexcept {
    static constexpr std::array<const char*, parts> names{
        "superblock",    "epoch record", "root entry",   "growth intent", "segment entry",
        "sealed header", "heap segment", "descriptor",   "heap root",     "list head",
        "free block",    "block header", "layer's root", "leaf",          "interior node",
        "record",        "log",          "anything",     "eager index",   "eager node",
        "eager record"};
    return names[static_cast<unsigned>(p)];
}

void find_sealed_header(places& found) {
    constexpr u64 telling = 600;  // bytes of a superblock with meaning, those of other rooms too
    auto& all = found[static_cast<unsigned>(part::sealed_header)];
    // One epoch record and one root, and a superblock whose areas are drawn most.
    all.push_back({offsetof(layout::header, super), telling});
    all.push_back({offsetof(layout::header, super) + offsetof(layout::superblock, epoch_area),
                   layout::epoch_area_bytes + 64});
    all.push_back({offsetof(layout::header, epoch), sizeof(u64)});
    all.push_back({offsetof(layout::header, roots), offsetof(layout::root, checksum)});
}

places find_eager_places(const std::string& image) {
    constexpr u64 line = 64;
    constexpr auto least_zeros = 4;
    places found;
    find_sealed_header(found);
    for (u64 at = 0; at + line <= image.size(); at += line) {
        const auto* bytes = image.data() + at;
        const auto zeros = std::count(bytes, bytes + line, '\0');
        if (zeros < least_zeros || zeros == line) continue;
        found[static_cast<unsigned>(part::eager_words)].push_back({at, line});
    }
    return found;
}

places find_eager_blocks(const std::filesystem::path& file, const std::string& image,
                         std::vector<u64>& locks) {
    constexpr u64 telling = 16;  // bytes of a record with meaning
    constexpr std::array at_begin = {"a node of an ART", "a node of a HOT", "the root of a HOT",
                                     "a node of a Masstree", "the root of a layer"};
    const auto begins_with_lock = [&](std::string_view what) {
        return std::find(at_begin.begin(), at_begin.end(), what) != at_begin.end();
    };
    places found = find_eager_places(image);
    const auto looked = eager_inspection::open(file);
    if (looked.refusal()) throw wrong("an inspection: " + looked.refusal()->to_string());
    const auto report = looked.audit([&](const heap_audit::place& p, const char* what, u64 from) {
        const bool is_record = std::strstr(what, "record") != nullptr;
        const part kind = is_record ? part::eager_record : part::eager_node;
        found[static_cast<unsigned>(kind)].push_back(
            {p.payload, is_record ? telling : p.room, from});
        if (begins_with_lock(what)) locks.push_back(p.payload);
        if (what == std::string_view("a cell")) locks.push_back(p.payload + sizeof(u64));
    });
    std::sort(locks.begin(), locks.end());
    require(report.ok(), "an audit of an undamaged eager region");
    return found;
}

places find_places(const std::filesystem::path& file, u64 used) {
    const inspection looked = inspect_map(file);
    require(looked.is_open() && !looked.refusal(), "an inspection of an undamaged region");
    return finder(looked, used).take();
}

}  // namespace hf::damage_test
