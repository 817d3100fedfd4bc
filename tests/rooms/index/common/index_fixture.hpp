// Fixtures with an eager index in memory or in a file. The headers beside this one contain the
// tests shared by all indexes. Each index's own directory instantiates them, and contains the tests
// specific to it.
#pragma once

#include "index/common/audited.hpp"
#include "index/common/batch.hpp"
#include "index/common/found_of_many.hpp"
#include "index/common/get_piece.hpp"
#include "index/common/index.hpp"
#include "index/common/threads.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace hf::test {

/// A space and its index, created by a derived class.
template <class Index>
struct index_parts {
    using tree = Index;
    static constexpr bool is_ordered = ordered_eager_index<Index>;
    /// nodes that remain after the last key was removed
    static constexpr u64 keeps_when_empty = 0;
    using operation = typename Index::operation;
    using key = typename Index::key;
    using kept = std::conditional_t<std::is_same_v<key, u64>, u64, std::string>;

    bool insert(const kept& k, const kept& v) {
        operation op(*space);
        return must(index->insert(op, k, v));
    }
    bool upsert(const kept& k, const kept& v) {
        operation op(*space);
        return must(index->upsert(op, k, v));
    }
    bool update(const kept& k, const kept& v) {
        operation op(*space);
        return must(index->update(op, k, v));
    }
    bool remove(const kept& k) {
        operation op(*space);
        return index->remove(op, k);
    }
    [[nodiscard]] std::optional<kept> get(const kept& k) const {
        std::optional<kept> found;
        const auto keep = [&](const auto& v) { found = kept(v); };
        // An index may have two implementations of get; a thread uses them alternately.
        static thread_local bool is_other_way = false;
        is_other_way = !is_other_way;
        if constexpr (requires { index->get(*space, k, keep); }) {
            if (is_other_way) {
                index->get(*space, k, keep);
                return found;
            }
        }
        operation op(*space);
        index->get(op, k, keep);
        return found;
    }
    [[nodiscard]] std::vector<std::optional<kept>> get_many(const std::vector<kept>& keys) const {
        const std::vector<key> views(keys.begin(), keys.end());
        return found_of_many<kept>(keys.size(), [&](const auto& keep) {
            for (std::size_t first = 0; first < views.size(); first += gets_at_once) {
                const std::size_t count = std::min(gets_at_once, views.size() - first);
                operation op(*space);
                hf::get_piece(*index, op, std::span(views).subspan(first, count),
                              [&](std::size_t i, const auto& v) { keep(first + i, v); });
            }
        });
    }
    using entries = std::vector<std::pair<kept, kept>>;
    u64 insert_many(const entries& all) {
        const std::vector<batch_entry<Index>> views(all.begin(), all.end());
        return must(hf::insert_many(*index, *space, std::span(views)));
    }
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
        const u64 n = index->scan_back(*space, from, most, [&](const auto& k, const auto& v) {
            found.emplace_back(kept(k), kept(v));
        });
        EXPECT_EQ(n, found.size());
        return found;
    }
    /// All entries in key order, sorted here if the index is unordered.
    [[nodiscard]] entries all() const {
        entries found;
        index->for_each(
            *space, [&](const auto& k, const auto& v) { found.emplace_back(kept(k), kept(v)); });
        if constexpr (!is_ordered) std::sort(found.begin(), found.end());
        return found;
    }
    [[nodiscard]] audit_report audit() const { return audited(*space, *index); }
    void expect_sound() const {
        const auto report = audit();
        EXPECT_TRUE(report.ok()) << report.to_string();
    }

    std::unique_ptr<eager_space> space;
    std::unique_ptr<tree> index;
};

template <class Index, discipline Kind>
struct index_in_memory : index_parts<Index> {
    explicit index_in_memory(u64 bytes = u64{64} << 20) {
        eager_options o;
        o.region.kind = Kind;
        o.region.flush = flush_policy::always;
        o.region.max_size = u64{1} << 30;
        this->space =
            must(eager_space::create_volatile(bytes, o, [this](eager_space& s) -> result<void> {
                auto made = Index::open(s, Index::name);
                if (!made) return tl::unexpected(made.error());
                this->index = std::move(*made);
                return {};
            }));
    }
};

template <class Index>
struct index_in_file : index_parts<Index> {
    explicit index_in_file(std::filesystem::path path, u64 most = u64{1} << 30)
        : file(std::move(path)), most_bytes(most) {
        must(open());
    }
    [[nodiscard]] result<void> open(sweeping how = sweeping::at_opening) {
        eager_options o;
        o.region.kind = discipline::eager;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = most_bytes;
        o.region.flush = flush_policy::always;
        o.sweep = how;
        const layout::room_format rooms[] = {Index::format};
        auto made = eager_space::open(file, o, rooms, [this](eager_space& s) -> result<void> {
            auto t = Index::open(s, Index::name);
            if (!t) return tl::unexpected(t.error());
            this->index = std::move(*t);
            return {};
        });
        if (!made) return tl::unexpected(made.error());
        this->space = std::move(*made);
        return {};
    }
    /// Opens the file again without closing it, as after a kill.
    void open_again(sweeping how = sweeping::at_opening) {
        this->space.reset();
        this->index.reset();
        must(open(how));
    }

    std::filesystem::path file;
    u64 most_bytes;
};

/// The types for one index template.
template <template <class, class> class Index>
struct family {
    using eager_numbers = index_in_memory<Index<eager_discipline, integer_keys>, discipline::eager>;
    using eager_bytes = index_in_memory<Index<eager_discipline, byte_keys>, discipline::eager>;
    using transient_numbers = index_in_memory<Index<eager_transient_discipline, integer_keys>,
                                              eager_transient_discipline::kind>;
    using transient_bytes = index_in_memory<Index<eager_transient_discipline, byte_keys>,
                                            eager_transient_discipline::kind>;
    using durable = ::testing::Types<eager_numbers, eager_bytes>;
    using all = ::testing::Types<eager_numbers, eager_bytes, transient_numbers, transient_bytes>;
    using numbers_in_file = index_in_file<Index<eager_discipline, integer_keys>>;
    using bytes_in_file = index_in_file<Index<eager_discipline, byte_keys>>;
};

}  // namespace hf::test
