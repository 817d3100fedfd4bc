// targets/section/section_session.hpp: an open group of regions and the history that it must agree
// with.
//
// The group has a root object: an epoch word, words of data in lines of their own, and the head of
// a list of allocated nodes. Each epoch stores its number to the epoch word, so that the state that
// came back says which one it is.
#pragma once

#include "base/random.hpp"
#include "crashlab/targets/target.hpp"
#include "section/group.hpp"

#include <map>
#include <memory>
#include <vector>

namespace hf::lab {

inline constexpr unsigned section_words = 12;

/// The group's contents at the end of an epoch.
struct section_state {
    std::vector<u64> words = std::vector<u64>(section_words);
    std::vector<u64> nodes;  ///< payloads, from the head on
    friend bool operator==(const section_state&, const section_state&) = default;
};

class section_session {
   public:
    /// `history`: of all epochs so far, by number; the session adds its own.
    section_session(u64 seed, std::map<u64, section_state> history);

    /// A section that stores to `n` words, some of them in one line, some of them twice.
    void store(unsigned n);
    void push_node(u64 bytes);
    void pop_node();
    /// Ends the epoch with a cut.
    void cut();

    [[nodiscard]] const std::map<u64, section_state>& history() const { return history_; }
    /// Which epoch it came back at: throws violation where that is older than `announced`, unknown,
    /// or not what it was.
    void judge(u64 announced) const;
    [[nodiscard]] splitmix64& random() { return random_; }

   private:
    struct node {
        node* next;
        u64 payload;
    };
    struct root {
        alignas(line_size) u64 epoch;
        alignas(line_size) u64 words[section_words / 2][8];  ///< two to a line
        alignas(line_size) node* head;
    };
    [[nodiscard]] u64& word(unsigned i) const { return root_->words[i / 2][i % 2]; }
    [[nodiscard]] section_state now() const;
    void begin();

    std::map<u64, section_state> history_;
    splitmix64 random_;
    std::unique_ptr<section::thread_table> threads_;
    section::thread_record* me_;
    std::unique_ptr<section::group> group_;
    root* root_ = nullptr;
};

}  // namespace hf::lab
