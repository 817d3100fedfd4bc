// crashlab/seeded/shelf.hpp: a small persistent set whose every insertion is durable at once, for
// two threads; it can be built so that one of them acts upon what the other has not made durable.
//
// On the medium, in a region's first segment, every item a line:
//
//   | in_use: 0 or 1 | table 0: keys | table 1: keys |
//
// Invariants.
//  S1 A key is in the set when it is in the table that in_use names.
//  S2 An insertion returns when its key is durable, and so is in_use.
//
// Concurrency. One lock in ordinary memory for both operations. move() copies all keys to the other
// table, makes them durable, and turns in_use to it.
//
// The mistake (that of P-CLHT's resizing): the lock is given back when in_use has been stored, and
// before it is durable. An insertion then goes to the new table, and a crash goes back to the old.
#pragma once

#include "crashlab/targets/target.hpp"
#include "region/region.hpp"

#include <memory>
#include <mutex>

namespace hf::lab::seeded {

enum class shelf_bug : u8 {
    none,
    early_unlock,         ///< S2 does not hold
    early_unlock_helped,  ///< it does: an insertion makes in_use durable before its key
};
[[nodiscard]] std::string_view to_string(shelf_bug b) noexcept;

class shelf {
   public:
    static constexpr unsigned capacity = 8;

    /// Opens the lab's region, or creates it with an empty shelf.
    explicit shelf(shelf_bug b);

    [[nodiscard]] bool contains(u64 key) const;
    void insert(u64 key);
    void move();

   private:
    struct alignas(line_size) item {
        u64 value;
    };
    struct contents {
        item in_use;
        item tables[2][capacity];
    };

    void persist(item& i, u64 value) const;

    shelf_bug bug_;
    std::unique_ptr<region> region_;
    contents* on_medium_ = nullptr;
    std::mutex mutex_;
};

/// One thread inserts keys, each announced by its number; the other moves them.
[[nodiscard]] target_description shelf_case(shelf_bug b);

}  // namespace hf::lab::seeded
