// bench/shadow/structure.hpp: the paper's structures on the traced heap, with keys by number.
#pragma once

#include "base/bits.hpp"
#include "sim/sink.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hf::bench {

enum class shadow_work : u8 { sps, hash_table, red_black, b_tree };
[[nodiscard]] const std::vector<std::string>& shadow_work_names();

/// One structure, of one thread.
class traced_structure {
   public:
    traced_structure() = default;
    traced_structure(const traced_structure&) = delete;
    traced_structure& operator=(const traced_structure&) = delete;
    virtual ~traced_structure() = default;

    /// Keys are below it. About half of them are there; of sps all elements.
    [[nodiscard]] virtual u64 keys() const = 0;
    /// A transaction of one operation on each key: inserts it, or removes it if it is there; of
    /// sps a swap of each two.
    virtual void transaction(const std::vector<u64>& keys) = 0;
    virtual void trace_to(sim::sink* to, unsigned core) = 0;
    /// Pages of 4 KiB that the heap has, used or not.
    [[nodiscard]] virtual u64 pages() const = 0;
    [[nodiscard]] virtual u64 used_bytes() const = 0;
};

/// Makes a structure of about `bytes` bytes. `node_bytes`: of the b_tree: 384, 512 or 4096. Throws
/// std::exception where memory does not suffice, std::invalid_argument for another size.
[[nodiscard]] std::unique_ptr<traced_structure> make_structure(shadow_work work, u64 bytes,
                                                               unsigned node_bytes, u64 seed);

}  // namespace hf::bench
