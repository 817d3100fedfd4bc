// bench/layers/six_degrees.hpp: SixDegs: is there a path of at most six edges between two vertices
// of a large scale-free graph? Every second step inserts or removes an edge.
//
// A vertex is owned by the array of all vertices; an edge is owned by its first vertex, and refers
// to the other by a weak pointer, since edges form cycles. A new edge ends at a vertex with a
// probability proportional to its degree (Barabási, Albert, "Emergence of Scaling in Random
// Networks", Science 1999).
#pragma once

#include "bench/layers/workload.hpp"

#include <array>

namespace hf::bench {

template <class On>
class six_degrees {
   public:
    using tx = typename On::tx;
    struct edge;
    struct vertex {
        typename On::template p<u64> number;
        typename On::template ptr<edge> edges;
    };
    struct edge {
        typename On::template weak<vertex> to;
        typename On::template ptr<edge> next;
    };
    using vertices = typename On::template ptr<vertex>[];
    using place = typename On::template cursor<vertex>;

    six_degrees(typename On::heap& heap, const work_options& o)
        : heap_(heap),
          elements_(o.elements),
          root_(must_give(heap.template root<vertices>("graph"))) {}

    void make(u64 seed) {
        must_give(
            heap_.atomic([&](tx& t) { root_.set(t, t.template make_array<vertices>(elements_)); }));
        for (u64 v = 0; v < elements_; ++v) {
            must_give(
                heap_.atomic([&](tx& t) { root_.get()[v].set(t, t.template make<vertex>(v)); }));
        }
        xoshiro256ss random(seed);
        std::vector<u64> ends{0};  // each vertex once, and once more for each edge that ends there
        for (u64 v = 1; v < elements_; ++v) {
            for (unsigned i = 0; i < edges_of_new; ++i) {
                const u64 other = ends[random.below(ends.size())];
                if (other == v) continue;
                (void)toggle(v, other);
                ends.push_back(other);
            }
            ends.push_back(v);
        }
    }
    u64 step(xoshiro256ss& random, const zipfian* skewed) {
        const u64 a = draw(random, skewed, elements_);
        const u64 b = draw(random, skewed, elements_);
        if (random.below(2) == 0) return a == b ? 0 : toggle(a, b);
        return must_give(heap_.atomic([&](tx&) { return distance(a, b); }));
    }
    [[nodiscard]] u64 digest() {
        return must_give(heap_.read([&](tx&) -> u64 {
            u64 sum = 0;
            for (u64 v = 0; v < elements_; ++v) {
                for (auto e = root_.get()[v]->edges.get(); e; e = e->next.get()) {
                    sum += splitmix64(v * elements_ + e->to.get()->number)();
                }
            }
            return sum;
        }));
    }

   private:
    static constexpr unsigned edges_of_new = 3;
    static constexpr u64 far = 6;

    /// Inserts or removes the edge, in both directions. True: it is there now.
    u64 toggle(u64 a, u64 b) {
        return must_give(heap_.atomic([&](tx& t) -> u64 {
            const place from = root_.get()[a].get();
            const place to = root_.get()[b].get();
            const bool was = remove(t, from, to);
            if (was) {
                (void)remove(t, to, from);
            } else {
                add(t, from, to);
                add(t, to, from);
            }
            return was ? 0 : 1;
        }));
    }
    static void add(tx& t, const place& from, const place& to) {
        const auto e = t.template make<edge>();
        e->to.set(t, to);
        e->next.set(t, from->edges.get());
        from->edges.set(t, e);
    }
    static bool remove(tx& t, const place& from, const place& to) {
        for (auto* link = std::addressof(from->edges); *link;) {
            const auto e = link->get();
            if (e->to.get() == to) {
                link->set(t, e->next.get());
                if constexpr (On::counts) e->to.set(t, nullptr);
                On::template dispose<edge>(t, e);
                return true;
            }
            link = std::addressof(e->next);
        }
        return false;
    }
    /// Length of the shortest path; 0: it is longer than the limit.
    u64 distance(u64 a, u64 b) {
        std::vector<bool> seen(elements_);
        std::vector<place> ring{root_.get()[a].get()};
        seen[a] = true;
        for (u64 d = 1; d <= far && !ring.empty(); ++d) {
            std::vector<place> next;
            for (const place& v : ring) {
                for (auto e = v->edges.get(); e; e = e->next.get()) {
                    const place w = e->to.get();
                    const u64 number = w->number;
                    if (number == b) return d;
                    if (seen[number]) continue;
                    seen[number] = true;
                    next.push_back(w);
                }
            }
            ring = std::move(next);
        }
        return 0;
    }

    typename On::heap& heap_;
    u64 elements_;
    typename On::template root<vertices> root_;
};

}  // namespace hf::bench
