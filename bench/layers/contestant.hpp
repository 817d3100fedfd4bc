// bench/layers/contestant.hpp: a participant in the paper's workloads: a layer with its storage, or
// a peer.
#pragma once

#include "bench/heap/own_rival.hpp"
#include "bench/layers/options.hpp"
#include "bench/layers/workload.hpp"

#include <vector>

namespace hf::bench {

struct entry_of_figure {
    std::string who;      ///< "base" ... "nodur", "c-tx undo", a peer, "malloc"
    std::string storage;  ///< "dram", "sttm", "pcm": emulated on tmpfs; "disk"
};

/// A running contestant; the destructor removes its files.
class layer_contestant {
   public:
    layer_contestant(const layer_bench_options& o, entry_of_figure who, work_kind work, u64 swaps);
    layer_contestant(layer_contestant&&) noexcept = default;
    layer_contestant& operator=(layer_contestant&&) noexcept = default;
    ~layer_contestant();

    [[nodiscard]] const entry_of_figure& name() const noexcept { return name_; }
    [[nodiscard]] bool has_threads() const;
    void make();
    void step(xoshiro256ss& random, const zipfian* skewed);
    /// "", or the violations in its structure.
    [[nodiscard]] std::string complaints();

    /// Whether the contestant supports the workload: peers lack some.
    [[nodiscard]] static bool does(const entry_of_figure& who, work_kind work);

   private:
    entry_of_figure name_;
    work_kind work_;
    u64 swaps_;
    u64 elements_ = 0;
    u64 seed_ = 0;
    std::filesystem::path directory_;
    std::unique_ptr<paper_work> own_;
    std::unique_ptr<object_rival> peer_;
    std::vector<object_rival::pair> places_;
};

/// The contestant's options, with a new directory.
[[nodiscard]] work_options work_options_for(const layer_bench_options& o,
                                            const entry_of_figure& who, work_kind work, u64 swaps);

}  // namespace hf::bench
