// heap/layout.hpp: the bytes of a heap of objects in its region.
//
//   object      | header 16 | members ...                   |
//   array       | header 16 | length, progress | elements ... |
//   proxy       | header 16 | offset of its object           |
//   the rest    | header 16 | ...                             |  control block, types, roots ...
//
//   header      | count 32 | type 16 | flags 16 |    number of pointers to it
//               | proxy, or link of a list, or size of a system block |
//
// Offsets of objects refer to the byte after the header. Every allocated block
// begins with a header, so the heap can be walked by the allocator's data alone.
#pragma once

#include <holdfast/nv/core.hpp>

#include "base/bits.hpp"
#include "region/layout.hpp"

namespace hf::nv {

inline constexpr layout::room_format heap_format{"heap", 1};
inline constexpr const char* root_name = "nv-heap";

struct object_header {
    u64 word;
    u64 second;
};
static_assert(sizeof(object_header) == 16);

/// The first word of a header.
struct state_word {
    static constexpr u16 array = 1;
    static constexpr u16 orphan = 2;   ///< count 0: held by volatile references
    static constexpr u16 doomed = 4;   ///< count 0: to be destroyed; second word is the next one
    static constexpr u16 proxied = 8;  ///< second is the proxy
    static constexpr u16 moved = 16;   ///< converted; second word is the new object

    static constexpr u16 known = array | orphan | doomed | proxied | moved;

    u32 count = 0;
    u16 type = 0;
    u16 flags = 0;

    [[nodiscard]] constexpr u64 pack() const noexcept {
        return u64{count} | u64{type} << 32 | u64{flags} << 48;
    }
    [[nodiscard]] static constexpr state_word unpack(u64 w) noexcept {
        return {static_cast<u32>(w), static_cast<u16>(w >> 32), static_cast<u16>(w >> 48)};
    }
    [[nodiscard]] constexpr bool has(u16 flag) const noexcept { return (flags & flag) != 0; }
};

// Type numbers in an object's state word. 0: the object has been destroyed.
inline constexpr u16 system_type = 1;
inline constexpr u16 proxy_type = 2;
inline constexpr u16 first_type = 3;

inline constexpr u64 header_bytes = sizeof(object_header);
inline constexpr u64 proxy_bytes = header_bytes + 8;

/// The begin of an array, after the header.
struct array_start {
    u64 length;
    u64 progress;  ///< while it is destroyed: number of elements done
};
static_assert(sizeof(array_start) == detail::array_head);

/// The target of the region's root. Each list has a line of its own, to avoid conflicts.
struct control_block {
    static constexpr u64 magic_value = 0x48464e5648454150;  // "HFNVHEAP"

    object_header header;
    u64 magic;
    u64 brand;    ///< hash of its name
    u64 upgrade;  ///< the types of an unfinished upgrade: upgrade.hpp
    u64 reserved[3];
    alignas(line_size) u64 types;  ///< offset of the newest
    u64 type_count;
    alignas(line_size) u64 roots;    ///< offset of the newest
    alignas(line_size) u64 doomed;   ///< objects, by their headers' second words
    alignas(line_size) u64 waiting;  ///< doomed objects whose nv_destroy() is not known yet
    alignas(line_size) u64 orphans;  ///< offset of the newest block of slots
};
static_assert(sizeof(control_block) == 6 * line_size);

/// A root: a pointer with a name, which follows.
struct root_block {
    object_header header;
    u64 next;
    u64 target;  ///< a ptr<T, H>
    u64 type;    ///< number
    u64 name_bytes;
};
static_assert(sizeof(root_block) == 48);

/// A type: then its members, then text.
struct type_block {
    static constexpr u32 array = 1;
    static constexpr u32 destroys = 2;

    object_header header;
    u64 next;
    u64 number;
    u32 bytes;  ///< of an object or element
    u32 flags;
    u32 members;
    u32 text_bytes;  ///< names, each followed by a zero: the type's, then each member's two
};
static_assert(sizeof(type_block) == 48);

struct type_member {
    u32 offset;
    u32 bytes;
    u32 count;
    u32 stride;
    u32 kind;
    u32 reserved;
};
static_assert(sizeof(type_member) == 24);

/// Slots for the offsets of orphans; 0: free.
struct orphan_block {
    static constexpr u32 slots = 504;

    object_header header;
    u64 next;
    u64 reserved[5];
    u64 slot[slots];
};
static_assert(sizeof(orphan_block) == 4096);

[[nodiscard]] u64 hash_of(std::string_view text) noexcept;

}  // namespace hf::nv
