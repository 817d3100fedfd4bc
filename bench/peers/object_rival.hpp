// bench/peers/object_rival.hpp: one way to keep objects in a file and change them by transactions,
// whoever made it.
//
// The heap's benchmark (bench/heap) knows nothing else of Holdfast's heap and its rivals: one
// virtual call a transaction, the same for all. A rival is a module of its own, opened at run time,
// so that nothing of Holdfast links against it; it exports the two functions at the end.
//
// An operation that fails throws std::runtime_error: then there is no figure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace hf::bench {

/// What a transaction does. All are durable when they return, unless more may be in flight.
enum class object_work : std::uint8_t {
    nothing,    ///< begins and commits
    read,       ///< reads the field
    field,      ///< stores to the field of an object
    swap,       ///< swaps elements of a large array (SPS of the NV-heaps paper)
    tree,       ///< searches a B-tree; removes the key if it is there, and inserts it if not
    red_black,  ///< the same in a red-black tree
    hash,       ///< the same in a hash table
    cache,      ///< the same with values of 512 and keys of 16 bytes, in a hash table
};

struct object_options {
    std::filesystem::path directory;  ///< there, and its own
    std::uint64_t elements = 0;       ///< of the array, or about so many of the map
    std::uint64_t bytes = 0;          ///< that will do for them
    std::string variant;              ///< of who may be set up in several ways
    unsigned threads = 1;             ///< that toggle at once; not all can
    unsigned in_flight = 1;           ///< so many may not be durable yet; who can't waits for each
};

class object_rival {
   public:
    using pair = std::pair<std::uint64_t, std::uint64_t>;

    object_rival() = default;
    object_rival(const object_rival&) = delete;
    object_rival& operator=(const object_rival&) = delete;
    virtual ~object_rival() = default;

    [[nodiscard]] virtual bool does(object_work w) const = 0;
    /// Makes what `w` works on: an array whose element i is i, or an empty map. Once.
    virtual void prepare(object_work w) = 0;
    /// Inserts keys, in few large transactions where that is quicker.
    virtual void load(std::span<const std::uint64_t> keys) = 0;

    virtual void nothing() = 0;
    [[nodiscard]] virtual std::uint64_t read() = 0;
    virtual void set(std::uint64_t value) = 0;
    /// In one transaction.
    virtual void swap(std::span<const pair> which) = 0;
    /// The sum of the array's elements.
    [[nodiscard]] virtual std::uint64_t sum() = 0;
    /// Whether the key is there now.
    [[nodiscard]] virtual bool toggle(std::uint64_t key) = 0;

    /// Returns when all that was in flight is durable.
    virtual void settle() {}

    /// What it is and how it was set up, for the report.
    [[nodiscard]] virtual std::string settings() const = 0;
};

/// Goes up with every change of this header.
inline constexpr unsigned object_rival_interface = 3;

}  // namespace hf::bench

extern "C" {
unsigned hf_bench_rival_interface();
/// A new one, the caller's to delete; throws std::runtime_error.
hf::bench::object_rival* hf_bench_rival_open(const hf::bench::object_options& options);
}
