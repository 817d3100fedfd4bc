#include "history.hpp"

#include <algorithm>

namespace hf::power_test {

namespace {

constexpr u32 fewest_keys = 64;
constexpr u32 most_keys = 40'000;

/// The found record as a version; one that no write has represents unknown bytes.
u64 version_in(const found_record& found) {
    switch (found.is) {
        case found_record::kind::absent:
            return 0;
        case found_record::kind::exact:
            return found.version;
        default:
            return ~u64{0};
    }
}

}  // namespace

verdict& verdict::operator+=(const verdict& other) noexcept {
    checked += other.checked;
    durable += other.durable;
    lost += other.lost;
    altered += other.altered;
    strangers += other.strangers;
    holes += other.holes;
    undone += other.undone;
    kept += other.kept;
    return *this;
}

write history::next(u64 random) {
    // Every third write has a new key: the region grows, and old records change.
    const bool fresh = base_.size() < fewest_keys || (random % 3 == 0 && base_.size() < most_keys);
    write one;
    one.version = ++last_version_;
    if (fresh) {
        one.key = static_cast<u32>(base_.size());
        base_.push_back(0);
    } else {
        one.key = static_cast<u32>((random >> 8) % base_.size());
        one.removes = (random >> 48) % 12 == 0;
    }
    return one;
}

history::versions history::state_after(std::size_t writes) const {
    versions state = base_;
    for (std::size_t i = 0; i < writes; ++i) {
        state[writes_[i].key] = writes_[i].removes ? 0 : writes_[i].version;
    }
    return state;
}

std::size_t history::moment_of(const std::vector<found_record>& found) const {
    versions state = state_after(durable_);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < state.size(); ++k) wrong += state[k] != version_in(found[k]);
    std::size_t moment = durable_;
    while (wrong != 0 && moment < writes_.size()) {
        const write& one = writes_[moment++];
        u64& now = state[one.key];
        const u64 there = version_in(found[one.key]);
        wrong -= now != there;
        now = one.removes ? 0 : one.version;
        wrong += now != there;
    }
    return wrong == 0 ? moment : writes_.size() + 1;
}

verdict history::judge(const std::vector<found_record>& found) const {
    verdict v;
    v.checked = base_.size();
    v.durable = durable_;
    if (const std::size_t moment = moment_of(found); moment <= writes_.size()) {
        v.undone = writes_.size() - moment;
        v.kept = moment - durable_;
    } else {
        accuse(found, v);
        // Each key might be right, but there is no common moment for all of them.
        if (v.broken() == 0) v.holes = 1;
    }
    return v;
}

void history::accuse(const std::vector<found_record>& found, verdict& v) const {
    const versions durable = state_after(durable_);
    std::vector<std::vector<u64>> later(base_.size());
    for (std::size_t i = durable_; i < writes_.size(); ++i) {
        later[writes_[i].key].push_back(writes_[i].removes ? 0 : writes_[i].version);
    }
    for (std::size_t k = 0; k < durable.size(); ++k) {
        const u64 there = version_in(found[k]);
        if (there == durable[k] || std::ranges::count(later[k], there) != 0) continue;
        if (found[k].is == found_record::kind::altered) {
            ++v.altered;
        } else {
            // A record that a durable remove has deleted is back, or an older one is there; a newer
            // one was never sent, or was undone by an earlier power failure.
            const bool older = durable[k] == 0 ? there <= last_version_ : there < durable[k];
            ++(older ? v.lost : v.strangers);
        }
    }
}

u64 history::durable_keys() const {
    const versions state = state_after(durable_);
    return static_cast<u64>(std::ranges::count_if(state, [](u64 v) { return v != 0; }));
}

void history::settle(const std::vector<found_record>& found) {
    for (std::size_t k = 0; k < base_.size(); ++k) {
        base_[k] = found[k].is == found_record::kind::exact ? found[k].version : 0;
    }
    writes_.clear();
    durable_ = 0;
}

}  // namespace hf::power_test
