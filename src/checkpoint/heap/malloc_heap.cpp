#include "checkpoint/heap/malloc_heap.hpp"

#include "base/check.hpp"
#include "base/leak.hpp"

#include <cstdlib>

namespace hf {

namespace {

u64& next_of(u64 block) noexcept { return *object_at<u64>(nullptr, block); }
void free_block(u64 block) noexcept { std::free(object_at<void>(nullptr, block)); }

}  // namespace

result<u64> malloc_heap::allocate(operation&, u64 payload) {
    const u64 size = is_large(payload) ? align_up(payload + block_header_size, line_size)
                                       : block_size(class_of_block(payload + block_header_size));
    void* p = size % line_size == 0 ? std::aligned_alloc(line_size, size) : std::malloc(size);
    HF_CHECK(p != nullptr, "out of memory");
    ends_with_process(p);
    return reinterpret_cast<u64>(p) + block_header_size;
}

void malloc_heap::deallocate(operation& op, u64 offset, u64) {
    freed& mine = freed_[op.my_lane().index];
    if (mine.epoch != op.epoch()) {
        for (u64 block = mine.first; block != 0;) {
            const u64 next = next_of(block);
            free_block(block);
            block = next;
        }
        mine = {op.epoch(), 0};
    }
    const u64 block = offset - block_header_size;
    next_of(block) = mine.first;
    mine.first = block;
}

void malloc_heap::cancel_large(u64 offset, u64) { free_block(offset - block_header_size); }

}  // namespace hf
