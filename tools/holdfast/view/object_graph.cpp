// The objects of a small heap as a graph in the language of Graphviz.
#include "view/objects.hpp"

#include <fmt/format.h>

#include <unordered_set>

namespace hf::tool {
namespace {

constexpr u64 most_fields = 8;  ///< of a node

/// A string literal of Graphviz.
std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') all += '\\';
        all += c;
    }
    return all + "\"";
}

class drawing {
   public:
    using object = nv::heap_facts::object;

    drawing(const region& r, const nv::heap_facts& facts) : region_(r), facts_(facts) {}

    /// False: there are more than the limit.
    [[nodiscard]] bool take_all(u64 limit) {
        for (const object& o : facts_.objects) {
            if (o.state.type != nv::proxy_type) take(o);
            if (open_.size() > limit) return false;
        }
        return true;
    }
    [[nodiscard]] bool take_from(const object& first, u64 limit) {
        take(first);
        for (std::size_t i = 0; i < open_.size(); ++i) {
            if (open_.size() > limit) return false;
            facts_.each_pointer(region_, *open_[i],
                                [&](u64, u64 to, const nv::detail::member_info&) {
                                    if (const object* const o = behind(to)) take(*o);
                                });
        }
        return open_.size() <= limit;
    }
    [[nodiscard]] std::string text() const {
        std::string all = "digraph heap {\n  node [shape=box, fontname=\"monospace\"];\n";
        for (const nv::heap_root& r : facts_.roots) {
            if (!met_.contains(r.target)) continue;
            all += fmt::format("  r{} [shape=ellipse, label={}];\n  r{} -> o{};\n", r.block,
                               quoted(printable(r.name)), r.block, r.target);
        }
        for (const object* const o : open_) all += node(*o);
        return all + "}\n";
    }

   private:
    void take(const object& o) {
        if (met_.insert(o.offset).second) open_.push_back(&o);
    }
    /// Proxies are not drawn.
    [[nodiscard]] const object* behind(u64 offset) const {
        const object* const o = facts_.find(offset);
        if (o == nullptr || o->state.type != nv::proxy_type) return o;
        const u64 to = region_.at<std::atomic<u64>>(offset)->load(std::memory_order_acquire);
        const object* const target = facts_.find(to);
        return target != nullptr && target->state.type == nv::proxy_type ? nullptr : target;
    }
    [[nodiscard]] std::string node(const object& o) const {
        const object_text text(region_, facts_);
        std::string label = quoted(fmt::format("0x{:x} {}", o.offset, text.type_of(o)));
        label.pop_back();
        for (const std::string& f : text.fields(o, most_fields)) {
            const std::string line = quoted(printable(f));
            label += "\\n" + line.substr(1, line.size() - 2);
        }
        std::string all = fmt::format("  o{} [label={}\"];\n", o.offset, label);
        facts_.each_pointer(region_, o, [&](u64, u64 to, const nv::detail::member_info& m) {
            const object* const target = behind(to);
            if (target == nullptr || !met_.contains(target->offset)) return;
            all += fmt::format("  o{} -> o{} [label={}{}];\n", o.offset, target->offset,
                               quoted(printable(m.name)),
                               m.kind == nv::detail::member_kind::weak ? ", style=dashed" : "");
        });
        return all;
    }

    const region& region_;
    const nv::heap_facts& facts_;
    std::vector<const object*> open_;
    std::unordered_set<u64> met_;
};

}  // namespace

result<std::string> graph_of(const region& r, const nv::heap_facts& facts,
                             const nv::heap_facts::object* from, u64 limit) {
    drawing d(r, facts);
    if (from == nullptr ? d.take_all(limit) : d.take_from(*from, limit)) return d.text();
    return failure({errc::usage, "draw the heap", r.path().string(),
                    fmt::format("it has more than {} objects", limit),
                    "draw a part of it with --object, or all of it with a larger --limit"});
}

}  // namespace hf::tool
