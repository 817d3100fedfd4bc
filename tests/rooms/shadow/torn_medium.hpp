// shadow/torn_medium.hpp (tests): lines of a medium, and every state that a power cut can leave.
//
// A store changes the cached line. The cache may write a line back at any time, so a crash leaves
// some version of each line: the newest that a flush and a later fence made durable, or a newer
// one. Stores to one line keep their order. A run stops at a chosen step by an exception, and each
// store, flush and fence is one step.
#pragma once

#include "base/bits.hpp"
#include "base/random.hpp"

#include <array>
#include <map>
#include <vector>

namespace hf::shadow::testing {

using line_content = std::array<u64, 8>;
using image = std::map<u64, line_content>;

struct power_cut {};

class torn_medium {
   public:
    explicit torn_medium(u64 steps_to_live = ~u64{0}) : left_(steps_to_live) {}

    [[nodiscard]] line_content load(u64 line) const {
        const auto at = lines_.find(line);
        return at == lines_.end() ? line_content{} : at->second.versions.back();
    }
    void store(u64 line, unsigned word, u64 value) {
        step();
        line_content next = load(line);
        next[word] = value;
        versions_of(line).versions.push_back(next);
    }
    void store_line(u64 line, const line_content& content) {
        // Eight stores of a word each: a crash may leave any number of them.
        for (unsigned w = 0; w < 8; ++w) store(line, w, content[w]);
    }
    void flush(u64 line) {
        step();
        state& s = versions_of(line);
        s.flushed = s.versions.size() - 1;
    }
    void fence() {
        step();
        for (auto& [line, s] : lines_) {
            s.versions.erase(s.versions.begin(),
                             s.versions.begin() + static_cast<std::ptrdiff_t>(s.flushed));
            s.flushed = 0;
        }
    }
    [[nodiscard]] image after_crash(xoshiro256ss& random) const {
        image left;
        for (const auto& [line, s] : lines_)
            left[line] = s.versions[random.below(s.versions.size())];
        return left;
    }
    [[nodiscard]] u64 steps() const noexcept { return taken_; }

   private:
    struct state {
        std::vector<line_content> versions{line_content{}};  ///< the first is durable
        std::size_t flushed = 0;                             ///< durable with the next fence
    };
    state& versions_of(u64 line) { return lines_[line]; }
    void step() {
        if (left_-- == 0) throw power_cut{};
        ++taken_;
    }
    std::map<u64, state> lines_;
    u64 left_;
    u64 taken_ = 0;
};

}  // namespace hf::shadow::testing
