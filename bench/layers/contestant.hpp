// bench/layers/contestant.hpp: who takes part in a measurement of the paper's workloads: a layer
// with its storage, or a peer.
#pragma once

#include "bench/heap/own_rival.hpp"
#include "bench/layers/options.hpp"
#include "bench/layers/workload.hpp"

#include <vector>

namespace hf::bench {

struct entry_of_figure {
    std::string who;      ///< "base" ... "nodur", "c-tx undo", a peer, "malloc"
    std::string storage;  ///< "dram", "sttm", "pcm": played on tmpfs; "disk"
};

/// One of them, at work; what it leaves behind goes with it.
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
    /// "", or what is wrong with what it has made.
    [[nodiscard]] std::string complaints();

    /// Whether somebody can do it: peers lack some.
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

/// A directory of its own, and what of the options such a contestant needs.
[[nodiscard]] work_options work_options_for(const layer_bench_options& o,
                                            const entry_of_figure& who, work_kind work, u64 swaps);

}  // namespace hf::bench
