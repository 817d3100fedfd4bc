// holdfast/options.hpp: how a region is opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hf {

/// Where the region's bytes end up (docs/region.md).
enum class medium_kind : std::uint8_t {
    dax = 1,   ///< persistent memory, mapped with MAP_SYNC: cache-line write-back + fence
    eadr = 2,  ///< persistent memory whose power-fail domain holds the caches: fence only
    shm = 3,   ///< tmpfs: survives the process, not the power
    file = 4,  ///< an ordinary file system: a redo journal, written at each epoch's end
};

/// How the bytes in a region are kept consistent. Written into the superblock at creation.
enum class discipline : std::uint8_t {
    transient = 1,    ///< nothing survives; the yardstick
    logged = 2,       ///< checkpointing with the external log only (the paper's LOGGING)
    incll = 3,        ///< checkpointing with in-cache-line logs (the paper's INCLL)
    snapshot = 4,     ///< memory of the user's own, whose changed pages are found (snapshot.hpp)
    transaction = 5,  ///< what transactions have committed (transaction.hpp)
    eager = 6,        ///< indexes that are durable with every operation (docs/eager.md)
    section = 7,      ///< a cut between the outermost critical sections of a program (section.h)
};

[[nodiscard]] std::string_view to_string(medium_kind m) noexcept;
[[nodiscard]] std::string_view to_string(discipline d) noexcept;

/// Whether cache lines are really written back. `automatic`: as the medium needs (shm: not at all).
enum class flush_policy : std::uint8_t { automatic, always, never };

enum class open_mode : std::uint8_t {
    open_or_create,
    open_existing,
    create_new,
    inspect,  ///< read-only: a private copy-on-write mapping; nothing on the medium changes
};

struct region_options {
    open_mode mode = open_mode::open_or_create;
    std::uint64_t initial_size = std::uint64_t{64}
                                 << 20;  ///< bytes, at creation; rounded up to 64 KiB
    /// Bytes; 0: the whole window (1 TiB). A 64th of it, or 1 MiB, if that is more and less than a
    /// sixteenth, is left to what is written to undo changes: neither does a region begin with more
    /// than the rest, nor does its heap grow there.
    std::uint64_t max_size = 0;
    std::uint64_t memory = 0;  ///< on the medium `file`: bytes that pages which were written to may
                               ///< take; 0: half of the machine's, or of the control group's limit
    /// Set by what opens the region (map, snapshot, checkpointed): what they are given is ignored.
    discipline kind = discipline::incll;
    std::optional<medium_kind> medium;  ///< nullopt: found from the file
    flush_policy flush = flush_policy::automatic;
    std::uint32_t fence_latency_ns = 0;  ///< emulated latency after each fence, 0 to 1,000 ns
    std::uint64_t first_epoch = 1;       ///< at creation; for tests of wrap-around
    /// At creation: the region is mapped at the same address each time, so that its contents may
    /// hold ordinary pointers into it. Opening it for writing fails where that address is taken
    /// (errc::busy: by another region, a copy for example) or not to be had (errc::incompatible).
    bool keep_address = false;
    /// At creation of a region that keeps its address: the window that it takes, 0 to 15; nullopt:
    /// the first that is free. Regions that are to be open together need different ones.
    std::optional<unsigned> window;
};

struct map_options {
    region_options region;
    /// incll: durable with the epoch. eager: durable with every write; on an ordinary disk with the
    /// epoch. nullopt: what the region has, incll for a new one.
    std::optional<discipline> kind;
    /// Of discipline eager: one of eager_index_names() (eager.hpp). "": what the region has, "clht"
    /// for a new one.
    std::string index;
    std::chrono::microseconds epoch =
        std::chrono::milliseconds(64);  ///< 1 ms to 10 s; 0: only sync() ends it
    /// Most bytes of ordinary memory for hints about where keys are, which save the way down the
    /// tree and are lost with the process. They need a sixteenth to an eighth of the region's size.
    /// 0: none; nullopt: an eighth of region.memory, or of what that stands for.
    std::optional<std::uint64_t> hint_memory;
    /// Of a new map of discipline incll: whether values of up to eight bytes under keys of up to
    /// eight lie in the leaves of the tree, without a record. Such a map takes less memory and time
    /// for them, and a little more for others. One that is there says itself how it was made.
    /// errc::usage where eager is asked for.
    bool small_values_in_leaves = false;
    /// Whether reads compare the checksum of what they find with what they were asked for. Without
    /// it a value that was damaged is given as it is. Writes look at what they replace, and
    /// `holdfast check` at everything, in any case.
    bool verify_reads = true;
};

}  // namespace hf
