#include "bench/recipe/work.hpp"

#include "base/check.hpp"
#include "bench/zipfian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hf::bench {

namespace {

constexpr std::array recipe_names = {"load", "C", "miss", "B-update", "A-update",
                                     "F",    "B", "D",    "E",        "A"};
constexpr std::array recipe_key_names = {"integer", "string"};

template <class T, std::size_t N>
std::optional<T> find_among(const std::array<const char*, N>& names,
                            std::string_view name) noexcept {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return std::nullopt;
    return static_cast<T>(at - names.begin());
}

struct recipe_mix {
    deed most;
    deed other;
    unsigned others_in_hundred;
};
recipe_mix recipe_mix_of(recipe_load w) noexcept {
    switch (w) {
        case recipe_load::load:
            return {deed::insert, deed::insert, 0};
        case recipe_load::c:
            return {deed::get, deed::get, 0};
        case recipe_load::miss:
            return {deed::get_absent, deed::get_absent, 0};
        case recipe_load::b_update:
            return {deed::get, deed::update, 5};
        case recipe_load::a_update:
            return {deed::get, deed::update, 50};
        case recipe_load::f:
            return {deed::get, deed::modify, 50};
        case recipe_load::b:
        case recipe_load::d:
            return {deed::get, deed::insert, 5};
        case recipe_load::e:
            return {deed::scan, deed::insert, 5};
        case recipe_load::a:
            return {deed::get, deed::insert, 50};
    }
    return {deed::get, deed::get, 0};
}

/// Draws the steps of a thread.
class drawing {
   public:
    drawing(const recipe_shape& shape, const zipfian& ranks, u64 first_new, u64 seed)
        : shape_(shape),
          ranks_(ranks),
          first_new_(first_new),
          next_new_(first_new),
          random_(seed) {}

    recipe_step next(const recipe_mix& of) {
        const bool is_other =
            of.others_in_hundred != 0 && random_.below(100) < of.others_in_hundred;
        const deed what = is_other ? of.other : of.most;
        if (what == deed::insert) return {what, next_new_++};
        return {what, shape_.kind == recipe_load::d ? latest() : any()};
    }

   private:
    u64 any() {
        return shape_.spread == distribution::zipfian ? key_of(~ranks_(random_)) % shape_.loaded
                                                      : random_.below(shape_.loaded);
    }
    /// Prefers the newest records: the thread's own inserts, then the loaded ones.
    u64 latest() {
        const u64 age = ranks_(random_);
        const u64 own = next_new_ - first_new_;
        return age < own ? next_new_ - 1 - age : shape_.loaded - 1 - (age - own);
    }

    const recipe_shape& shape_;
    const zipfian& ranks_;
    u64 first_new_;
    u64 next_new_;
    xoshiro256ss random_;
};

void add_string_keys(recipe_work& w) {
    w.keys.reserve(w.steps.size() * string_key_bytes);
    for (const recipe_step& s : w.steps) {
        fmt::format_to(std::back_inserter(w.keys), "user{:020}", s.number());
    }
}

}  // namespace

std::string_view to_string(recipe_load w) noexcept { return recipe_names[static_cast<u8>(w)]; }
std::optional<recipe_load> recipe_load_of(std::string_view name) noexcept {
    return find_among<recipe_load>(recipe_names, name);
}
std::string recipe_load_names() {
    std::string all;
    for (const char* name : recipe_names) all += (all.empty() ? "" : ",") + std::string(name);
    return all;
}
std::string_view to_string(recipe_keys k) noexcept { return recipe_key_names[static_cast<u8>(k)]; }
std::optional<recipe_keys> recipe_keys_of(std::string_view name) noexcept {
    return find_among<recipe_keys>(recipe_key_names, name);
}

std::vector<recipe_work> make_recipe_work(const recipe_shape& shape, u64 seed) {
    const u64 loaded = std::max<u64>(shape.loaded, 1);
    HF_CHECK(shape.there + shape.operations < most_recipe_records, "number of records");
    const zipfian ranks(loaded);
    const recipe_mix of = recipe_mix_of(shape.kind);
    splitmix64 seeds(seed);
    std::vector<recipe_work> all(shape.threads);
    for (unsigned t = 0; t < shape.threads; ++t) {
        const u64 first = shape.operations * t / shape.threads;
        const u64 last = shape.operations * (t + 1) / shape.threads;
        drawing draw(shape, ranks, shape.there + first, seeds());
        all[t].steps.reserve(last - first);
        for (u64 i = first; i < last; ++i) all[t].steps.push_back(draw.next(of));
        if (shape.keys == recipe_keys::string) add_string_keys(all[t]);
    }
    return all;
}

u64 inserts_of(const std::vector<recipe_work>& all) noexcept {
    u64 sum = 0;
    for (const recipe_work& w : all) {
        sum += static_cast<u64>(
            std::count_if(w.steps.begin(), w.steps.end(),
                          [](const recipe_step& s) { return s.what() == deed::insert; }));
    }
    return sum;
}

}  // namespace hf::bench
