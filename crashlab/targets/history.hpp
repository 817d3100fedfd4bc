// targets/history.hpp: the expected states of a map, epoch by epoch (for the judge of
// checkpointing).
//
// A crash must recover the state at the end of one completed epoch, not older than the announced
// one.
#pragma once

#include "base/bits.hpp"

#include <map>
#include <set>
#include <string>

namespace hf::lab {

class history {
   public:
    using state = std::map<std::string, std::string>;

    state now;
    /// All keys that ever existed.
    std::set<std::string> keys;

    void put(const std::string& key, std::string value) {
        keys.insert(key);
        now[key] = std::move(value);
    }
    void remove(const std::string& key) { now.erase(key); }
    /// `now` is the state at the end of epoch `e`.
    void epoch_ended(u64 e) { ends_[e] = now; }

    /// The expected state if epoch `e` is the last completed one.
    [[nodiscard]] const state& at(u64 e) const {
        static const state nothing;
        const auto after = ends_.upper_bound(e);
        return after == ends_.begin() ? nothing : std::prev(after)->second;
    }
    /// Continues from the end of epoch `e`: later epochs are forgotten.
    void recovered_to(u64 e) {
        now = at(e);
        ends_.erase(ends_.upper_bound(e), ends_.end());
    }

   private:
    std::map<u64, state> ends_;
};

}  // namespace hf::lab
