// targets/history.hpp: what the states of a map must be, epoch by epoch (the checkpoint judge).
//
// A crash brings back the state of the end of one completed epoch, no older than the one announced.
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
    /// Every key that was ever there.
    std::set<std::string> keys;

    void put(const std::string& key, std::string value) {
        keys.insert(key);
        now[key] = std::move(value);
    }
    void remove(const std::string& key) { now.erase(key); }
    /// `now` is what epoch `e` ends with.
    void epoch_ended(u64 e) { ends_[e] = now; }

    /// What must be found when epoch `e` was the last one to be completed.
    [[nodiscard]] const state& at(u64 e) const {
        static const state nothing;
        const auto after = ends_.upper_bound(e);
        return after == ends_.begin() ? nothing : std::prev(after)->second;
    }
    /// Goes on from there: later epochs never happened.
    void recovered_to(u64 e) {
        now = at(e);
        ends_.erase(ends_.upper_bound(e), ends_.end());
    }

   private:
    std::map<u64, state> ends_;
};

}  // namespace hf::lab
