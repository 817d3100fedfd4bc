// tools/holdfast/view/objects.hpp: heaps of objects (include/holdfast/heap.hpp) on the command
// line, by the type descriptions in the heap.
#pragma once

#include "heap/look.hpp"
#include "image/copy.hpp"
#include "view/output.hpp"

#include <string>
#include <vector>

namespace hf::tool {

/// `holdfast check` of a heap of objects.
[[nodiscard]] int check_objects(const std::string& path, bool as_json);

/// `holdfast copy` of a heap of objects: like copy_store() for maps.
[[nodiscard]] result<detail::image_facts> copy_objects(const std::filesystem::path& from,
                                                       const std::filesystem::path& to,
                                                       bool replace,
                                                       const detail::copy_progress& progress);

/// Adds the numbers of objects and bytes.
void add_objects(sheet& s, const nv::heap_facts& facts);
[[nodiscard]] json objects_json(const nv::heap_facts& facts);
/// "offset 4096: the count is ...", in two parts.
[[nodiscard]] json violation_json(const std::string& told);

/// Objects as text and JSON, by the descriptions of their types.
class object_text {
   public:
    object_text(const region& r, const nv::heap_facts& all) : region_(r), facts_(all) {}

    using object = nv::heap_facts::object;

    /// "node", or "weak pointers' proxy".
    [[nodiscard]] std::string type_of(const object& o) const;
    /// "value 42", ..., a line each, pointers with their targets; no more than `most` elements.
    void add_to(sheet& s, const object& o, u64 most) const;
    [[nodiscard]] json to_json(const object& o, u64 most) const;
    /// The fields that are not pointers, shortened for a picture.
    [[nodiscard]] std::vector<std::string> fields(const object& o, u64 most) const;
    /// The contents of an nv::string or an array of characters; "": it is neither.
    [[nodiscard]] std::string characters(const object& o, u64 length, u64 most) const;

   private:
    struct field {
        std::string name;
        const nv::detail::member_info& member;
        u64 at;
    };
    template <class Visit>
    bool each_field(const object& o, u64 most, Visit&& visit) const;
    [[nodiscard]] u64 length_of(const object& o) const;
    [[nodiscard]] json value(const field& f) const;
    [[nodiscard]] json plain(u64 at, u32 bytes, const std::string& type) const;
    [[nodiscard]] std::string pointer_text(const field& f) const;
    [[nodiscard]] std::string said_by(const object& o, const field& f) const;
    [[nodiscard]] u64 word(u64 at) const;

    const region& region_;
    const nv::heap_facts& facts_;
};

/// A graph of objects, each with its fields, and their pointers, for Graphviz. Weak pointers are
/// dashed. `from`: only objects reachable from it; nullptr: all.
[[nodiscard]] result<std::string> graph_of(const region& r, const nv::heap_facts& facts,
                                           const nv::heap_facts::object* from, u64 limit);

}  // namespace hf::tool
