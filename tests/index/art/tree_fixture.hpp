// A space with one ART in it, in memory or in a file of the test's, and a model beside it.
#pragma once

#include "alloc/swept/audit_view.hpp"
#include "index/art/art.hpp"
#include "must.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hf::art_test {

/// A space and its tree, however they came about.
template <class D, class Keys>
struct tree_parts {
    using tree = art<D, Keys>;
    using operation = typename D::operation;
    using key = typename Keys::key;
    using kept = std::conditional_t<std::is_same_v<key, u64>, u64, std::string>;

    bool insert(const kept& k, const kept& v) {
        operation op(*space);
        return test::must(index->insert(op, k, v));
    }
    bool upsert(const kept& k, const kept& v) {
        operation op(*space);
        return test::must(index->upsert(op, k, v));
    }
    bool update(const kept& k, const kept& v) {
        operation op(*space);
        return test::must(index->update(op, k, v));
    }
    bool remove(const kept& k) {
        operation op(*space);
        return index->remove(op, k);
    }
    [[nodiscard]] std::optional<kept> get(const kept& k) const {
        operation op(*space);
        std::optional<kept> found;
        index->get(op, k, [&](const auto& v) { found = kept(v); });
        return found;
    }
    using entries = std::vector<std::pair<kept, kept>>;
    [[nodiscard]] entries scan(const kept& from, u64 most) const {
        entries found;
        const u64 n = index->scan(*space, from, most, [&](const auto& k, const auto& v) {
            found.emplace_back(kept(k), kept(v));
        });
        EXPECT_EQ(n, found.size());
        return found;
    }
    [[nodiscard]] entries scan_back(const kept& from, u64 most) const {
        entries found;
        index->scan_back(*space, from, most, [&](const auto& k, const auto& v) {
            found.emplace_back(kept(k), kept(v));
        });
        return found;
    }
    [[nodiscard]] entries all() const {
        entries found;
        index->for_each(
            *space, [&](const auto& k, const auto& v) { found.emplace_back(kept(k), kept(v)); });
        return found;
    }
    [[nodiscard]] audit_report audit() const {
        audit_report report;
        const auto caches = space->grace().caches();
        swept::view books(space->heap(), caches);
        heap_audit a(space->file(), books, report);
        a.read_runs();
        a.read_free();
        index->audit(a);
        space->grace().each_retired([&](u64 offset) {
            if (const auto place = a.locate(offset, 0)) a.claim(*place, "what is retired", 0);
        });
        a.finish();
        return report;
    }

    std::unique_ptr<eager_space> space;
    std::unique_ptr<tree> index;
};

template <class D, class Keys>
struct tree_in_memory : tree_parts<D, Keys> {
    explicit tree_in_memory(u64 bytes = u64{64} << 20) {
        eager_options o;
        o.region.kind = D::kind;
        o.region.flush = flush_policy::always;
        o.region.max_size = u64{1} << 30;
        this->space = test::must(
            eager_space::create_volatile(bytes, o, [this](eager_space& s) -> result<void> {
                auto made = art<D, Keys>::open(s, "art");
                if (!made) return tl::unexpected(made.error());
                this->index = std::move(*made);
                return {};
            }));
    }
};

using eager_numbers = tree_in_memory<eager_discipline, integer_keys>;
using eager_bytes = tree_in_memory<eager_discipline, byte_keys>;
using transient_numbers = tree_in_memory<eager_transient_discipline, integer_keys>;
using transient_bytes = tree_in_memory<eager_transient_discipline, byte_keys>;

}  // namespace hf::art_test
