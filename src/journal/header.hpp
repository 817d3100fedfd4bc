// journal/header.hpp: the two slots of a journal's header.
#pragma once

#include "journal/block_file.hpp"
#include "journal/format.hpp"

namespace hf::journal {

/// The contents of the header.
struct header_facts {
    identity who;
    u64 segment_bytes = 0;
    u64 serial = 0;
    u64 base_epoch = 0;
    position oldest;
    u64 segments = 0;  ///< of the file when this was written
};

/// Writes to the slot given by the serial's lowest bit. Does not sync.
[[nodiscard]] result<void> write_header(block_file& file, const header_facts& facts);
/// Reads the newer of the valid slots. errc::corrupt if none is valid, incompatible if it is of
/// another version.
[[nodiscard]] result<header_facts> read_header(block_file& file);

}  // namespace hf::journal
