// Objects of a heap as text, by the type descriptions in the heap.
#include "view/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <tuple>

namespace hf::tool {

using nv::detail::member_info;
using nv::detail::member_kind;

namespace {

constexpr u64 most_bytes = 16;  ///< shown of a field of unknown type

template <class T>
json read_as(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// Names of types on which both compilers agree.
json number(const void* from, const std::string& type, u32 bytes) {
    using reader = json (*)(const void*);
    static const std::tuple<const char*, u32, reader> known[] = {
        {"bool", 1, [](const void* p) -> json { return *static_cast<const u8*>(p) != 0; }},
        {"signed char", 1, read_as<std::int8_t>},
        {"unsigned char", 1, read_as<u8>},
        {"short", 2, read_as<std::int16_t>},
        {"unsigned short", 2, read_as<u16>},
        {"short int", 2, read_as<std::int16_t>},
        {"short unsigned int", 2, read_as<u16>},
        {"int", 4, read_as<std::int32_t>},
        {"unsigned int", 4, read_as<u32>},
        {"long", 8, read_as<std::int64_t>},
        {"unsigned long", 8, read_as<u64>},
        {"long int", 8, read_as<std::int64_t>},
        {"long unsigned int", 8, read_as<u64>},
        {"long long", 8, read_as<std::int64_t>},
        {"unsigned long long", 8, read_as<u64>},
        {"float", 4, read_as<float>},
        {"double", 8, read_as<double>}};
    for (const auto& [name, size, read] : known) {
        if (type == name && bytes == size) return read(from);
    }
    return nullptr;
}

std::string ending(const std::string& name, const std::string& end) {
    return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}

}  // namespace

u64 object_text::word(u64 at) const {
    return region_.at<std::atomic<u64>>(at)->load(std::memory_order_acquire);
}

std::string object_text::type_of(const object& o) const {
    const nv::heap_type* const type = facts_.type_of(o);
    return type == nullptr ? "proxy of weak pointers" : printable(type->name);
}

u64 object_text::length_of(const object& o) const {
    return o.state.has(nv::state_word::array) ? word(o.offset) : 1;
}

/// Visits all fields of an object, of an array those of its first elements. False: there are more
/// than `most`.
template <class Visit>
bool object_text::each_field(const object& o, u64 most, Visit&& visit) const {
    const nv::heap_type* const type = facts_.type_of(o);
    if (type == nullptr) return true;
    const bool is_array = o.state.has(nv::state_word::array);
    const u64 start = o.offset + (is_array ? nv::detail::array_head : 0);
    u64 left = most;
    for (u64 i = 0; i < length_of(o); ++i) {
        const std::string element = is_array ? fmt::format("[{}]", i) : "";
        for (const member_info& m : type->members) {
            for (u32 k = 0; k < m.count; ++k) {
                if (left-- == 0) return false;
                std::string name = printable(m.name);
                if (m.count > 1) name += fmt::format("[{}]", k);
                if (is_array) name.insert(0, name.empty() ? element : element + ".");
                visit(field{name, m, start + i * type->bytes + m.offset + u64{k} * m.stride});
            }
        }
    }
    return true;
}

json object_text::plain(u64 at, u32 bytes, const std::string& type) const {
    const auto* const from = region_.at<const unsigned char>(at);
    if (type == "char" && bytes == 1) return "'" + printable({region_.at<char>(at), 1}) + "'";
    if (json n = number(from, type, bytes); !n.is_null()) return n;
    std::string hex = "0x";
    for (u64 i = 0; i < std::min<u64>(bytes, most_bytes); ++i)
        hex += fmt::format("{:02x}", from[i]);
    return hex + (bytes > most_bytes ? "..." : "");
}

std::string object_text::pointer_text(const field& f) const {
    const u64 to = word(f.at);
    if (to == 0) return "null";
    const object* target = facts_.find(to);
    if (f.member.kind == member_kind::weak && target != nullptr) {
        const u64 behind = word(target->offset);
        if (behind == 0) return "null (it has died)";
        target = facts_.find(behind);
    }
    if (target == nullptr) return fmt::format("0x{:x}, where no object lives", to);
    return fmt::format("{}0x{:x} {}", f.member.kind == member_kind::weak ? "weak " : "",
                       target->offset, type_of(*target));
}

std::string object_text::characters(const object& o, u64 length, u64 most) const {
    const nv::heap_type* const type = facts_.type_of(o);
    const bool is_text = type != nullptr && type->is_array && type->bytes == 1 &&
                         type->members.size() == 1 && type->members[0].type == "char";
    if (!is_text) return {};
    const u64 used = std::min(length, length_of(o));
    const u64 told = std::min(used, most);
    std::string text(told == 0 ? "" : region_.at<char>(o.offset + nv::detail::array_head), told);
    return "\"" + printable(text) + "\"" + (told < used ? "..." : "");
}

/// The string that a string's two members represent; "": it is not a string.
std::string object_text::said_by(const object& o, const field& f) const {
    const std::string name = ending(f.member.name, "bytes_");
    if (f.member.kind != member_kind::ptr || (name.empty() && f.member.name != "bytes_")) return {};
    const nv::heap_type& type = *facts_.type_of(o);
    const object* const target = facts_.find(word(f.at));
    const auto size = std::find_if(type.members.begin(), type.members.end(), [&](const auto& m) {
        return m.name == name + "size_" && m.bytes == 8 && m.offset + 8 == f.member.offset;
    });
    if (target == nullptr || size == type.members.end()) return {};
    return characters(*target, word(f.at - 8), 200);
}

json object_text::value(const field& f) const {
    return f.member.kind == member_kind::plain ? plain(f.at, f.member.bytes, f.member.type)
                                               : json(pointer_text(f));
}

void object_text::add_to(sheet& s, const object& o, u64 most) const {
    s.title(fmt::format("0x{:x} {}", o.offset, type_of(o)));
    s.line("pointers that lead here", fmt::format("{}", o.state.count));
    if (o.state.type == nv::proxy_type) {
        s.line("stands for", fmt::format("0x{:x}", word(o.offset)));
        return;
    }
    if (o.state.has(nv::state_word::array)) s.line("length", fmt::format("{}", length_of(o)));
    if (const std::string text = characters(o, length_of(o), 1000); !text.empty()) {
        s.line("text", text);
        return;
    }
    const bool is_all = each_field(o, most, [&](const field& f) {
        const json v = value(f);
        std::string line = v.is_string() ? v.get<std::string>() : v.dump();
        const std::string type = printable(f.member.type);
        const bool is_told = f.member.kind != member_kind::plain && line.ends_with(type);
        if (const std::string said = said_by(o, f); !said.empty()) line += " " + said;
        s.line(f.name,
               fmt::format("{}  ({} at {})", line, is_told ? "pointer" : type, f.at - o.offset));
    });
    if (!is_all) s.line("...", "no more is shown; --limit N shows more");
}

json object_text::to_json(const object& o, u64 most) const {
    json j{{"offset", o.offset}, {"type", type_of(o)}, {"bytes", o.bytes}};
    j["count"] = o.state.count;
    if (o.state.type == nv::proxy_type) {
        j["target"] = word(o.offset);
        return j;
    }
    if (o.state.has(nv::state_word::array)) j["length"] = length_of(o);
    if (const std::string text = characters(o, length_of(o), most); !text.empty()) {
        j["text"] = text;
        return j;
    }
    j["members"] = json::array();
    each_field(o, most, [&](const field& f) {
        json m{{"name", f.name}, {"offset", f.at - o.offset}, {"type", printable(f.member.type)}};
        m["value"] = f.member.kind == member_kind::plain ? value(f) : json(word(f.at));
        if (const std::string said = said_by(o, f); !said.empty()) m["text"] = said;
        j["members"].push_back(std::move(m));
    });
    return j;
}

std::vector<std::string> object_text::fields(const object& o, u64 most) const {
    std::vector<std::string> all;
    if (std::string text = characters(o, length_of(o), 40); !text.empty()) return {text};
    each_field(o, most, [&](const field& f) {
        if (f.member.kind != member_kind::plain) return;
        const json v = value(f);
        all.push_back(f.name + " " + (v.is_string() ? v.get<std::string>() : v.dump()));
    });
    return all;
}

}  // namespace hf::tool
