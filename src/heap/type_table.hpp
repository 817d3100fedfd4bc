// heap/type_table.hpp: the types of a heap: their descriptions on the medium, cached in this
// process.
//
// A description is stored in the heap by the transaction that first needs it, and never changes.
// The list on the medium, read by a transaction, is authoritative; this table is a cache
// of it. A type with another layout than in the program is refused. If several descriptions
// have one name, the newest counts: upgrades (upgrade.hpp) have left the older ones.
//
// Concurrency. Lookups by number are wait-free; the rest takes a mutex.
#pragma once

#include <holdfast/result.hpp>

#include "heap/layout.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace hf::nv {

/// A type described in a heap.
struct heap_type {
    u16 number = 0;
    bool is_array = false;
    bool destroys = false;
    u64 block = 0;  ///< offset of its description
    u32 bytes = 0;
    std::string name;
    std::vector<detail::member_info> members;
    std::vector<detail::member_info> pointers;             ///< members that are pointers
    u64 pointers_each = 0;                                 ///< of an object or element
    std::atomic<const detail::type_info*> known{nullptr};  ///< the program's type

    [[nodiscard]] u64 block_bytes(u64 elements) const noexcept {
        return is_array ? header_bytes + detail::array_head + elements * bytes
                        : header_bytes + bytes;
    }
    /// visit(offset in the object or element, kind)
    template <class Visit>
    void each_pointer(Visit&& visit) const {
        for (const detail::member_info& m : pointers) {
            for (u32 i = 0; i < m.count; ++i) visit(m.offset + u64{i} * m.stride, m);
        }
    }
};

/// Encodes a description.
[[nodiscard]] std::vector<std::byte> pack_type(const detail::type_info& type);
/// errc::corrupt: not a description; `bytes` is an upper bound on its size.
[[nodiscard]] result<std::unique_ptr<heap_type>> unpack_type(const std::byte* block, u64 bytes);
/// Empty, or a difference: "member value lies at 8 there, at 0 here".
[[nodiscard]] std::string difference(const heap_type& there, const detail::type_info& here);

class type_table {
   public:
    type_table();

    /// nullptr: not read yet, or there is none.
    [[nodiscard]] heap_type* find(u64 number) const noexcept {
        return number < by_number_.size() ? by_number_[number].load(std::memory_order_acquire)
                                          : nullptr;
    }
    /// 0: not known to be in the heap.
    [[nodiscard]] u16 number_of(const detail::type_info& type) const noexcept {
        return type.number < numbers_.size() ? numbers_[type.number].load(std::memory_order_acquire)
                                             : u16{0};
    }
    /// Number of a program's type, by its name, among those that have been read.
    /// errc::incompatible.
    [[nodiscard]] result<u16> match(const detail::type_info& type);
    void add(std::unique_ptr<heap_type> type);
    /// The newest type of that name; nullptr: none was read.
    [[nodiscard]] heap_type* find(const std::string& name);
    [[nodiscard]] u64 count() const noexcept { return count_.load(std::memory_order_acquire); }

   private:
    std::vector<std::atomic<heap_type*>> by_number_;
    std::vector<std::atomic<u16>> numbers_;
    std::atomic<u64> count_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<heap_type>> all_;
    std::unordered_map<std::string, heap_type*> by_name_;
};

}  // namespace hf::nv
