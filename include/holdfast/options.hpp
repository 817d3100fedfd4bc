// holdfast/options.hpp: how a region is opened.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hf {

/// The durable storage of a region (docs/region.md).
enum class medium_kind : std::uint8_t {
    dax = 1,   ///< persistent memory, mapped with MAP_SYNC: cache-line write-back + fence
    eadr = 2,  ///< persistent memory whose power-fail domain holds the caches: fence only
    shm = 3,   ///< tmpfs: survives the process, not the power
    file = 4,  ///< an ordinary file system: a redo journal, written at each epoch's end
};

/// Where a region's stores go (docs/region.md, section Image).
enum class image_kind : std::uint8_t {
    automatic = 0,  ///< journalled on the medium `file` and for snapshots, shared otherwise
    shared = 1,     ///< to the region's file, which is mapped
    /// To memory of this process. The lines changed in an epoch reach the file at its end, through
    /// a redo journal beside it. On any medium; the only choice on `file`.
    journalled = 2,
};

/// How the bytes in a region are kept consistent. Written into the superblock at creation.
enum class discipline : std::uint8_t {
    transient = 1,    ///< volatile; a baseline for benchmarks
    logged = 2,       ///< checkpointing with the external log only (the paper's LOGGING)
    incll = 3,        ///< checkpointing with in-cache-line logs (the paper's INCLL)
    snapshot = 4,     ///< user memory whose changed pages are detected (snapshot.hpp)
    transaction = 5,  ///< objects changed by transactions (transaction.hpp)
    eager = 6,        ///< indexes whose every operation is durable (docs/eager.md)
    section = 7,      ///< a cut between the outermost critical sections of a program (section.h)
    plain = 8,        ///< user memory changed by transactions of plain stores (plain.hpp)
};

[[nodiscard]] std::string_view to_string(medium_kind m) noexcept;
[[nodiscard]] std::string_view to_string(image_kind i) noexcept;
[[nodiscard]] std::string_view to_string(discipline d) noexcept;

/// Whether cache lines are written back. `automatic`: as the medium needs it (shm: never).
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
    /// Maximum size in bytes; 0: the whole window (1 TiB). A reserve for undo logs is part of it: a
    /// 64th of it, or 1 MiB if that is more, but at most a sixteenth. Neither the initial size nor
    /// the growth of the heap may use the reserve.
    std::uint64_t max_size = 0;
    std::uint64_t memory = 0;  ///< of a journalled image: limit in bytes for dirty pages in memory;
                               ///< 0: half of the machine's, or of the control group's limit
    /// Set by the opener (map, snapshot, checkpointed); a caller's value is ignored.
    discipline kind = discipline::incll;
    std::optional<medium_kind> medium;  ///< nullopt: detected from the file
    /// Chosen at each open; the region's contents are the same. errc::medium: shared on `file`.
    image_kind image = image_kind::automatic;
    flush_policy flush = flush_policy::automatic;
    std::uint32_t fence_latency_ns = 0;  ///< emulated latency after each fence, 0 to 1,000 ns
    std::uint64_t first_epoch = 1;       ///< at creation; for tests of counter wrap-around
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
    /// incll: writes are durable with their epoch. eager: durable when they return (on an ordinary
    /// disk: with their epoch). nullopt: the region's own discipline, or incll for a new region.
    std::optional<discipline> kind;
    /// For the discipline eager: one of eager_index_names() (eager.hpp). Empty: the region's own,
    /// or "clht" for a new region.
    std::string index;
    std::chrono::microseconds epoch =
        std::chrono::milliseconds(64);  ///< 1 ms to 10 s; 0: only sync() ends it
    /// Limit in bytes for hints: volatile memory that maps keys to leaves, so that an operation
    /// need not descend the tree. Useful up to a sixteenth or an eighth of the region's size.
    /// 0: no hints; nullopt: an eighth of region.memory or of its default.
    std::optional<std::uint64_t> hint_memory;
    /// For a new map of discipline incll: store values of up to eight bytes, under keys of up to
    /// eight bytes, in the tree's leaves and not in records. Such values then take less memory and
    /// time, others slightly more. An existing map keeps its setting. errc::usage with eager.
    bool small_values_in_leaves = false;
    /// Verify the checksum of each record that is read. If false, a corrupt value may be returned
    /// as it is. Writes verify the records that they replace, and `holdfast check` verifies all, in
    /// any case.
    bool verify_reads = true;
};

}  // namespace hf
