// `holdfast inspect`: roots, types and objects of a heap, without its program.
#include "quantity.hpp"
#include "verb.hpp"
#include "view/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace hf::tool {
namespace {

struct inspect_arguments {
    std::string file;
    std::string object;
    bool as_dot = false;
    bool as_json = false;
    u64 limit = 200;
};

using object = nv::heap_facts::object;

struct of_type {
    u64 objects = 0;
    u64 bytes = 0;
};
using census = std::map<u64, of_type>;

census count(const nv::heap_facts& facts) {
    census all;
    for (const auto& [number, type] : facts.types) all[number];
    for (const object& o : facts.objects) {
        if (o.state.type == nv::proxy_type) continue;
        ++all[o.state.type].objects;
        all[o.state.type].bytes += o.bytes;
    }
    return all;
}

std::string name_of_type(const nv::heap_facts& facts, u64 number) {
    const auto found = facts.types.find(number);
    return found == facts.types.end() ? "a type that is not described"
                                      : printable(found->second->name);
}

const char* kind_of(nv::detail::member_kind kind) {
    switch (kind) {
        case nv::detail::member_kind::ptr:
            return "pointer";
        case nv::detail::member_kind::weak:
            return "weak pointer";
        default:
            return "plain";
    }
}

void add_type(sheet& s, const nv::heap_type& type, const of_type& n) {
    s.title(fmt::format("{}: {} of {} bytes{}, {} in all", printable(type.name),
                        human_count(n.objects), type.bytes, type.is_array ? " an element" : "",
                        human_size(n.bytes)));
    for (const nv::detail::member_info& m : type.members) {
        const std::string name = m.name.empty() ? "(element)" : printable(m.name);
        const std::string many = m.count > 1 ? fmt::format("[{}]", m.count) : "";
        const std::string to = m.kind == nv::detail::member_kind::plain
                                   ? printable(m.type)
                                   : fmt::format("{} to {}", kind_of(m.kind), printable(m.type));
        s.line(name + many, fmt::format("at {}, {} bytes, {}", m.offset, m.bytes, to));
    }
}

json type_json(const nv::heap_type& type, const of_type& n) {
    json j{{"name", printable(type.name)}, {"number", type.number}, {"bytes", type.bytes}};
    j["is_array"] = type.is_array;
    j["has_nv_destroy"] = type.destroys;
    j["objects"] = n.objects;
    j["object_bytes"] = n.bytes;
    j["members"] = json::array();
    for (const nv::detail::member_info& m : type.members) {
        j["members"].push_back({{"name", printable(m.name)},
                                {"offset", m.offset},
                                {"bytes", m.bytes},
                                {"count", m.count},
                                {"stride", m.stride},
                                {"kind", kind_of(m.kind)},
                                {"type", printable(m.type)}});
    }
    return j;
}

int say_heap(const inspect_arguments& a, const nv::heap_facts& facts) {
    const census all = count(facts);
    if (a.as_json) {
        json j{{"file", a.file}, {"objects", objects_json(facts)}};
        j["roots"] = json::array();
        for (const nv::heap_root& r : facts.roots) {
            j["roots"].push_back({{"name", printable(r.name)},
                                  {"type", name_of_type(facts, r.type)},
                                  {"pointer", r.block + offsetof(nv::root_block, target)},
                                  {"object", r.target == 0 ? json(nullptr) : json(r.target)}});
        }
        j["types"] = json::array();
        for (const auto& [number, n] : all) {
            j["types"].push_back(type_json(*facts.types.at(number), n));
        }
        j["violation_count"] = facts.violations;
        say_json(j);
        return 0;
    }
    sheet s;
    add_objects(s, facts);
    s.title("roots");
    for (const nv::heap_root& r : facts.roots) {
        const std::string to = r.target == 0 ? "null" : fmt::format("0x{:x}", r.target);
        s.line(printable(r.name), to + " " + name_of_type(facts, r.type));
    }
    for (const auto& [number, n] : all) add_type(s, *facts.types.at(number), n);
    if (facts.violations != 0) {
        s.title("damage");
        s.line("found on the way",
               human_count(facts.violations) + "; `holdfast check` tells which");
    }
    say(s.text());
    return 0;
}

/// Finds an object by a root's name, or an offset, decimal or 0x.
result<const object*> find(const inspect_arguments& a, const nv::heap_facts& facts) {
    const auto no = [&](const std::string& why) {
        return failure({errc::usage, "find the object", a.file, why,
                        "`holdfast inspect` without --object lists roots and types"});
    };
    std::optional<u64> offset;
    for (const nv::heap_root& r : facts.roots) {
        if (r.name == a.object) offset = r.target;
    }
    if (offset == u64{0}) return no("the root " + a.object + " is null");
    if (!offset) {
        const bool is_hex = a.object.starts_with("0x");
        const char* const begin = a.object.data() + (is_hex ? 2 : 0);
        const char* const end = a.object.data() + a.object.size();
        u64 number = 0;
        const auto [stop, wrong] = std::from_chars(begin, end, number, is_hex ? 16 : 10);
        if (wrong != std::errc() || stop != end) return no("there is no root " + a.object);
        offset = number;
    }
    const object* const found = facts.find(*offset);
    if (found == nullptr) return no(fmt::format("no object lives at offset 0x{:x}", *offset));
    return found;
}

int run(const inspect_arguments& a) {
    const auto refuse = [&](const error& e) {
        if (a.as_json) say_json({{"file", a.file}, {"error", to_json(e)}});
        return complain(e);
    };
    const auto look = nv::heap_look::open(a.file);
    if (!look) return refuse(look.error());
    const auto facts = look->read();
    if (!facts) return refuse(facts.error());
    const object* chosen = nullptr;
    if (!a.object.empty()) {
        const auto found = find(a, *facts);
        if (!found) return refuse(found.error());
        chosen = *found;
    }
    if (a.as_dot) {
        const auto graph = graph_of(look->file(), *facts, chosen, a.limit);
        if (!graph) return refuse(graph.error());
        say(*graph);
        return 0;
    }
    if (chosen == nullptr) return say_heap(a, *facts);
    const object_text text(look->file(), *facts);
    if (a.as_json) {
        say_json(text.to_json(*chosen, a.limit));
    } else {
        sheet s;
        text.add_to(s, *chosen, a.limit);
        say(s.text());
    }
    return 0;
}

constexpr const char* inspect_remarks =
    "Never changes the file: after a crash it is recovered in memory. The heap describes its\n"
    "types and their members; the program is not needed.\n\n"
    "Example:\n"
    "  holdfast inspect list.hf                       roots, types, how many objects of each\n"
    "  holdfast inspect list.hf --object head         the target of the root `head`\n"
    "  holdfast inspect list.hf --object 0x10440      an object by its offset in the file\n"
    "  holdfast inspect list.hf --dot | dot -Tsvg >list.svg";

}  // namespace

void add_inspect(CLI::App& app, action& chosen) {
    auto a = std::make_shared<inspect_arguments>();
    verb_line(app, "inspect", "Print roots, types and objects of a heap, or draw it")
        .name("FILE", a->file, "The heap")
        .option("--object", a->object, "An object: the name of a root, or an offset in the file")
        .flag("--dot", a->as_dot,
              "Draw all objects, or those reachable from --object, for Graphviz")
        .number("--limit", a->limit, 1, 100'000,
                "Maximum number of objects drawn, or elements printed")
        .json(a->as_json)
        .not_both("--dot", "--json")
        .remarks(inspect_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
