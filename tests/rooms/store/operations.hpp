// tests/rooms/store/operations.hpp: every operation on one record, and its expected result.
#pragma once

#include <holdfast/store.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hf::test {

struct content {
    std::string data;
    store::attributes about;
};

/// The properties of the record that an operation is applied to.
struct subject {
    std::string key;
    content old;
    std::uint64_t unique = 0;
};

struct operation {
    std::string name;
    std::function<result<store::reply>(store&, const subject&)> run;
    store::outcome where_absent;
    store::outcome where_live;
    /// The record after the operation; nullopt: it is removed, or still absent.
    std::function<std::optional<content>(const content& old)> becomes;
    bool needs_contents = true;  ///< false: it works on a damaged record, too
};

/// Attributes of new records.
inline constexpr store::attributes fresh{9, 1'800'000'000};

inline std::optional<content> stays(const content& old) { return old; }
inline std::optional<content> is_gone(const content&) { return std::nullopt; }

/// incr and decr work only on short values.
inline std::function<std::optional<content>(const content&)> counts_to(std::string text) {
    return [text](const content& old) {
        return content{old.data.size() == 1 ? text : old.data, old.about};
    };
}

/// The record returned by get_and_touch.
inline thread_local store::record last_read;

inline std::vector<operation> all_operations(const std::string& data = "new") {
    using in = const subject&;
    using outcome = store::outcome;
    const auto is_new = [data](const content&) -> std::optional<content> {
        return content{data, fresh};
    };
    return {
        {"set", [data](store& s, in r) { return s.set(r.key, data, fresh); }, outcome::stored,
         outcome::stored, is_new, false},
        {"add", [data](store& s, in r) { return s.add(r.key, data, fresh); }, outcome::stored,
         outcome::not_stored, stays},
        {"replace", [data](store& s, in r) { return s.replace(r.key, data, fresh); },
         outcome::not_stored, outcome::stored, is_new},
        {"cas", [data](store& s, in r) { return s.cas(r.key, data, fresh, r.unique); },
         outcome::not_found, outcome::stored, is_new},
        {"cas of the next",
         [data](store& s, in r) { return s.cas(r.key, data, fresh, r.unique + 1); },
         outcome::not_found, outcome::exists, stays},
        {"cas of an older",
         [data](store& s, in r) { return s.cas(r.key, data, fresh, r.unique - 1); },
         outcome::not_found, outcome::exists, stays},
        {"append", [](store& s, in r) { return s.append(r.key, "xy"); }, outcome::not_stored,
         outcome::stored, [](const content& old) { return content{old.data + "xy", old.about}; }},
        {"prepend", [](store& s, in r) { return s.prepend(r.key, "xy"); }, outcome::not_stored,
         outcome::stored, [](const content& old) { return content{"xy" + old.data, old.about}; }},
        {"append up to the limit",
         [](store& s, in r) { return s.append(r.key, "xy", r.old.data.size() + 2); },
         outcome::not_stored, outcome::stored,
         [](const content& old) { return content{old.data + "xy", old.about}; }},
        {"append beyond the limit",
         [](store& s, in r) { return s.append(r.key, "xy", r.old.data.size() + 1); },
         outcome::not_stored, outcome::not_stored, stays},
        {"prepend beyond the limit", [](store& s, in r) { return s.prepend(r.key, "xy", 1); },
         outcome::not_stored, outcome::not_stored, stays},
        {"remove", [](store& s, in r) { return s.remove(r.key); }, outcome::not_found,
         outcome::removed, is_gone, false},
        {"incr", [](store& s, in r) { return s.incr(r.key, 5); }, outcome::not_found,
         outcome::stored, counts_to("12")},
        {"decr", [](store& s, in r) { return s.decr(r.key, 5); }, outcome::not_found,
         outcome::stored, counts_to("2")},
        {"touch", [](store& s, in r) { return s.touch(r.key, fresh.expires); }, outcome::not_found,
         outcome::touched,
         [](const content& old) { return content{old.data, {old.about.flags, fresh.expires}}; }},
        {"get_and_touch",
         [](store& s, in r) { return s.get_and_touch(r.key, fresh.expires, last_read); },
         outcome::not_found, outcome::touched,
         [](const content& old) { return content{old.data, {old.about.flags, fresh.expires}}; }},
    };
}

}  // namespace hf::test
