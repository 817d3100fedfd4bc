// An index as the room has it compiled, for the tests of all indexes (tests/rooms/index/common):
// the same calls as those of an index_in_memory, and no index is instantiated a second time.
#pragma once

#include "eager_map/engine.hpp"
#include "index/common/audited.hpp"
#include "index/common/found_of_many.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hf::test {

template <class Kept>
class index_in_room {
   public:
    using kept = Kept;
    using entries = std::vector<std::pair<kept, kept>>;
    static constexpr bool is_ordered = true;

    index_in_room(const char* name, bool transient) {
        eager_map_options o;
        o.index = name;
        o.transient = transient;
        o.region.initial_size = u64{1} << 20;
        o.region.max_size = u64{1} << 30;
        o.region.flush = flush_policy::always;
        engine_ = must(detail::open_engine<key, kept>(dir_ / "index.hf", o));
        EXPECT_TRUE(engine_->is_ordered());
    }

    bool insert(const kept& k, const kept& v) { return must(engine_->insert(k, v)); }
    bool upsert(const kept& k, const kept& v) { return must(engine_->put(k, v)); }
    bool update(const kept& k, const kept& v) { return must(engine_->update(k, v)); }
    bool remove(const kept& k) { return engine_->remove(k); }
    u64 insert_many(const entries& all) {
        const std::vector<std::pair<key, key>> views(all.begin(), all.end());
        return must(engine_->insert_many(views));
    }
    [[nodiscard]] std::optional<kept> get(const kept& k) const {
        std::optional<kept> found(std::in_place);
        if (!engine_->get(k, *found)) found.reset();
        return found;
    }
    [[nodiscard]] std::vector<std::optional<kept>> get_many(const std::vector<kept>& keys) const {
        const std::vector<key> views(keys.begin(), keys.end());
        return found_of_many<kept>(keys.size(),
                                   [&](const auto& keep) { engine_->get_many(views, keep); });
    }
    [[nodiscard]] entries scan(const kept& from, u64 most) const {
        return scanned(from, most, false);
    }
    [[nodiscard]] entries scan_back(const kept& from, u64 most) const {
        return scanned(from, most, true);
    }
    [[nodiscard]] entries all() const {
        entries found;
        engine_->for_each([&](key k, key v) { found.emplace_back(kept(k), kept(v)); });
        return found;
    }
    [[nodiscard]] audit_report audit() const { return audited(engine_->space(), *engine_); }
    void expect_sound() const {
        const auto report = audit();
        EXPECT_TRUE(report.ok()) << report.to_string();
    }

   private:
    using key = std::conditional_t<std::is_same_v<kept, u64>, u64, std::string_view>;

    [[nodiscard]] entries scanned(const kept& from, u64 most, bool backwards) const {
        entries found;
        const u64 n = engine_->scan(from, most, backwards,
                                    [&](key k, key v) { found.emplace_back(kept(k), kept(v)); });
        EXPECT_EQ(n, found.size());
        return found;
    }

    scratch_directory dir_;
    std::unique_ptr<detail::eager_engine<key, kept>> engine_;
};

/// Which index; and how many inner nodes may stay after their leaves were removed.
struct art_in_room {
    static constexpr const char* name = "art";
    static constexpr u64 keeps = 40;  // roots of long ways, until something grows there
};
struct hot_in_room {
    static constexpr const char* name = "hot";
    static constexpr u64 keeps = 0;
};
struct bwtree_in_room {
    static constexpr const char* name = "bwtree";
    static constexpr u64 keeps = 16;
};
struct masstree_in_room {
    static constexpr const char* name = "masstree";
    static constexpr u64 keeps = 40;  // the first ones of all levels, of each layer
};

template <class Index, class Kept, bool transient>
struct room_index : index_in_room<Kept> {
    static constexpr u64 keeps_when_empty = Index::keeps;
    room_index() : index_in_room<Kept>(Index::name, transient) {}
};

template <class Index>
struct room_family {
    using eager_numbers = room_index<Index, u64, false>;
    using eager_bytes = room_index<Index, std::string, false>;
    using transient_numbers = room_index<Index, u64, true>;
    using transient_bytes = room_index<Index, std::string, true>;
    using durable = ::testing::Types<eager_numbers, eager_bytes>;
    using all = ::testing::Types<eager_numbers, eager_bytes, transient_numbers, transient_bytes>;
};

}  // namespace hf::test
