// bench/recipe/work.hpp: the workloads of RECIPE's evaluation (Lee et al., SOSP 2019, section 7),
// drawn before the clock starts.
//
// The letters are YCSB's, as used by RECIPE's driver: A and B insert new keys. YCSB's original
// versions, which overwrite, are A-update and B-update. D reads the newest records, E scans 1 to
// 100 records, F reads a record and writes it back. `miss` searches for absent keys.
//
// A thread inserts record numbers of its own, so no insert finds its key there. It reads records
// that were loaded before the measurement (in D also its own inserts).
#pragma once

#include "bench/operations.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

/// In the order of measurement: workloads with more inserts come later.
enum class recipe_load : u8 { load, c, miss, b_update, a_update, f, b, d, e, a };
[[nodiscard]] std::string_view to_string(recipe_load w) noexcept;
[[nodiscard]] std::optional<recipe_load> recipe_load_of(std::string_view name) noexcept;
/// Names, separated by commas.
[[nodiscard]] std::string recipe_load_names();

enum class recipe_keys : u8 { integer, string };
[[nodiscard]] std::string_view to_string(recipe_keys k) noexcept;
[[nodiscard]] std::optional<recipe_keys> recipe_keys_of(std::string_view name) noexcept;

enum class deed : u8 { get, get_absent, insert, update, modify, scan };

inline constexpr std::size_t string_key_bytes = 24;
inline constexpr unsigned most_scanned = 100;
inline constexpr u64 most_recipe_records = u64{1} << 28;

class recipe_step {
   public:
    recipe_step(deed what, u64 record) noexcept
        : word_(static_cast<u32>(what) << 29 | static_cast<u32>(record)) {}
    [[nodiscard]] deed what() const noexcept { return static_cast<deed>(word_ >> 29); }
    [[nodiscard]] u64 record() const noexcept { return word_ & ((u32{1} << 29) - 1); }
    /// The number of the record, or one that never exists.
    [[nodiscard]] u64 number() const noexcept {
        constexpr u64 absent = u64{1} << 40;
        return key_of(record() | (what() == deed::get_absent ? absent : 0));
    }
    [[nodiscard]] u64 scan_length() const noexcept { return 1 + record() % most_scanned; }

   private:
    u32 word_;
};

/// The work of a thread. String keys are stored in the order of the steps, as in RECIPE's driver.
struct recipe_work {
    std::vector<recipe_step> steps;
    std::string keys;  ///< string_key_bytes each; empty: integer keys

    /// The bytes of an integer key are big-endian, so that they sort as the numbers do. `scratch`
    /// stores them.
    [[nodiscard]] std::string_view bytes_of(std::size_t i, u64& scratch) const noexcept {
        if (!keys.empty()) return {keys.data() + i * string_key_bytes, string_key_bytes};
        scratch = __builtin_bswap64(steps[i].number());
        return {reinterpret_cast<const char*>(&scratch), sizeof(scratch)};
    }
};

/// A value identifies its key: it is the key plus one plus less than `values_of_key`.
inline constexpr u64 values_of_key = 1024;
[[nodiscard]] inline u64 mark_of_key(std::string_view key) noexcept {
    u64 mark = 0;
    std::memcpy(&mark, key.data() + key.size() - sizeof(mark), sizeof(mark));
    return mark;
}
[[nodiscard]] inline u64 mark_of_key(u64 key) noexcept { return key; }

struct recipe_shape {
    recipe_load kind = recipe_load::load;
    distribution spread = distribution::uniform;
    recipe_keys keys = recipe_keys::integer;
    u64 loaded = 0;      ///< records that may be read
    u64 there = 0;       ///< new records have numbers from here on
    u64 operations = 0;  ///< of all threads together
    unsigned threads = 1;
};

/// Work for each thread. `load` inserts the records from `there` on.
[[nodiscard]] std::vector<recipe_work> make_recipe_work(const recipe_shape& shape, u64 seed);
/// The number of inserted records.
[[nodiscard]] u64 inserts_of(const std::vector<recipe_work>& all) noexcept;

}  // namespace hf::bench
