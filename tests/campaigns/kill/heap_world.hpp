// tests/campaigns/kill/heap_world.hpp: the objects that the campaign's writers keep in a heap, and
// models of them in ordinary memory.
//
// Stroke n of writer w follows from the seed. So a desk's field `done` in the heap determines its
// whole expected contents: the judge runs the same strokes on a model and compares. Data shared by
// all writers is judged by its sum: each stroke moves an amount between accounts.
#pragma once

#include <holdfast/heap.hpp>
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>
#include <holdfast/nv/vector.hpp>

#include "base/bits.hpp"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hf::kill_test {

inline constexpr u32 most_writers = 64;
inline constexpr u32 accounts = 64;
inline constexpr u64 in_an_account = 1'000;  ///< initial amount
inline constexpr u32 watched_things = 8;
inline constexpr u64 longest_chain = 3'000;  ///< things; a longer chain is dropped as a whole

/// Owns an array with the same contents.
struct thing {
    static constexpr std::string_view nv_name = "thing";
    nv::p<u64> number;  ///< of the stroke that made it
    nv::ptr<nv::p<u64>[]> more;
    nv::ptr<thing> next;
};

/// The data of one writer.
struct desk {
    static constexpr std::string_view nv_name = "desk";
    nv::p<u64> done;  ///< number of strokes
    nv::map<u64, nv::p<u64>> ordered;
    nv::rb_map<u64, nv::p<u64>> balanced;
    nv::unordered_map<u64, nv::ptr<thing>> things;
    nv::vector<nv::p<u64>> stack;
    nv::array<nv::weak<thing>, watched_things> watched;
    nv::ptr<thing> chain;
    nv::p<u64> chained;  ///< length of the chain
};

/// The shared data.
struct hall {
    static constexpr std::string_view nv_name = "hall";
    nv::array<nv::p<u64>, accounts> money;
    nv::array<nv::ptr<desk>, most_writers> desks;
};

/// A stroke's action, besides counting itself and moving money.
struct stroke {
    enum class kind : u32 {
        put_ordered,
        erase_ordered,
        put_balanced,
        erase_balanced,
        put_thing,
        erase_thing,
        watch,
        lengthen_chain,
        push,
        pop,
    };
    static constexpr u32 kinds = 10;

    u64 number = 0;
    kind what = kind::put_ordered;
    u64 key = 0;
    u32 size = 0;  ///< of a thing's array; number of things for a chain
    u32 slot = 0;  ///< index in `watched`
    u32 from = 0, to = 0;
    u64 amount = 0;
};

[[nodiscard]] stroke stroke_of(u64 seed, u32 writer, u64 number);

/// A desk in ordinary memory.
class desk_model {
   public:
    void run(const stroke& s);

    u64 done = 0;
    std::map<u64, u64> ordered, balanced, things;
    std::vector<u64> stack, chain;
    std::array<u64, watched_things> watched{};  ///< numbers of things; 0: none
};

/// Runs a stroke in the given transaction.
void run(nv::tx<>& tx, hall& all, desk& mine, const stroke& s);

/// The differences; "" if there are none. Call within a transaction, without references into the
/// heap.
[[nodiscard]] std::string difference(const desk& found, const desk_model& expected);

[[nodiscard]] u64 sum_of_money(const hall& all);

}  // namespace hf::kill_test
