// tests/campaigns/kill/keys.hpp: the keys of a campaign, with all shapes that matter for a trie of
// B+ trees.
//
// A key's number is its rank in byte order. Each key has one owner, the only thread that writes it:
// its history is then a sequence, and the owner always knows the expected value. For some shapes
// owners alternate within nodes of the tree, for others they own whole ranges, so that nodes and
// layers become empty at times.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::kill_test {

class key_set {
   public:
    /// Deterministic. `count` is at least 64 for each owner.
    key_set(u64 seed, u32 count, u32 owners);

    [[nodiscard]] u32 size() const noexcept { return static_cast<u32>(keys_.size()); }
    [[nodiscard]] std::string_view operator[](u32 key) const noexcept { return keys_[key]; }
    [[nodiscard]] std::optional<u32> find(std::string_view bytes) const noexcept;

    /// In ascending order.
    [[nodiscard]] const std::vector<u32>& of(u32 owner) const noexcept { return owned_[owner]; }
    /// Keys that may get values of megabytes.
    [[nodiscard]] const std::vector<u32>& large_of(u32 owner) const noexcept {
        return large_[owner];
    }

   private:
    std::vector<std::string> keys_;
    std::vector<std::vector<u32>> owned_;
    std::vector<std::vector<u32>> large_;
};

/// For messages: readable keys unchanged, others in hexadecimal.
[[nodiscard]] std::string printable(std::string_view bytes);

}  // namespace hf::kill_test
