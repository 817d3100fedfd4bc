#include "crashlab/explore/choices.hpp"

#include "base/check.hpp"

namespace hf::lab {

u32 choices::choose(u64 what, u32 count) {
    if (depth_ < steps_.size()) {
        const choice& c = steps_[depth_++];
        HF_CHECK(c.what == what && c.count == count,
                 "a run does not repeat: its recovery or query depends on something outside");
        return c.chosen;
    }
    u32 chosen = 0;
    switch (how_) {
        case policy::all:
        case policy::oldest:
            break;
        case policy::newest:
            chosen = count - 1;
            break;
        case policy::one_differs:
            if (depth_ == different_) {
                chosen = static_cast<u32>(random_() % count);
            } else {
                chosen = others_newest_ ? count - 1 : 0;
            }
            break;
        case policy::random:
            chosen = static_cast<u32>(random_() % count);
            break;
        case policy::replay:
            if (const auto told = told_.find(what); told != told_.end()) {
                chosen = told->second < count ? told->second : count - 1;
            }
            break;
    }
    steps_.push_back({what, chosen, count});
    ++depth_;
    return chosen;
}

bool choices::next(u32 keep) {
    while (steps_.size() > keep) {
        if (steps_.back().chosen + 1 < steps_.back().count) {
            ++steps_.back().chosen;
            depth_ = keep;
            return true;
        }
        steps_.pop_back();
    }
    depth_ = keep;
    return false;
}

}  // namespace hf::lab
