// targets/transaction/commit_log.hpp: the smallest log that a committed heap can use
// (committed_heap.hpp, C1 to C3).
//
// One log a thread, each in its own segment of kind log. Redo only: an entry is a list of word
// changes, those of the heap and those of the workload's words after the log. One word commits it.
//
//   page 0  | length of the committed entry, 0: none | changes ... |
//   page 1  | words of the workload ...                            |
//
// Persist order. The changes are durable before the length; all changed words before it becomes 0.
#pragma once

#include "alloc/committed_heap.hpp"

#include <optional>
#include <vector>

namespace hf::lab {

class commit_log {
   public:
    static constexpr u64 most_changes = 64;

    /// The log of this owner; creates it if there is none.
    [[nodiscard]] static result<commit_log> open(region& r, u16 owner);

    [[nodiscard]] committed::word& word_at(u64 index) const noexcept {
        return *region_->at<committed::word>(words() + 8 * index);
    }
    void set_word(u64 index, u64 value) { mine_.push_back({words() + 8 * index, ~u64{0}, value}); }

    /// On return the whole entry is committed.
    void commit(std::span<const committed::word_change> of_heap);
    /// Changes and flushes the words of this log's page.
    void apply();
    /// Makes the flushed words durable, and drops the entry.
    void drop();
    /// As apply() and drop(), after a crash, for a heap that is not open; true if there was an
    /// entry.
    [[nodiscard]] result<bool> recover();

   private:
    struct page {
        committed::word length;
        u64 reserved[7];
        committed::word changes[3 * most_changes];
    };

    commit_log(region& r, u64 offset) : region_(&r), offset_(offset) {}
    [[nodiscard]] u64 words() const noexcept { return offset_ + page_size; }
    [[nodiscard]] page& log() const noexcept { return *region_->at<page>(offset_); }
    void change(const committed::word_change& c) const;

    region* region_;
    u64 offset_;
    std::vector<committed::word_change> mine_;
};

}  // namespace hf::lab
