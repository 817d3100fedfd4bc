#include "checkpoint/journal_numbers.hpp"

namespace hf {

journal_statistics journal_numbers(const domain& d) {
    journal_statistics s;
    const journalled_file* const file = d.journal();
    const auto* j = file != nullptr ? file->redo() : nullptr;
    if (j == nullptr) return s;
    const auto& n = j->numbers();
    s.records = n.records();
    s.record_bytes = n.journal_bytes();
    s.base_bytes = n.base_bytes();
    s.syncs = n.syncs();
    s.last_commit_ns = j->last_commit_ns();
    s.late_ns = d.late_ns();
    s.bytes = n.segments() * n.segment_bytes();
    s.used_bytes = n.used() * n.segment_bytes();
    s.private_bytes = file->copies()->bytes();
    s.given_back_bytes = file->copies()->dropped_bytes();
    if (const auto why = j->refusal()) s.refusal = why->to_string();
    return s;
}

pause_statistics pause_numbers(const domain& d) {
    const histogram pauses = d.pauses();
    return {pauses.count(), d.last_pause_ns(), pauses.percentile(50), pauses.percentile(99),
            pauses.max()};
}

}  // namespace hf
