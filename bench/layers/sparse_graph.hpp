// bench/layers/sparse_graph.hpp: the kernels of SSCA 2.2 (Bader, Madduri, "Design and
// Implementation of the HPCS Graph Analysis Benchmark on Symmetric Multiprocessors", HiPC 2005),
// using transactions.
//
//   1  builds the graph from a list of weighted edges, drawn by R-MAT (Chakrabarti, Zhan,
//      Faloutsos, 2004); the edges of each vertex are contiguous
//   2  finds the edges with the greatest weight
//   3  extracts the subgraph around each of them, up to a maximum distance
//   4  betweenness centrality: adds, for one vertex after the other, the contribution of its
//      shortest paths to all others (Brandes, "A Faster Algorithm for Betweenness Centrality",
//      2001). A step is one vertex.
//
// Scores are in units of 2^-20, so that sums do not depend on their order.
#pragma once

#include "bench/layers/workload.hpp"

#include <algorithm>
#include <atomic>

namespace hf::bench {

template <class On>
class sparse_graph {
   public:
    using tx = typename On::tx;
    using word = typename On::template p<u64>;
    struct arrays {
        typename On::template ptr<word[]> first;   ///< of each vertex, and the end
        typename On::template ptr<word[]> to;      ///< end of each edge
        typename On::template ptr<word[]> weight;  ///< of each edge
        typename On::template ptr<word[]> score;   ///< of each vertex
    };

    sparse_graph(typename On::heap& heap, const work_options& o)
        : heap_(heap),
          vertices_(std::bit_floor(std::max<u64>(o.elements, 2))),
          root_(must_give(heap.template root<arrays>("sparse graph"))) {}

    void make(u64 seed) {
        std::vector<weighted> all = draw_edges(seed);
        std::sort(all.begin(), all.end());
        must_give(heap_.atomic([&](tx& t) {
            const auto made = t.template make<arrays>();
            made->first.set(t, t.template make_array<word[]>(vertices_ + 1));
            made->to.set(t, t.template make_array<word[]>(all.size()));
            made->weight.set(t, t.template make_array<word[]>(all.size()));
            made->score.set(t, t.template make_array<word[]>(vertices_));
            root_.set(t, made);
        }));
        u64 edge = 0;
        for (u64 v = 0; v < vertices_; ++v) {
            must_give(heap_.atomic([&](tx& t) {
                u64 e = edge;
                word* const to = root_->to.get().first();
                word* const weight = root_->weight.get().first();
                for (; e < all.size() && all[e].from == v; ++e) {
                    to[e].set(t, all[e].to);
                    weight[e].set(t, all[e].weight);
                }
                root_->first.get().first()[v + 1].set(t, e);
            }));
            while (edge < all.size() && all[edge].from == v) ++edge;
        }
    }
    u64 step(xoshiro256ss&, const zipfian*) {
        const u64 source = next_.fetch_add(1, std::memory_order_relaxed) % vertices_;
        return must_give(heap_.atomic([&](tx& t) { return add_paths_from(t, source); }));
    }
    [[nodiscard]] u64 digest() {
        return must_give(heap_.read([&](tx&) -> u64 {
            u64 sum = 0;
            for (const u64 e : heaviest()) sum = mixed(sum, mixed(e, size_around(e)));
            const word* const score = root_->score.get().first();
            for (u64 v = 0; v < vertices_; ++v) sum = mixed(sum, score[v].get());
            return sum;
        }));
    }

   private:
    struct weighted {
        u64 from, to, weight;
        friend auto operator<=>(const weighted&, const weighted&) = default;
    };
    static constexpr u64 edges_of_each = 8;
    static constexpr u64 radius = 3;
    static constexpr double unit = 1 << 20;

    [[nodiscard]] std::vector<weighted> draw_edges(u64 seed) const {
        xoshiro256ss random(seed);
        std::vector<weighted> all(vertices_ * edges_of_each);
        for (weighted& w : all) {
            w.from = w.to = 0;
            for (u64 bit = vertices_ / 2; bit != 0; bit /= 2) {
                const double quarter = random.unit();  // .55, .1, .1, .25
                if (quarter >= 0.65) w.from |= bit;
                if ((quarter >= 0.55 && quarter < 0.65) || quarter >= 0.75) w.to |= bit;
            }
            w.weight = random.below(vertices_);
        }
        return all;
    }
    // --- kernel 2 ---
    [[nodiscard]] std::vector<u64> heaviest() const {
        const auto weights = root_->weight.get();
        std::vector<u64> found;
        u64 most = 0;
        for (u64 e = 0; e < weights.size(); ++e) {
            const u64 w = weights.first()[e];
            if (w > most) found.clear();
            most = std::max(most, w);
            if (w == most) found.push_back(e);
        }
        return found;
    }
    // --- kernel 3 ---
    [[nodiscard]] u64 size_around(u64 edge) const {
        const word* const first = root_->first.get().first();
        const word* const to = root_->to.get().first();
        std::vector<bool> seen(vertices_);
        std::vector<u64> ring{to[edge].get()};
        seen[ring[0]] = true;
        u64 size = 1;
        for (u64 d = 0; d < radius; ++d) {
            std::vector<u64> next;
            for (const u64 v : ring) {
                for (u64 e = first[v], end = first[v + 1]; e < end; ++e) {
                    const u64 w = to[e];
                    if (seen[w]) continue;
                    seen[w] = true;
                    next.push_back(w);
                }
            }
            size += next.size();
            ring = std::move(next);
        }
        return size;
    }
    // --- kernel 4 ---
    u64 add_paths_from(tx& t, u64 source) {
        const word* const first = root_->first.get().first();
        const word* const to = root_->to.get().first();
        constexpr u64 unseen = ~u64{0};
        std::vector<u64> depth(vertices_, unseen);
        std::vector<double> paths(vertices_);
        std::vector<u64> order{source};
        depth[source] = 0;
        paths[source] = 1;
        for (u64 i = 0; i < order.size(); ++i) {
            const u64 v = order[i];
            for (u64 e = first[v], end = first[v + 1]; e < end; ++e) {
                const u64 w = to[e];
                if (depth[w] == unseen) {
                    depth[w] = depth[v] + 1;
                    order.push_back(w);
                }
                if (depth[w] == depth[v] + 1) paths[w] += paths[v];
            }
        }
        std::vector<double> share(vertices_);
        word* const score = root_->score.get().first();
        for (u64 i = order.size(); i-- > 1;) {
            const u64 v = order[i];
            for (u64 e = first[v], end = first[v + 1]; e < end; ++e) {
                const u64 w = to[e];
                if (depth[w] == depth[v] + 1) share[v] += paths[v] / paths[w] * (1 + share[w]);
            }
            const auto more = static_cast<u64>(share[v] * unit);
            if (more != 0) score[v].set(t, score[v] + more);
        }
        return order.size();
    }

    typename On::heap& heap_;
    u64 vertices_;
    std::atomic<u64> next_{0};
    typename On::template root<arrays> root_;
};

}  // namespace hf::bench
