#include "bench/compare/ledger.hpp"

#include "base/check.hpp"

namespace hf::bench {

ledger::ledger(u64 records, unsigned clients) : clients_(clients), stamps_(clients) {
    HF_CHECK(clients > 0 && clients <= 1U << client_bits, "number of clients");
    while (records >> shift_ > most_watched) ++shift_;
    mask_ = (u64{1} << shift_) - 1;
    watched_ = (records + mask_) >> shift_;
    notes_.resize(watched_ * clients);
}

std::optional<std::string> ledger::objection(u64 record, u64 stamp) const {
    const put* all = &notes_[(record >> shift_) * clients_];
    const auto client = static_cast<unsigned>(stamp & ((u64{1} << client_bits) - 1));
    if (client >= clients_ || stamp == 0 || all[client].stamp != stamp) {
        return "it is not of the newest put of any client";
    }
    for (unsigned other = 0; other < clients_; ++other) {
        if (all[other].begin > all[client].end) {
            return "client " + std::to_string(other) + " wrote it later, and that is lost";
        }
    }
    return std::nullopt;
}

}  // namespace hf::bench
