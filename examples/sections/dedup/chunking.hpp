// examples/sections/dedup/chunking.hpp: a stream with repetitions, and its cutting into chunks.
//
// Rolling hash: the sum of a table's entries of the last 64 bytes, each shifted left by its age
// (the gear hash). A chunk ends where the hash's top 13 bits are zero, after 8 KiB on average, and
// has 1 to 64 KiB. So equal stretches of the stream give equal chunks wherever they lie.
//
// Literature. Xia et al., "Ddelta: A deduplication-inspired fast delta compression approach",
// Performance Evaluation 2014, for the gear hash.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace example {

/// Pseudo-random text, of which about half has been there before. Each run gives the same text.
class repetitive_stream {
   public:
    explicit repetitive_stream(std::uint64_t bytes) : left_(bytes), pool_(pool_bytes) {
        // Letters of a small alphabet: there is something to compress.
        for (unsigned char& c : pool_) c = static_cast<unsigned char>('a' + random_() % 16);
    }
    /// Appends up to 64 KiB. False: the stream has ended.
    bool read(std::vector<unsigned char>& into) {
        if (left_ == 0) return false;
        const std::uint64_t n = left_ < piece_bytes ? left_ : piece_bytes;
        left_ -= n;
        if (random_() % 2 == 0) {  // from the pool
            const std::size_t at = random_() % (pool_bytes - piece_bytes);
            into.insert(into.end(), pool_.begin() + static_cast<long>(at),
                        pool_.begin() + static_cast<long>(at + n));
            return true;
        }
        for (std::uint64_t i = 0; i < n; ++i) {
            into.push_back(static_cast<unsigned char>('a' + random_() % 16));
        }
        return true;
    }

   private:
    static constexpr std::size_t pool_bytes = 1 << 20;
    static constexpr std::size_t piece_bytes = 1 << 16;
    std::minstd_rand random_{4711};
    std::uint64_t left_;
    std::vector<unsigned char> pool_;
};

class rolling_cutter {
   public:
    rolling_cutter() {
        std::mt19937_64 random(1);
        for (std::uint64_t& g : gear_) g = random();
    }
    /// The next chunk; empty: the stream has ended.
    std::vector<unsigned char> next(repetitive_stream& from) {
        std::uint64_t hash = 0;
        for (std::size_t i = 0;; ++i) {
            if (i == buffer_.size() && !from.read(buffer_)) return cut(i);
            hash = (hash << 1) + gear_[buffer_[i]];
            if (i + 1 >= least && (hash >> 51) == 0) return cut(i + 1);
            if (i + 1 == most) return cut(i + 1);
        }
    }

   private:
    static constexpr std::size_t least = 1 << 10;
    static constexpr std::size_t most = 1 << 16;
    std::vector<unsigned char> cut(std::size_t n) {
        const auto end = buffer_.begin() + static_cast<long>(n);
        std::vector<unsigned char> chunk(buffer_.begin(), end);
        buffer_.erase(buffer_.begin(), end);
        return chunk;
    }
    std::array<std::uint64_t, 256> gear_{};
    std::vector<unsigned char> buffer_;
};

}  // namespace example
