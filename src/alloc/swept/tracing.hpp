// alloc/swept/tracing.hpp: the interface by which a structure reports its references to the sweep.
//
// A structure is traced from its roots. Each piece of memory has a kind, a number defined by its
// structure; memory of kind `leaf` has no references and is not read. While the
// structure is traced, other threads may change it (swept_heap.hpp, W4): words are loaded once,
// with acquire order.
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
    /// Visits the targets of the structure's roots.
    virtual void trace_roots(tracer& t) const = 0;
    /// Visits the references in the memory at `offset`, which is of that kind.
    virtual void trace(u64 offset, u32 kind, tracer& t) const = 0;
};

class swept_heap;

/// The object to which a structure reports its references.
class tracer {
   public:
    explicit tracer(swept_heap& h) noexcept : heap_(h) {}
    /// Reports a reference; 0 is null.
    void visit(u64 offset, u32 kind);
    /// Declares that the references in [p, p + n) have been read; needed only for memory that was
    /// visited as a leaf.
    void has_read(const void* p, std::size_t n);

   private:
    friend class trace_work;
    swept_heap& heap_;
    const traced* of_ = nullptr;  ///< the structure that is visited
    std::vector<trace_item> found_;
    u64 reached_ = 0;
    u64 wrong_ = 0;  ///< an invalid reference; 0: none was found
};

}  // namespace hf
