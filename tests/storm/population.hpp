// storm/population.hpp: keys and values whose every state follows from a number, and who may see
// which.
//
// Each key has one writer at a time, and its n-th write is version n: what that is follows from key
// and number alone, a removal or a value. A reader knows which versions were finished before it
// began and which had begun when it was done: it must have seen one of these.
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::test {

/// What a version of a key is.
struct state {
    bool present = false;
    std::size_t size = 0;
};

class population {
   public:
    /// `small`: most values are of those that leaves may have in themselves.
    explicit population(u32 keys, bool small = false);

    [[nodiscard]] u32 size() const noexcept { return static_cast<u32>(names_.size()); }
    [[nodiscard]] const std::string& name(u32 key) const { return names_[key]; }
    /// nullopt: no key of this population.
    [[nodiscard]] std::optional<u32> find(std::string_view name) const;

    [[nodiscard]] state state_of(u32 key, u32 version) const;
    [[nodiscard]] std::string value_of(u32 key, u32 version) const;

    // --- its writer ---
    /// The version that is to be written; it may be seen from now on.
    [[nodiscard]] u32 begin(u32 key);
    void done(u32 key, u32 version);
    [[nodiscard]] u32 newest(u32 key) const;

    // --- readers ---
    struct known {
        u32 oldest;
    };
    [[nodiscard]] known before(u32 key) const;
    /// What is wrong with having seen this; nullopt: nothing.
    [[nodiscard]] std::optional<std::string> judge(u32 key, known k,
                                                   std::optional<std::string_view> seen) const;

    /// A crash took back what came after these versions.
    void roll_back(const std::vector<u32>& versions);

   private:
    struct life {
        std::atomic<u32> begun{0};
        std::atomic<u32> done{0};
        u32 kept = 0;   ///< by the last crash; what came between it and `first` is gone
        u32 first = 1;  ///< version after the last crash
    };

    [[nodiscard]] bool may_be(const life& l, u32 version, u32 oldest, u32 newest) const noexcept;

    bool small_;
    std::vector<std::string> names_;
    std::map<std::string, u32, std::less<>> numbers_;
    std::vector<life> lives_;
};

}  // namespace hf::test
