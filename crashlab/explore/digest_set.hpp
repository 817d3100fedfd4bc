// explore/digest_set.hpp: counts distinct images. Open addressing, 8 bytes a slot.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::lab {

class digest_set {
   public:
    digest_set() : slots_(std::size_t{1} << 16) {}

    /// False: the digest was present.
    bool insert(u64 digest) {
        if (digest == 0) digest = 1;
        if (2 * (size_ + 1) > slots_.size()) grow();
        u64& slot = slot_of(slots_, digest);
        if (slot == digest) return false;
        slot = digest;
        ++size_;
        return true;
    }
    [[nodiscard]] u64 size() const noexcept { return size_; }

   private:
    static u64& slot_of(std::vector<u64>& slots, u64 digest) noexcept {
        std::size_t i = digest & (slots.size() - 1);
        while (slots[i] != 0 && slots[i] != digest) i = (i + 1) & (slots.size() - 1);
        return slots[i];
    }
    void grow() {
        std::vector<u64> larger(slots_.size() * 2);
        for (const u64 d : slots_) {
            if (d != 0) slot_of(larger, d) = d;
        }
        slots_.swap(larger);
    }

    std::vector<u64> slots_;
    u64 size_ = 0;
};

}  // namespace hf::lab
