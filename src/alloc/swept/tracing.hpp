// alloc/swept/tracing.hpp: how a structure tells the sweep what it reaches.
//
// A structure is traced from its roots. Each piece of memory has a kind, a number that means
// something to its structure alone; kind `leaf` has no references in it and is not read. While the
// structure is traced others may be changing it (swept_heap.hpp, W4): words are loaded once, with
// acquire order.
//
//     void my_tree::trace_roots(tracer& t) { t.visit(root_offset, inner); }
//     void my_tree::trace(u64 offset, u32 kind, tracer& t) {
//         for (each word of the node) t.visit(offset_in(word), kind_in(word));
//     }
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf {

class traced;

struct trace_item {
    const traced* of;
    u64 offset;
    u32 kind;
};

class tracer;

/// A structure in a swept heap.
class traced {
   public:
    static constexpr u32 leaf = 0;

    virtual ~traced() = default;
    /// Visits what the structure's roots lead to.
    virtual void trace_roots(tracer& t) const = 0;
    /// Visits what the memory at `offset`, which is of that kind, refers to.
    virtual void trace(u64 offset, u32 kind, tracer& t) const = 0;
};

class swept_heap;

/// What a structure says its references to.
class tracer {
   public:
    explicit tracer(swept_heap& h) noexcept : heap_(h) {}
    /// 0 is no reference.
    void visit(u64 offset, u32 kind);
    /// Has read the references in [p, p + n), which is no item: a node that was visited as a leaf,
    /// say. What was visited as something else need not be told.
    void has_read(const void* p, std::size_t n);

   private:
    friend class trace_work;
    swept_heap& heap_;
    const traced* of_ = nullptr;  ///< who is asked
    std::vector<trace_item> found_;
    u64 reached_ = 0;
    u64 wrong_ = 0;  ///< a reference to no block; 0: none was met
};

}  // namespace hf
