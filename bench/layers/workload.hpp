// bench/layers/workload.hpp: the workloads of the NV-heaps paper (Coburn et al., ASPLOS 2011,
// table 2), each of them one template that runs on every layer (holdfast/nv/layers.hpp).
//
// The same seed makes the same structure and asks the same things, so on every layer one thread
// gets the same answers: step() and digest() tell them.
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

/// What a step does.
enum class work_kind : u8 {
    sps,          ///< swaps elements of an array
    six_degrees,  ///< searches a path of up to six edges, or inserts or removes an edge
    b_tree,       ///< searches a key; removes it if it is there, inserts it if not
    hash_table,   ///< the same
    red_black,    ///< the same
    ssca,         ///< SSCA 2.2: betweenness by one vertex, the last kernel's outer loop
    cache,        ///< memcached's load: an item of 16 and 512 bytes is inserted, or deleted
};
[[nodiscard]] const std::vector<std::string>& work_names();

struct work_options {
    layer_kind layer = layer_kind::c_tx;
    work_kind work = work_kind::sps;
    std::filesystem::path directory;     ///< there
    u64 elements = 0;                    ///< of the array; items; vertices
    u64 bytes = 0;                       ///< that will do
    u64 swaps = 1;                       ///< a step of sps
    u64 seed = 1;                        ///< of the structure
    std::uint32_t fence_latency_ns = 0;  ///< of the medium that is played
    std::optional<medium_kind> medium;   ///< nullopt: found from the file
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
    /// Makes the structure. Once.
    virtual void make() = 0;
    /// One operation; what it answered. Items are drawn by `skewed` where it isn't nullptr.
    virtual u64 step(xoshiro256ss& random, const zipfian* skewed) = 0;
    /// Of all that is there now.
    [[nodiscard]] virtual u64 digest() = 0;
    /// "", or what check() has against the heap.
    [[nodiscard]] virtual std::string complaints() = 0;
};

/// Throws std::runtime_error, as its operations do.
[[nodiscard]] std::unique_ptr<paper_work> open_workload(const work_options& options);

/// What one operation of the heap costs (table 1 of the paper), in nanoseconds.
struct operation_time {
    std::string operation;
    unsigned at_once;  ///< in a transaction
    double ns;
};
/// The median of so many runs; each `rounds` transactions. Only `directory`, `layer`, `bytes`,
/// `engine` and latency count.
[[nodiscard]] std::vector<operation_time> time_operations(const work_options& options, u64 rounds,
                                                          unsigned runs);

template <class T>
T must_give(tl::expected<T, error> r) {
    if (!r) throw std::runtime_error("holdfast: " + r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// The next item of so many.
[[nodiscard]] inline u64 draw(xoshiro256ss& random, const zipfian* skewed, u64 items) {
    if (skewed == nullptr) return random.below(items);
    splitmix64 scatter((*skewed)(random));
    return scatter() % items;
}
[[nodiscard]] inline u64 mixed(u64 sum, u64 more) { return splitmix64(sum ^ more)(); }

}  // namespace hf::bench
