// crashlab/seeded/rack.hpp: a persistent set for threads, each operation of which is durable when
// it returns; it can be built wrong in ways that only the trace's operations show.
//
// On the medium, in a region's first segment, every item a line:
//
//   | turns | table 0: keys | table 1: keys |
//
// Invariants.
//  R1 A key is in the set when it is in table turns % 2.
//  R2 An insertion returns when its key is durable; a reader makes durable what it has seen.
//
// Concurrency. One lock for those who write. move() copies all keys to the other table, makes them
// durable, counts the turn, and clears the old table. Readers take no lock: they look through the
// table, and begin again when a turn has been counted meanwhile.
#pragma once

#include <holdfast/crashlab/rules.hpp>
#include <holdfast/crashlab/target.hpp>

#include "region/region.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace hf::lab::seeded {

enum class rack_bug : u8 {
    none,
    early_return,       ///< an insertion returns while its key is in flight
    early_unlock,       ///< the lock is given back while a turn is in flight; readers don't help
    early_publication,  ///< a turn is counted before the copies are durable
    unvalidated_read,   ///< a reader does not look whether a turn has been counted
};
[[nodiscard]] std::string_view to_string(rack_bug b) noexcept;

class rack {
   public:
    static constexpr unsigned capacity = 8;

    /// Opens the lab's region, or creates it with an empty rack.
    explicit rack(rack_bug b);

    [[nodiscard]] bool contains(u64 key) const;
    void insert(u64 key);
    void move();

   private:
    struct alignas(line_size) item {
        std::atomic<u64> value;
    };
    struct contents {
        item turns;
        item tables[2][capacity];
    };

    void persist(item& i, u64 value) const;

    rack_bug bug_;
    std::unique_ptr<region> region_;
    contents* there_ = nullptr;
    std::mutex mutex_;
};

/// One thread inserts, one reads, one moves; all of them are operations of the trace.
[[nodiscard]] target_description rack_case(rack_bug b);
[[nodiscard]] const lint_rules& rack_rules();

}  // namespace hf::lab::seeded
