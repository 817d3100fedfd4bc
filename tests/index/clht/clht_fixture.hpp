// clht_fixture.hpp: a CLHT in a region on tmpfs, with real flushes, that can be opened again.
#pragma once

#include "alloc/swept/audit_view.hpp"
#include "index/clht/clht.hpp"
#include "must.hpp"
#include "scratch.hpp"

namespace hf::test {

/// Chunks and groups so small that few keys make it grow.
struct small_clht_shape {
    static constexpr unsigned chunk_bits = 3;
    static constexpr unsigned group_bits = 1;
    static constexpr unsigned frontier_groups = 1;
};

template <class D, class Keys, class Shape>
class clht_store {
   public:
    using index = clht<D, Keys, Shape>;

    explicit clht_store(std::filesystem::path file) : file_(std::move(file)) { open(); }

    void open(sweeping how = sweeping::at_opening) {
        eager_options o;
        o.region.kind = D::kind;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = u64{1} << 30;
        o.region.flush = flush_policy::always;
        o.sweep = how;
        const layout::room_format rooms[] = {index::format};
        space = must(eager_space::open(file_, o, rooms, [this](eager_space& s) -> result<void> {
            auto made = index::open(s, "table");
            if (!made) return tl::unexpected(made.error());
            table = std::move(*made);
            return {};
        }));
    }
    /// Closes it, in order or as a kill would, and opens it again.
    void open_again(bool in_order = true, sweeping how = sweeping::at_opening) {
        if (in_order) must(space->close());
        space.reset();
        table.reset();
        open(how);
    }
    /// "": nothing is wrong, and no block is lost. Nobody is at work, and the sweep is over.
    std::string audit() {
        space->grace().reclaim_all();
        const auto caches = space->grace().caches();
        audit_report report;
        swept::view books(space->heap(), caches);
        heap_audit all(space->file(), books, report);
        all.read_runs();
        all.read_free();
        table->audit(all);
        all.finish();
        return report.ok() ? "" : report.to_string();
    }

    using operation = typename index::operation;
    bool insert(typename index::key k, typename index::value v) {
        operation op(*space);
        return must(table->insert(op, k, v));
    }
    bool upsert(typename index::key k, typename index::value v) {
        operation op(*space);
        return must(table->upsert(op, k, v));
    }
    bool update(typename index::key k, typename index::value v) {
        operation op(*space);
        return must(table->update(op, k, v));
    }
    bool remove(typename index::key k) {
        operation op(*space);
        return table->remove(op, k);
    }
    template <class Value = typename index::value>
    auto get(typename index::key k) {
        using owned =
            std::conditional_t<std::is_same_v<Value, std::string_view>, std::string, Value>;
        std::optional<owned> seen;
        operation op(*space);
        table->get(op, k, [&](const auto& v) { seen = owned(v); });
        return seen;
    }

    std::unique_ptr<eager_space> space;
    std::unique_ptr<index> table;

   private:
    std::filesystem::path file_;
};

using integer_clht = clht_store<eager_discipline, integer_keys, small_clht_shape>;
using byte_clht = clht_store<eager_discipline, byte_keys, small_clht_shape>;

}  // namespace hf::test
