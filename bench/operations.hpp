// bench/operations.hpp: streams of operations, generated before the clock starts.
//
// An operation has four bytes: its kind and the record. All random numbers are drawn before the
// measurement; the measured loop only loads the operation and scrambles the key (three
// multiplications), the same for every discipline.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace hf::bench {

enum class action : u8 { get = 0, put = 1, scan = 2 };

inline constexpr unsigned record_bits = 30;
inline constexpr u64 most_records = u64{1} << record_bits;
inline constexpr unsigned scan_length = 10;      ///< records of a scan (Cohen et al., section 6)
inline constexpr std::size_t keys_at_once = 16;  ///< maximum keys of a get_many()

class step {
   public:
    step(action what, u64 record) noexcept
        : word_(static_cast<u32>(what) << record_bits | static_cast<u32>(record)) {}
    [[nodiscard]] action what() const noexcept { return static_cast<action>(word_ >> record_bits); }
    [[nodiscard]] u64 record() const noexcept { return word_ & (most_records - 1); }

   private:
    u32 word_;
};

using stream = std::vector<step>;

/// Scrambles a record's number into its key: different numbers have different keys, and neighbours
/// are far apart.
[[nodiscard]] constexpr u64 key_of(u64 record) noexcept {
    u64 z = record + 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

enum class workload : u8 { a, b, c, e, load };
enum class distribution : u8 { uniform, zipfian };

[[nodiscard]] std::string_view to_string(workload w) noexcept;
[[nodiscard]] std::string_view to_string(distribution d) noexcept;
[[nodiscard]] std::optional<workload> workload_of(std::string_view name) noexcept;
[[nodiscard]] std::optional<distribution> distribution_of(std::string_view name) noexcept;

struct stream_shape {
    workload kind = workload::a;
    distribution spread = distribution::uniform;
    u64 records = 0;
    u64 operations = 0;  ///< of each thread
    unsigned threads = 1;
};

/// One stream for each thread. A: half puts; B: 5 % puts; C: gets; E: scans. A hash scatters
/// Zipfian ranks over the records, as in YCSB. `load`: every record once, divided among the
/// threads.
[[nodiscard]] std::vector<stream> make_streams(const stream_shape& shape, u64 seed);

}  // namespace hf::bench
