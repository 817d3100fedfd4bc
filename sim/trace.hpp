// sim/trace.hpp: traces of memory accesses in a file: written, checked and replayed.
//
// Purpose. A trace is made by one program and simulated again and again, also elsewhere:
//
//     auto out = sim::trace_writer::create(file, pages);  // a sink
//     ... run ...  out->finish();
//     sim::replay_trace(file, machine);
//
// Bytes, little endian (docs/shadow_paging.md has the same table):
//
//   header, 32   | "HFTRACE\n" | version, 4 | cores, 4 | pages, 8 | checksum of the 24 before, 8 |
//   block        | bytes, 4 | events, 4 | checksum of the payload, seeded with the block's number |
//   payload      per event a head byte, and for accesses the address as a difference
//   last block   0 bytes, 0 events, checksum = number of all events xor that of an empty payload
//
//   head byte    kind in bits 0-2 (load, store, begin, commit, abort, shootdown), core in 3-4,
//                log2 of the bytes in 5-6 (1, 2, 4, 8); bit 7: an odd size follows as a varint
//   address      zigzag varint of its difference to the core's last address
//
// A block has up to 64 KiB, and is simulated only after its checksum was found right.
//
// Bad input. A file that is no trace, of another version, cut short, or damaged is refused with an
// error that says which: corrupt (with the block and its offset) or incompatible (with both
// versions). A file that ends without the last block is "cut short".
#pragma once

#include <holdfast/result.hpp>

#include "sim/sink.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

namespace hf::sim {

inline constexpr u32 trace_version = 1;

struct trace_header {
    u32 version = trace_version;
    u32 cores = 1;
    u64 pages = 0;  ///< persistent ones
};

class trace_writer final : public sink {
   public:
    /// errc::io, denied: the file cannot be created.
    [[nodiscard]] static result<std::unique_ptr<trace_writer>> create(
        const std::filesystem::path& file, u32 cores, u64 pages);
    /// Writes to a stream, which must outlive it.
    trace_writer(std::ostream& out, std::string name, u32 cores, u64 pages);

    bool load(unsigned core, u64 address, unsigned bytes) override;
    bool store(unsigned core, u64 address, unsigned bytes) override;
    void begin(unsigned core) override;
    void commit(unsigned core) override;
    void abort(unsigned core) override;
    void shootdown(u64 address) override;

    /// Writes the last block. Without it the file counts as cut short.
    [[nodiscard]] result<void> finish();
    [[nodiscard]] u64 events() const noexcept { return all_events_; }

   private:
    void access(unsigned kind, unsigned core, u64 address, unsigned bytes);
    void put_head(unsigned kind, unsigned core, unsigned more);
    void put_varint(u64 value);
    void put_address(unsigned core, u64 address);
    void end_event();
    void write_block();

    std::unique_ptr<std::ofstream> file_;
    std::ostream* out_;
    std::string name_;
    std::vector<std::byte> payload_;
    std::array<u64, 4> last_{};
    u32 events_ = 0;
    u64 all_events_ = 0;
    u64 block_ = 0;
};

struct trace_summary {
    trace_header header;
    u64 events = 0;
    u64 blocks = 0;
};

/// The header alone.
[[nodiscard]] result<trace_header> read_trace_header(const std::filesystem::path& file);
/// Passes all events to `to`. After an error `to` has got those of the whole blocks before it.
[[nodiscard]] result<trace_summary> replay_trace(const std::filesystem::path& file, sink& to);
/// Replays from a stream; `name` is for errors.
[[nodiscard]] result<trace_summary> replay_trace(std::istream& in, const std::string& name,
                                                 sink& to);

}  // namespace hf::sim
