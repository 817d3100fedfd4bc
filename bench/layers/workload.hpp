// bench/layers/workload.hpp: the workloads of the NV-heaps paper (Coburn et al., ASPLOS 2011, table
// 2), each a template that runs on every layer (holdfast/nv/layers.hpp).
//
// With the same seed, one thread makes the same structure and the same requests on every layer, so
// step() and digest() return the same on all of them.
#pragma once

#include <holdfast/nv/layers.hpp>

#include "base/random.hpp"
#include "bench/zipfian.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

enum class layer_kind : u8 { base, safe, tx, c_tx, nodur };
[[nodiscard]] const std::vector<std::string>& layer_names();

/// The operation of a step.
enum class work_kind : u8 {
    sps,          ///< swaps elements of an array
    six_degrees,  ///< searches for a path of up to six edges, or inserts or removes an edge
    b_tree,       ///< searches for a key; removes it if it is there, inserts it if not
    hash_table,   ///< likewise
    red_black,    ///< likewise
    ssca,         ///< SSCA 2.2: betweenness of one vertex, the outer loop of the last kernel
    cache,        ///< memcached's load: inserts an item of 16 and 512 bytes, or deletes it
};
[[nodiscard]] const std::vector<std::string>& work_names();

struct work_options {
    layer_kind layer = layer_kind::c_tx;
    work_kind work = work_kind::sps;
    std::filesystem::path directory;     ///< of the region
    u64 elements = 0;                    ///< of the array; items; vertices
    u64 bytes = 0;                       ///< sufficient size of the region
    u64 swaps = 1;                       ///< for each step of sps
    u64 seed = 1;                        ///< of the structure
    std::uint32_t fence_latency_ns = 0;  ///< of the emulated medium
    std::optional<medium_kind> medium;   ///< nullopt: determined from the file
    nv::engine engine = nv::engine::redo;
};

class paper_work {
   public:
    paper_work() = default;
    paper_work(const paper_work&) = delete;
    paper_work& operator=(const paper_work&) = delete;
    virtual ~paper_work() = default;

    /// Whether several threads may call step().
    [[nodiscard]] virtual bool has_threads() const = 0;
    /// Creates the structure. Call once.
    virtual void make() = 0;
    /// Runs one operation and returns its result. Items are drawn from `skewed` if it is not
    /// nullptr.
    virtual u64 step(xoshiro256ss& random, const zipfian* skewed) = 0;
    /// A digest of the current contents.
    [[nodiscard]] virtual u64 digest() = 0;
    /// "", or the violations found by check().
    [[nodiscard]] virtual std::string complaints() = 0;
};

/// Throws std::runtime_error, as the operations of the result do.
[[nodiscard]] std::unique_ptr<paper_work> open_workload(const work_options& options);

/// The cost of a heap operation (table 1 of the paper), in nanoseconds.
struct operation_time {
    std::string operation;
    unsigned at_once;  ///< operations in a transaction
    double ns;
};
/// The median of `runs` runs of `rounds` transactions each. Uses only `directory`, `layer`,
/// `bytes`, `engine` and the latency.
[[nodiscard]] std::vector<operation_time> time_operations(const work_options& options, u64 rounds,
                                                          unsigned runs);

template <class T>
T must_give(tl::expected<T, error> r) {
    if (!r) throw std::runtime_error("holdfast: " + r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Draws one of `items` items.
[[nodiscard]] inline u64 draw(xoshiro256ss& random, const zipfian* skewed, u64 items) {
    if (skewed == nullptr) return random.below(items);
    splitmix64 scatter((*skewed)(random));
    return scatter() % items;
}
[[nodiscard]] inline u64 mixed(u64 sum, u64 more) { return splitmix64(sum ^ more)(); }

}  // namespace hf::bench
