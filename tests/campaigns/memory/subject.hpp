// tests/campaigns/memory/subject.hpp: a structure in a region, as the matrix of freed memory uses
// it.
#pragma once

#include <holdfast/options.hpp>

#include "base/bits.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace hf::test {

/// How the memory of a group becomes free.
enum class freed_by { same_thread, living_thread, ended_thread, sweeper };

struct setting {
    std::string kind;  ///< "incll", "inlined", an eager index, or "heap"
    freed_by by = freed_by::same_thread;
    u64 initial_size = 0;
    u64 max_size = 0;
    medium_kind medium = medium_kind::shm;
};

/// The numbers first, first + step, ... below `end`.
struct numbers {
    unsigned end;
    unsigned first;
    unsigned step;

    numbers(unsigned e, unsigned f = 0, unsigned s = 1) : end(e), first(f), step(s) {}
};

/// Records, or objects, in numbered groups.
class subject {
   public:
    subject() = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    /// Adds a record of `size` bytes to a group. False: there is no room. Another error fails the
    /// test.
    [[nodiscard]] virtual bool add(unsigned group, unsigned number, std::size_t size) = 0;
    /// Frees these records of a group, by the calling thread. A heap frees all of them.
    virtual void free_group(unsigned group, numbers which) = 0;
    /// Makes the records of group 1 garbage, and frees it as the structure's sweeper does. Only if
    /// the setting says `sweeper`.
    virtual void sweep() = 0;
    /// Fails the test unless these records of a group, of this size, are sound.
    virtual void expect_group(unsigned group, numbers which, std::size_t size) = 0;
    /// Ends the running epoch, if the structure has epochs.
    virtual void end_epoch() = 0;
    [[nodiscard]] virtual u64 region_bytes() = 0;
};

[[nodiscard]] std::unique_ptr<subject> make_map_subject(const std::filesystem::path& file,
                                                        const setting& s);
/// Sizes: 1000, 4000 and 12000.
[[nodiscard]] std::unique_ptr<subject> make_heap_subject(const std::filesystem::path& file,
                                                         const setting& s);

}  // namespace hf::test
