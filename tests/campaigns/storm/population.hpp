// storm/population.hpp: keys and values whose states follow from a number, and the check of what
// readers see.
//
// Each key has one writer at a time, and its n-th write is version n: its contents follow from key
// and number, a removal or a value. A reader determines the versions that were finished before it
// began and those that had begun when it was done: it must have seen one of these.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test {

/// A version of a key.
struct state {
    bool present = false;
    std::size_t size = 0;
};

class population {
   public:
    /// `small`: most values are small enough to be inlined.
    explicit population(u32 keys, bool small = false);

    [[nodiscard]] u32 size() const noexcept { return static_cast<u32>(names_.size()); }
    [[nodiscard]] const std::string& name(u32 key) const { return names_[key]; }
    /// nullopt: not a key of this population.
    [[nodiscard]] std::optional<u32> find(std::string_view name) const;

    [[nodiscard]] state state_of(u32 key, u32 version) const;
    [[nodiscard]] std::string value_of(u32 key, u32 version) const;

    // --- for its writer ---
    /// The version to be written; readers may see it from now on.
    [[nodiscard]] u32 begin(u32 key);
    void done(u32 key, u32 version);
    [[nodiscard]] u32 newest(u32 key) const;

    // --- for readers ---
    struct known {
        u32 oldest;
    };
    [[nodiscard]] known before(u32 key) const;
    /// The violation if `seen` was read; nullopt: none.
    [[nodiscard]] std::optional<std::string> judge(u32 key, known k,
                                                   std::optional<std::string_view> seen) const;

    /// A crash has undone all later versions.
    void roll_back(const std::vector<u32>& versions);

   private:
    struct life {
        std::atomic<u32> begun{0};
        std::atomic<u32> done{0};
        u32 kept = 0;   ///< by the last crash; the versions between it and `first` are undone
        u32 first = 1;  ///< version after the last crash
    };

    [[nodiscard]] bool may_be(const life& l, u32 version, u32 oldest, u32 newest) const noexcept;

    bool small_;
    std::vector<std::string> names_;
    std::map<std::string, u32, std::less<>> numbers_;
    std::vector<life> lives_;
};

}  // namespace hf::test
