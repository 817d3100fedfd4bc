// heap/check.hpp: checks a whole heap without trusting a byte of it.
//
// Method. The allocator's data lists the allocated blocks; each begins with a header, whose
// type determines its length and its pointers. So all objects are visited without following a
// pointer; then counts are compared with the references found (J1 to J4 of core.hpp), and
// reachable objects are marked.
//
// Concurrency. No thread may be changing the heap; the logs have been applied. Writes nothing.
// Cost. Memory of some 40 bytes an object.
#pragma once

#include <holdfast/heap.hpp>

#include "alloc/audit.hpp"
#include "heap/type_table.hpp"
#include "region/region.hpp"

#include <unordered_map>
#include <vector>

namespace hf::nv {

/// A violated invariant, which mend.hpp may repair.
struct heap_finding {
    enum class what : u8 {
        other,     ///< the heap cannot be trusted
        count,     ///< differs from the number of references; or there are no references
        unknown,   ///< flags that no such object has
        flags,     ///< an object is flagged as listed, and is not listed
        slot,      ///< a slot of orphans refers to something else
        list,      ///< the doomed list refers to something else
        proxied,   ///< an object's proxy does not refer to it
        proxy,     ///< refers to an object that does not refer to it
        pointer,   ///< points to no object, or to one of another type
        progress,  ///< an array is flagged as being destroyed, and is not doomed
        dead,      ///< memory of a dead object
    };
    u64 offset = 0;
    what kind = what::other;
    u64 bytes = 0;  ///< size of dead memory
};

struct heap_root {
    u64 block = 0;
    std::string name;
    u64 type = 0;  ///< number
    u64 target = 0;
};

struct heap_facts {
    struct object {
        u64 offset = 0;
        u64 bytes = 0;  ///< of its block
        state_word state;
        u32 found = 0;  ///< number of pointers to it
        bool reachable = false;
        bool listed = false;      ///< in a slot, or on a list
        bool is_upgrade = false;  ///< part of a pair of an unfinished upgrade

        [[nodiscard]] u16 unknown_flags() const noexcept {
            const u16 may_have = state.type == proxy_type ? u16{0} : state_word::known;
            return static_cast<u16>(state.flags & ~may_have);
        }
    };
    std::vector<object> objects;                                ///< by offset
    std::unordered_map<u64, std::unique_ptr<heap_type>> types;  ///< by number
    std::vector<heap_root> roots;
    std::vector<heap_finding> findings;  ///< up to `most_findings`
    heap_figures books;                  ///< the allocator's statistics
    u64 violations = 0;                  ///< including those not in `findings`
    heap_report report;

    static constexpr std::size_t most_findings = std::size_t{1} << 20;
    static constexpr std::size_t most_told = 1000;

    [[nodiscard]] object* find(u64 offset) noexcept;
    [[nodiscard]] const object* find(u64 offset) const noexcept {
        return const_cast<heap_facts*>(this)->find(offset);
    }
    /// nullopt for a proxy: it has no described type.
    [[nodiscard]] const heap_type* type_of(const object& o) const noexcept;
    /// visit(offset of the pointer, what it holds, member)
    template <class Visit>
    void each_pointer(const region& r, const object& o, Visit&& visit) const;
};

template <class Visit>
void heap_facts::each_pointer(const region& r, const object& o, Visit&& visit) const {
    const heap_type* const type = type_of(o);
    if (type == nullptr || type->pointers.empty()) return;
    const auto word = [&r](u64 at) {
        return r.at<std::atomic<u64>>(at)->load(std::memory_order_acquire);
    };
    const bool is_array = o.state.has(state_word::array);
    const u64 length = is_array ? word(o.offset) : 1;
    const bool is_begun = is_array && o.state.has(state_word::doomed);
    const u64 first = is_begun ? word(o.offset + offsetof(array_start, progress)) : 0;
    const u64 elements = o.offset + (is_array ? detail::array_head : 0);
    for (u64 i = first; i < length; ++i) {
        type->each_pointer([&](u64 at_member, const detail::member_info& m) {
            const u64 at = elements + i * type->bytes + at_member;
            visit(at, word(at), m);
        });
    }
}

class heap_reader {
   public:
    /// `held`: offsets held by volatile references; empty if no process has the heap open.
    heap_reader(const region& r, u64 control, const std::vector<u64>& held)
        : region_(r), control_(control), held_(held) {}

    /// errc::corrupt: not a heap, or its types cannot be read.
    [[nodiscard]] result<heap_facts> read();

   private:
    using what = heap_finding::what;
    void add(u64 offset, const std::string& text, what kind = what::other, u64 bytes = 0);
    [[nodiscard]] u64 word(u64 offset) const noexcept {
        return region_.at<std::atomic<u64>>(offset)->load(std::memory_order_acquire);
    }
    [[nodiscard]] result<void> read_types();
    void read_blocks();
    [[nodiscard]] std::string look_at_block(u64 block, u64 room, heap_facts::object& o);
    void read_system();
    void read_root(u64 block);
    void count_pointers();
    void count_roots();
    void count_proxies();
    void count_moved(heap_facts::object& o);
    void count_to(u64 target, u64 from, const char* name, const std::string* type);
    void read_lists();
    void compare();
    void mark();

    const region& region_;
    const u64 control_;
    const std::vector<u64>& held_;
    std::unordered_map<u64, u64> system_;  ///< internal blocks that must be found: offset, bytes
    std::vector<u64> orphan_blocks_;
    heap_facts facts_;
};

}  // namespace hf::nv
