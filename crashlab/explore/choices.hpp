// explore/choices.hpp: which of several possibilities each unsure thing takes in one run.
//
// A run asks choose() whenever it meets something unsure (a line, the file's length); run again
// with the same answers it asks the same questions. So a run is named by its answers, and next()
// walks through all of them depth first. Other policies answer for themselves.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"
#include "base/random.hpp"

#include <map>
#include <vector>

namespace hf::lab {

enum class policy : u8 {
    all,          ///< depth first, every combination
    oldest,       ///< of each the first: nothing reached the medium
    newest,       ///< of each the last: everything did
    one_differs,  ///< all newest, or all oldest, but for one
    random,
    replay,  ///< as told; what is not told gets the first answer
};

struct choice {
    u64 what = 0;  ///< a line's number, or one of the below
    u32 chosen = 0;
    u32 count = 0;
};

/// Of a file's length, and of its name.
[[nodiscard]] constexpr u64 length_of_file(unsigned file) noexcept {
    return ~u64{0} - 1 - 2 * file;
}
[[nodiscard]] constexpr u64 name_of_file(unsigned file) noexcept { return ~u64{0} - 2 - 2 * file; }
inline constexpr u64 choice_of_length = length_of_file(0);
inline constexpr u64 choice_of_name = name_of_file(0);
[[nodiscard]] constexpr bool is_line_choice(u64 what) noexcept {
    return what < name_of_file(most_files - 1);
}

class choices {
   public:
    explicit choices(policy how, u64 seed = 0) : how_(how), random_(seed) {}
    /// Replays these.
    explicit choices(const std::vector<choice>& told) : how_(policy::replay), random_(0) {
        for (const choice& c : told) told_[c.what] = c.chosen;
    }

    [[nodiscard]] u32 choose(u64 what, u32 count);

    /// Questions asked in this run so far.
    [[nodiscard]] u32 depth() const noexcept { return depth_; }
    [[nodiscard]] const std::vector<choice>& steps() const noexcept { return steps_; }
    /// The run begins again behind its first `keep` answers.
    void rewind(u32 keep) noexcept { depth_ = keep; }
    /// Forgets all answers behind the first `keep`.
    void cut(u32 keep) {
        steps_.resize(keep);
        depth_ = keep;
    }
    /// Turns to the next combination behind the first `keep` answers; false: there is none.
    /// Rewinds.
    [[nodiscard]] bool next(u32 keep);
    /// From here on another policy answers what is new.
    void set_policy(policy how) noexcept { how_ = how; }
    /// For one_differs: the number of the question that gets a drawn answer, and whether the others
    /// get the newest one.
    void set_different(u32 number, bool others_newest) noexcept {
        different_ = number;
        others_newest_ = others_newest;
    }

   private:
    policy how_;
    splitmix64 random_;
    u32 depth_ = 0;
    u32 different_ = 0;
    bool others_newest_ = true;
    std::vector<choice> steps_;
    std::map<u64, u32> told_;
};

}  // namespace hf::lab
