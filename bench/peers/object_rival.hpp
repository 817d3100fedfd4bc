// bench/peers/object_rival.hpp: interface of a library that keeps objects in a file and changes
// them by transactions.
//
// The heap's benchmark (bench/heap) uses Holdfast's heap and its rivals only by this interface: one
// virtual call a transaction, the same for all. A rival is a module that is opened at run time, so
// that Holdfast does not link against it; it exports the two functions at the end.
//
// An operation that fails throws std::runtime_error; then no figure is reported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace hf::bench {

/// The work of a transaction. Transactions are durable when they return, unless more may be in
/// flight.
enum class object_work : std::uint8_t {
    nothing,    ///< begins and commits
    read,       ///< reads the field
    field,      ///< stores to the field of an object
    swap,       ///< swaps elements of a large array (SPS of the NV-heaps paper)
    value,      ///< overwrites one of many values of a fixed size
    tree,       ///< searches a B-tree; removes the key if it is there, otherwise inserts it
    red_black,  ///< likewise, in a red-black tree
    hash,       ///< likewise, in a hash table
    cache,      ///< likewise, in a hash table, with keys of 16 and values of 512 bytes
};

struct object_options {
    std::filesystem::path directory;  ///< exists; used by this rival only
    std::uint64_t elements = 0;       ///< of the array, or approximately of the map
    std::uint64_t bytes = 0;          ///< sufficient size of the file
    std::string variant;              ///< of a rival with several configurations
    unsigned threads = 1;             ///< that toggle concurrently; not supported by all
    /// commits that may not be durable yet; a rival without support waits for each
    unsigned in_flight = 1;
    std::uint64_t value_bytes = 0;  ///< of a value; a multiple of 64
};

class object_rival {
   public:
    using pair = std::pair<std::uint64_t, std::uint64_t>;

    object_rival() = default;
    object_rival(const object_rival&) = delete;
    object_rival& operator=(const object_rival&) = delete;
    virtual ~object_rival() = default;

    [[nodiscard]] virtual bool does(object_work w) const = 0;
    /// Creates the structure for `w`: an array whose element i is i, or an empty map. Call once.
    virtual void prepare(object_work w) = 0;
    /// Inserts keys, in few large transactions if that is faster.
    virtual void load(std::span<const std::uint64_t> keys) = 0;

    virtual void nothing() = 0;
    [[nodiscard]] virtual std::uint64_t read() = 0;
    virtual void set(std::uint64_t value) = 0;
    /// In one transaction.
    virtual void swap(std::span<const pair> which) = 0;
    /// Stores `word` to each word of value number `which`.
    virtual void overwrite(std::uint64_t which, std::uint64_t word) = 0;
    /// The last word of value number `which`.
    [[nodiscard]] virtual std::uint64_t last_word(std::uint64_t which) = 0;
    /// The sum of the array's elements.
    [[nodiscard]] virtual std::uint64_t sum() = 0;
    /// Removes or inserts the key. True: it is there now.
    [[nodiscard]] virtual bool toggle(std::uint64_t key) = 0;

    /// Waits until all transactions in flight are durable.
    virtual void settle() {}

    /// The library's version and configuration, for the report.
    [[nodiscard]] virtual std::string settings() const = 0;
};

/// Increment with every change of this header.
inline constexpr unsigned object_rival_interface = 4;

}  // namespace hf::bench

extern "C" {
unsigned hf_bench_rival_interface();
/// A new rival, which the caller must delete; throws std::runtime_error.
hf::bench::object_rival* hf_bench_rival_open(const hf::bench::object_options& options);
}
