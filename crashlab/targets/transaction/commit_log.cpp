#include "crashlab/targets/transaction/commit_log.hpp"

#include "base/check.hpp"

namespace hf::lab {

using committed::word_change;

result<commit_log> commit_log::open(region& r, u16 owner) {
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log && s.owner == owner) return commit_log(r, s.offset);
    }
    const auto grown = r.grow(segment_kind::log, 2, owner);
    if (!grown) return tl::unexpected(grown.error());
    return commit_log(r, grown->offset);
}

void commit_log::commit(std::span<const word_change> of_heap) {
    const medium& med = region_->med();
    u64 n = 0;
    for (const auto& part : {of_heap, std::span<const word_change>(mine_)}) {
        for (const word_change& c : part) {
            HF_CHECK(n < 3 * most_changes, "more changes than the log has room for");
            for (u64 value : {c.offset, c.clear, c.set}) {
                log().changes[n++].store(value, std::memory_order_relaxed);
            }
        }
    }
    med.flush(log().changes, 8 * n);
    med.fence();
    log().length.store(n / 3, std::memory_order_release);
    med.persist(&log().length, 8);
}

void commit_log::change(const word_change& c) const {
    auto& w = *region_->at<committed::word>(c.offset);
    committed::change_word(w, c);
    region_->med().flush_line(&w);
}

void commit_log::apply() {
    for (const word_change& c : mine_) change(c);
    mine_.clear();
}

void commit_log::drop() {
    region_->med().fence();
    log().length.store(0, std::memory_order_release);
    region_->med().persist(&log().length, 8);
}

result<bool> commit_log::recover() {
    const u64 n = log().length.load(std::memory_order_acquire);
    // The writer may have been killed before it persisted the word, whether it stored a length or
    // 0.
    region_->med().persist(&log().length, 8);
    if (n == 0) return false;
    std::vector<word_change> of_heap;
    for (u64 i = 0; i < std::min(n, most_changes); ++i) {
        const auto read = [&](u64 k) {
            return log().changes[3 * i + k].load(std::memory_order_acquire);
        };
        const word_change c{read(0), read(1), read(2)};
        if (c.offset >= words() && c.offset < words() + page_size) {
            change(c);
        } else {
            of_heap.push_back(c);
        }
    }
    if (auto done = committed::reapply(*region_, of_heap); !done) {
        return tl::unexpected(done.error());
    }
    drop();
    return true;
}

}  // namespace hf::lab
