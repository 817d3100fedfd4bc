#include "heap/type_table.hpp"

#include <holdfast/nv/describe.hpp>

#include "base/checksum.hpp"

#include <cstring>

namespace hf::nv {

using detail::member_info;
using detail::type_info;

u64 hash_of(std::string_view text) noexcept { return checksum64(text.data(), text.size()); }

std::vector<std::byte> pack_type(const type_info& type) {
    std::string text = type.name + '\0';
    for (const member_info& m : type.members) text += m.name + '\0' + m.type + '\0';
    const u64 members = type.members.size();
    const u64 bytes = sizeof(type_block) + members * sizeof(type_member) + text.size();
    std::vector<std::byte> block(align_up(bytes, 16));
    type_block head{};
    head.header = {state_word{0, system_type, 0}.pack(), block.size()};
    head.bytes = type.bytes;
    head.flags = (type.is_array ? type_block::array : 0) |
                 (type.destroy != nullptr ? type_block::destroys : 0);
    head.members = static_cast<u32>(members);
    head.text_bytes = static_cast<u32>(text.size());
    std::memcpy(block.data(), &head, sizeof head);
    std::byte* at = block.data() + sizeof head;
    for (const member_info& m : type.members) {
        const type_member said{m.offset, m.bytes, m.count, m.stride, static_cast<u32>(m.kind), 0};
        std::memcpy(at, &said, sizeof said);
        at += sizeof said;
    }
    std::memcpy(at, text.data(), text.size());
    return block;
}

namespace {

/// True if the member is within the object, without overlap, and pointers are words.
bool is_possible(const type_member& m, u32 bytes_of_object) noexcept {
    if (m.count == 0 || m.kind < 1 || m.kind > 3) return false;
    if (m.count > 1 && (m.stride == 0 || m.stride < m.bytes)) return false;
    const u64 last = m.offset + (m.count - u64{1}) * m.stride + m.bytes;
    if (last > bytes_of_object) return false;
    if (static_cast<detail::member_kind>(m.kind) == detail::member_kind::plain) return true;
    return m.bytes == 8 && m.offset % 8 == 0 && (m.count == 1 || m.stride % 8 == 0) &&
           bytes_of_object % 8 == 0;
}

}  // namespace

result<std::unique_ptr<heap_type>> unpack_type(const std::byte* block, u64 bytes) {
    const auto bad = [](const char* why) {
        return failure({errc::corrupt, "read the types of the heap", "", why,
                        "restore the file from a backup"});
    };
    if (bytes < sizeof(type_block)) return bad("a description lies beyond the heap's end");
    type_block head;
    std::memcpy(&head, block, sizeof head);
    const u64 members = u64{head.members} * sizeof(type_member);
    if (head.header.second > bytes ||
        sizeof head + members + head.text_bytes > head.header.second || head.number < first_type ||
        head.number > 0xffff) {
        return bad("a description is damaged");
    }
    auto type = std::make_unique<heap_type>();
    type->number = static_cast<u16>(head.number);
    type->bytes = head.bytes;
    type->is_array = (head.flags & type_block::array) != 0;
    type->destroys = (head.flags & type_block::destroys) != 0;
    const auto* text = reinterpret_cast<const char*>(block + sizeof head + members);
    const char* const end = text + head.text_bytes;
    const auto next_text = [&]() -> std::string {
        const char* const zero = std::find(text, end, '\0');
        std::string s(text, zero);
        text = zero == end ? end : zero + 1;
        return s;
    };
    // Programs of clang have stored their own spelling.
    type->name = detail::common_name(next_text());
    for (u32 i = 0; i < head.members; ++i) {
        type_member said;
        std::memcpy(&said, block + sizeof head + i * sizeof said, sizeof said);
        member_info m{next_text(), said.offset, said.bytes,
                      said.count,  said.stride, static_cast<detail::member_kind>(said.kind),
                      ""};
        m.type = detail::common_name(next_text());
        if (!is_possible(said, head.bytes)) return bad("the description of a member is damaged");
        if (m.kind != detail::member_kind::plain) {
            type->pointers.push_back(m);
            type->pointers_each += m.count;
        }
        type->members.push_back(std::move(m));
    }
    return type;
}

std::string difference(const heap_type& there, const type_info& here) {
    const std::size_t both = std::min(there.members.size(), here.members.size());
    for (std::size_t i = 0; i < both; ++i) {
        const member_info& a = there.members[i];
        const member_info& b = here.members[i];
        const auto differs = [&](const std::string& how, const std::string& x,
                                 const std::string& y) {
            std::string said = "member " + a.name;
            said.append(" ").append(how).append(" ").append(x);
            return said.append(" in the heap, ").append(y).append(" in the program");
        };
        if (a.name != b.name) return "member " + a.name + " of the heap is " + b.name + " here";
        if (a.type != b.type) return differs("is of type", a.type, b.type);
        if (a.kind != b.kind) return differs("is of kind", "another", "one");
        if (a.offset != b.offset) {
            return differs("lies at", std::to_string(a.offset), std::to_string(b.offset));
        }
        if (a.bytes != b.bytes) {
            return differs("has bytes:", std::to_string(a.bytes), std::to_string(b.bytes));
        }
        if (a.count != b.count || a.stride != b.stride) {
            return differs("has elements:", std::to_string(a.count), std::to_string(b.count));
        }
    }
    if (there.members.size() > both) {
        return "member " + there.members[both].name + " of the heap is missing in the program";
    }
    if (here.members.size() > both) {
        return "member " + here.members[both].name + " of the program is not in the heap";
    }
    if (there.bytes != here.bytes) {
        return "it has " + std::to_string(there.bytes) + " bytes in the heap, " +
               std::to_string(here.bytes) + " in the program";
    }
    if (there.is_array != here.is_array) return "one of the two is an array";
    return {};
}

type_table::type_table() : by_number_(0x10000), numbers_(4096) {}

result<u16> type_table::match(const type_info& type) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(type.name);
    if (found == by_name_.end()) return u16{0};
    heap_type& there = *found->second;
    if (const std::string d = difference(there, type); !d.empty()) {
        return failure({errc::incompatible, "use the type " + type.name, "",
                        "it lies otherwise in the heap than in this program: " + d,
                        "use the program that made the heap, heap.upgrade(), or another name"});
    }
    there.known.store(&type, std::memory_order_release);
    if (type.number < numbers_.size()) {
        numbers_[type.number].store(there.number, std::memory_order_release);
    }
    return there.number;
}

heap_type* type_table::find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

void type_table::add(std::unique_ptr<heap_type> type) {
    const std::lock_guard lock(mutex_);
    if (by_number_[type->number].load(std::memory_order_relaxed) != nullptr) return;
    heap_type*& newest = by_name_[type->name];
    if (newest == nullptr || newest->number < type->number) newest = type.get();
    by_number_[type->number].store(type.get(), std::memory_order_release);
    all_.push_back(std::move(type));
    count_.store(all_.size(), std::memory_order_release);
}

}  // namespace hf::nv
