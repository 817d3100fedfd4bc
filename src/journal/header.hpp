// journal/header.hpp: the two slots of a journal's header.
#pragma once

#include "journal/block_file.hpp"
#include "journal/format.hpp"

namespace hf::journal {

/// What the header says.
struct header_facts {
    identity who;
    u64 segment_bytes = 0;
    u64 serial = 0;
    u64 base_epoch = 0;
    position oldest;
    u64 segments = 0;  ///< that the file had when this was written
};

/// Into the slot that the serial's lowest bit names. Not synced.
[[nodiscard]] result<void> write_header(block_file& file, const header_facts& facts);
/// The newer of the valid slots. errc::corrupt when there is none, incompatible when it is of
/// another version.
[[nodiscard]] result<header_facts> read_header(block_file& file);

}  // namespace hf::journal
