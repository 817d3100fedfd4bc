#include "journal/core.hpp"

#include "base/lock_order.hpp"
#include "journal/merge.hpp"
#include "persist/persist_point.hpp"

#include <utility>

namespace hf::journal {

core::core(block_file& journal, block_file& base, const identity& who, u64 base_epoch,
           const geometry& shape)
    : journal_(journal), base_(base), ring_(who, shape.segment_bytes, shape.segments) {
    header_.who = who;
    header_.segment_bytes = shape.segment_bytes;
    header_.base_epoch = base_epoch;
    header_.segments = shape.segments;
    applied_epoch_ = base_epoch;
    segments_ = shape.segments;
}

result<std::unique_ptr<core>> core::start(block_file& journal, block_file& base,
                                          const identity& who, u64 base_epoch,
                                          const geometry& shape) {
    std::unique_ptr<core> c(new core(journal, base, who, base_epoch, shape));
    if (auto ok = c->lengthen(shape.segments); !ok) return tl::unexpected(ok.error());
    // Both slots, so that no header of an earlier session is used when one is damaged.
    for (const u64 serial : {0, 1}) {
        c->header_.serial = serial;
        auto written = write_header(journal, c->header_);
        if (!written) return tl::unexpected(written.error());
    }
    if (auto ok = journal.sync(); !ok) return tl::unexpected(ok.error());
    return c;
}

bool core::needs_space(const record& r) {
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    return ring_.missing(r) != 0;
}

/// Extends the file to this number of segments, durably (J5).
result<void> core::lengthen(u64 segments) {
    auto grown = journal_.extend(ring::file_bytes(ring_.segment_bytes(), segments));
    if (!grown) return grown;
    if (auto ok = journal_.sync(); !ok) return ok;
    ++syncs_;
    HF_PERSIST_POINT("journal J5: the journal's length durable before it is said");
    return {};
}

result<void> core::make_room(const record& r) {
    u64 missing = 0;
    u64 segments = 0;
    {
        const ranked_guard lock(lock_rank::journal_ring, mutex_);
        missing = ring_.missing(r);
        segments = ring_.segments() + missing;
    }
    if (missing == 0) return {};
    if (auto ok = lengthen(segments); !ok) return ok;
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    for (; missing != 0; --missing) ring_.add_segment();
    segments_ = ring_.segments();
    return {};
}

/// Writes the record if the free segments suffice. False: another thread has sealed a segment
/// meanwhile.
result<bool> core::append(const record& r) {
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    if (ring_.missing(r) != 0) return false;
    if (auto ok = ring_.append(journal_, r); !ok) return tl::unexpected(ok.error());
    used_ = ring_.used().size();
    return true;
}

result<void> core::commit(const record& r) {
    if (base_grown_.exchange(false, std::memory_order_acq_rel)) {
        if (auto ok = base_.sync(); !ok) return ok;
        ++syncs_;
        HF_PERSIST_POINT("journal J0: the base's length durable before a record that needs it");
    }
    for (bool has_its_place = false; !has_its_place;) {
        if (auto ok = make_room(r); !ok) return ok;
        auto appended = append(r);
        if (!appended) return tl::unexpected(appended.error());
        has_its_place = *appended;
    }
    if (auto ok = journal_.sync(); !ok) return ok;
    ++syncs_;
    HF_PERSIST_POINT("journal J1: a record durable before its epoch is announced");
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    durable_ = ring_.next_record() - 1;
    return {};
}

bool core::is_durable(const ring::used_segment& s) const noexcept {
    return s.chunks.back().at.record <= durable_;
}

result<u64> core::apply_some(u64 most, bool all) {
    // A header write that failed for lack of space may have become durable. Until one is known to
    // be durable, the base is not changed.
    auto before = give_up_applied();
    if (!before) return before;
    if (auto ok = bring_to_base(most, all); !ok) return tl::unexpected(ok.error());
    auto now = give_up_applied();
    if (!now) return now;
    return *before + *now;
}

result<u64> core::give_up_applied() {
    if (unsaid_ == 0) return 0;
    if (auto ok = say_applied(); !ok) return tl::unexpected(ok.error());
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    ring_.free_oldest(unsaid_);
    used_ = ring_.used().size();
    return std::exchange(unsaid_, 0);
}

result<void> core::bring_to_base(u64 most, bool all) {
    std::vector<chunk_place> chunks;
    u64 segments = 0;
    {
        const ranked_guard lock(lock_rank::journal_ring, mutex_);
        const auto& used = ring_.used();
        // The newest segment is still being filled.
        const bool newest_too = all && !used.empty() && is_durable(used.back()) && ring_.seal();
        const u64 full = used.size() - (newest_too || used.empty() ? 0 : 1);
        // J2: only records that are durable.
        while (segments < std::min(most, full) && is_durable(used[segments])) {
            const auto& more = used[segments++].chunks;
            chunks.insert(chunks.end(), more.begin(), more.end());
        }
    }
    if (segments == 0) return {};
    const auto written = merge(journal_, chunks, base_);
    if (!written) return tl::unexpected(written.error());
    base_bytes_ += *written;
    if (auto ok = base_.sync(); !ok) return ok;
    ++syncs_;
    HF_PERSIST_POINT("journal J3: lines durable in the base before their records are given up");
    next_ = header_;
    next_.serial += 1;
    next_.oldest = chunks.back().next();
    for (const chunk_place& c : chunks) {
        if (c.next().chunk == 0) next_.base_epoch = c.epoch;
    }
    unsaid_ = segments;
    return {};
}

result<void> core::say_applied() {
    next_.segments = segments();
    if (auto ok = write_header(journal_, next_); !ok) return ok;
    if (auto ok = journal_.sync(); !ok) return ok;
    ++syncs_;
    HF_PERSIST_POINT("journal J4: the header durable before a segment is used again");
    header_ = next_;
    applied_epoch_ = next_.base_epoch;
    return {};
}

u64 core::records() const {
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    return durable_;
}

u64 core::journal_bytes() const {
    const ranked_guard lock(lock_rank::journal_ring, mutex_);
    return ring_.written_bytes();
}

}  // namespace hf::journal
