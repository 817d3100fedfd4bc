// explore/choices.hpp: the choice made for each possibly volatile thing in one run.
//
// A run calls choose() whenever it reads something possibly volatile (a line, the file's length). A
// repeated run with the same answers asks the same questions. So a run is identified by its
// answers, and next() enumerates all of them depth first. Other policies answer by themselves.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"
#include "base/random.hpp"

#include <map>
#include <vector>

namespace hf::lab {

enum class policy : u8 {
    all,          ///< depth first, every combination
    oldest,       ///< always the first answer: nothing reached the medium
    newest,       ///< always the last answer: everything did
    one_differs,  ///< all newest, or all oldest, except one
    random,
    replay,  ///< the given answers; others are answered with the first
};

struct choice {
    u64 what = 0;  ///< a line's number, or one of the constants below
    u32 chosen = 0;
    u32 count = 0;
};

/// The question about a file's length; about its name.
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
    /// Replays these answers.
    explicit choices(const std::vector<choice>& told) : how_(policy::replay), random_(0) {
        for (const choice& c : told) told_[c.what] = c.chosen;
    }

    [[nodiscard]] u32 choose(u64 what, u32 count);

    /// Number of questions asked in this run so far.
    [[nodiscard]] u32 depth() const noexcept { return depth_; }
    [[nodiscard]] const std::vector<choice>& steps() const noexcept { return steps_; }
    /// Restarts the run after its first `keep` answers.
    void rewind(u32 keep) noexcept { depth_ = keep; }
    /// Discards all answers after the first `keep`.
    void cut(u32 keep) {
        steps_.resize(keep);
        depth_ = keep;
    }
    /// Selects the next combination of the answers after the first `keep`, and rewinds. False:
    /// there is none.
    [[nodiscard]] bool next(u32 keep);
    /// From here on `how` answers new questions.
    void set_policy(policy how) noexcept { how_ = how; }
    /// For one_differs: the number of the question with a random answer, and whether the others
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
