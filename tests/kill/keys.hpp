// tests/kill/keys.hpp: the keys of a campaign, of all shapes that a trie of B+ trees minds.
//
// A key's number is its rank in the order of the bytes. Each key has one owner, the only thread
// that writes it: its history is then a sequence, and the owner always knows what it must read.
// Owners alternate within nodes of the tree for some shapes, and have whole ranges for themselves
// for others, so that nodes and layers are emptied now and then.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::kill_test {

class key_set {
   public:
    /// The same for the same arguments. `count` is at least 64 a owner.
    key_set(u64 seed, u32 count, u32 owners);

    [[nodiscard]] u32 size() const noexcept { return static_cast<u32>(keys_.size()); }
    [[nodiscard]] std::string_view operator[](u32 key) const noexcept { return keys_[key]; }
    [[nodiscard]] std::optional<u32> find(std::string_view bytes) const noexcept;

    /// In ascending order.
    [[nodiscard]] const std::vector<u32>& of(u32 owner) const noexcept { return owned_[owner]; }
    /// Those that may get values of megabytes.
    [[nodiscard]] const std::vector<u32>& large_of(u32 owner) const noexcept {
        return large_[owner];
    }

   private:
    std::vector<std::string> keys_;
    std::vector<std::vector<u32>> owned_;
    std::vector<std::vector<u32>> large_;
};

/// For messages: as it is where it is readable, else in hexadecimal.
[[nodiscard]] std::string printable(std::string_view bytes);

}  // namespace hf::kill_test
