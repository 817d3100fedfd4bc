// heap/check.hpp: reads a whole heap without trusting a byte of it, and says what is wrong.
//
// Method. The allocator's books tell which blocks are handed out; each begins with a header, whose
// type says how long it is and where its pointers lie. So all objects are met without following a
// pointer; then counts are compared with what leads to each (J1 to J4 of core.hpp), and what is
// reachable is marked.
//
// Concurrency. Nobody may be changing the heap; the logs have been applied. Writes nothing.
// Cost. Memory of some 40 bytes an object.
#pragma once

#include <holdfast/heap.hpp>

#include "heap/type_table.hpp"
#include "region/region.hpp"

#include <unordered_map>
#include <vector>

namespace hf::nv {

struct heap_facts {
    struct object {
        u64 offset = 0;
        u64 bytes = 0;  ///< of its block
        state_word state;
        u32 found = 0;  ///< pointers that lead to it
        bool reachable = false;
        bool listed = false;  ///< in a slot, or on a list
    };
    std::vector<object> objects;  ///< by offset
    heap_report report;

    [[nodiscard]] object* find(u64 offset) noexcept;
};

class heap_reader {
   public:
    /// `held`: offsets that volatile references hold; empty where no process runs.
    heap_reader(const region& r, u64 control, const std::vector<u64>& held)
        : region_(r), control_(control), held_(held) {}

    /// errc::corrupt: it is no heap, or its types can't be read.
    [[nodiscard]] result<heap_facts> read();

   private:
    void add(u64 offset, std::string text);
    [[nodiscard]] u64 word(u64 offset) const noexcept {
        return region_.at<std::atomic<u64>>(offset)->load(std::memory_order_acquire);
    }
    [[nodiscard]] result<void> read_types();
    void read_blocks();
    void read_system();
    void count_pointers();
    void count_to(u64 target, u64 from, const char* what, const std::string* type);
    void read_lists();
    void compare();
    void mark();
    template <class Visit>
    void each_pointer(const heap_facts::object& o, Visit&& visit) const;

    const region& region_;
    const u64 control_;
    const std::vector<u64>& held_;
    std::unordered_map<u64, std::unique_ptr<heap_type>> types_;
    std::unordered_map<u64, u64> system_;  ///< blocks that must be met: offset, bytes
    heap_facts facts_;
};

}  // namespace hf::nv
