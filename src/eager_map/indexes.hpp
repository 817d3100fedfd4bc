// eager_map/indexes.hpp: one interface for all eager indexes.
//
// A region's root is named "<index>.<keys>" ("clht.bytes", "art.integers"). To add an index, add a
// line to for_index() and its name to index_names (engine.hpp).
#pragma once

#include "eager_map/engine.hpp"
#include "index/art/art.hpp"
#include "index/bwtree/bwtree.hpp"
#include "index/clht/clht.hpp"
#include "index/common/batch.hpp"
#include "index/common/get_piece.hpp"
#include "index/eager_masstree/eager_masstree.hpp"
#include "index/hot/hot.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

namespace hf::detail {

template <class Key>
struct keys_for;
template <>
struct keys_for<std::string_view> {
    using type = byte_keys;
    static constexpr std::string_view name = "bytes";
};
template <>
struct keys_for<u64> {
    using type = integer_keys;
    static constexpr std::string_view name = "integers";
};

[[nodiscard]] inline std::string root_name(std::string_view index, std::string_view keys) {
    return std::string(index) + "." + std::string(keys);
}

/// Calls work.template operator()<Index>() with the index type of that name.
template <class D, class Keys, class Work>
auto for_index(std::string_view name, Work&& work) {
    if (name == "bwtree") return work.template operator()<bwtree<D, Keys>>();
    if (name == "hot") return work.template operator()<hot<D, Keys>>();
    if (name == "masstree") return work.template operator()<eager_masstree<D, Keys>>();
    if (name == "art") return work.template operator()<art<D, Keys>>();
    return work.template operator()<clht<D, Keys>>();
}

/// The formats that a new region declares: those of all indexes. Its root's name tells which index
/// it holds.
template <class D, class Keys>
[[nodiscard]] inline std::array<layout::room_format, index_names.size()> formats_of_all() {
    std::array<layout::room_format, index_names.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = for_index<D, Keys>(index_names[i], []<class Index>() { return Index::format; });
    }
    return all;
}

template <class Index>
class engine_of final
    : public eager_engine<
          typename Index::key,
          std::conditional_t<std::is_same_v<typename Index::key, u64>, u64, std::string>> {
   public:
    using key = typename Index::key;
    using owned = std::conditional_t<std::is_same_v<key, u64>, u64, std::string>;
    using entry = typename eager_engine<key, owned>::entry;
    using run_visitor = typename eager_engine<key, owned>::run_visitor;
    using hit = typename eager_engine<key, owned>::hit;
    using run_of_hits = typename eager_engine<key, owned>::run_of_hits;
    using operation = typename Index::operation;

    ~engine_of() override { this->opened.reset(); }

    result<bool> insert(key k, key v) override {
        operation op(*this->opened);
        return index->insert(op, k, v);
    }
    result<u64> insert_many(std::span<const std::pair<key, key>> all) override {
        return hf::insert_many(*index, *this->opened, all);
    }
    result<bool> put(key k, key v) override {
        operation op(*this->opened);
        return index->upsert(op, k, v, ignore);
    }
    result<bool> update(key k, key v) override {
        operation op(*this->opened);
        return index->update(op, k, v, ignore);
    }
    bool remove(key k) override {
        operation op(*this->opened);
        return index->remove(op, k, ignore);
    }
    bool get(key k, owned& into) const override {
        const auto found = [&](const auto& v) { into = v; };
        if constexpr (requires { index->get(*this->opened, k, found); }) {
            return index->get(*this->opened, k, found);
        } else {
            operation op(*this->opened);
            return index->get(op, k, found);
        }
    }
    std::size_t get_runs(std::span<const key> keys, run_of_hits found, void* of) const override {
        std::size_t count = 0;
        std::array<hit, gets_at_once> run;  // NOLINT(*-member-init): filled by `there`
        for (std::size_t first = 0; first < keys.size(); first += gets_at_once) {
            const auto piece = keys.subspan(first, std::min(gets_at_once, keys.size() - first));
            std::size_t there = 0;
            // Byte strings point into records, which live until the operation ends.
            operation op(*this->opened);
            hf::get_piece(*index, op, piece,
                          [&](std::size_t i, key v) { run[there++] = {first + i, v}; });
            if (there != 0) found(of, run.data(), there);
            count += there;
        }
        return count;
    }
    void for_each(const std::function<void(key, key)>& visit) const override {
        index->for_each(*this->opened, visit);
    }
    [[nodiscard]] bool is_ordered() const noexcept override { return ordered_eager_index<Index>; }
    [[nodiscard]] u64 parts() const noexcept override {
        if constexpr (ordered_eager_index<Index>) {
            return 0;
        } else {
            return Index::parts;
        }
    }
    void for_each_in(u64 part, const std::function<void(key, key)>& visit) const override {
        if constexpr (!ordered_eager_index<Index>) {
            index->for_each_in(*this->opened, part, visit);
        }
    }
    [[nodiscard]] u64 scan(key from, u64 most, bool backwards,
                           const std::function<void(key, key)>& visit) const override {
        if constexpr (ordered_eager_index<Index>) {
            return backwards ? index->scan_back(*this->opened, from, most, visit)
                             : index->scan(*this->opened, from, most, visit);
        } else {
            return 0;
        }
    }
    [[nodiscard]] u64 scan_runs(key from, u64 most, bool backwards, run_visitor visit,
                                void* of) const override {
        if constexpr (!ordered_eager_index<Index>) {
            return 0;
        } else if constexpr (std::is_same_v<key, u64>) {
            std::array<entry, 64> run;  // NOLINT(*-member-init): filled by count
            std::size_t count = 0;
            const auto give = [&] { visit(of, run.data(), std::exchange(count, 0)); };
            const auto put = [&](key k, key v) {
                run[count++] = {k, v};
                if (count == run.size()) give();
            };
            try {
                const u64 found = backwards ? index->scan_back(*this->opened, from, most, put)
                                            : index->scan(*this->opened, from, most, put);
                give();
                return found;
            } catch (const damage&) {
                give();  // as in scan(), entries found before the damage are visited
                throw;
            }
        } else {
            // Keys and values point into records, which live until the scan's operation ends.
            const auto give = [&](key k, key v) {
                const entry e{k, v};
                visit(of, &e, 1);
            };
            return backwards ? index->scan_back(*this->opened, from, most, give)
                             : index->scan(*this->opened, from, most, give);
        }
    }
    [[nodiscard]] std::string_view name() const noexcept override { return Index::name; }
    void audit(heap_audit& a) const override { index->audit(a); }

    std::unique_ptr<Index> index;
};

}  // namespace hf::detail
