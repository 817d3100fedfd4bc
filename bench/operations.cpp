#include "bench/operations.hpp"

#include "base/check.hpp"
#include "bench/zipfian.hpp"

#include <array>

namespace hf::bench {

namespace {

constexpr std::array workload_names = {"A", "B", "C", "E", "load"};
constexpr std::array distribution_names = {"uniform", "zipfian"};

template <class T, std::size_t N>
std::optional<T> find_name(const std::array<const char*, N>& names,
                           std::string_view name) noexcept {
    for (std::size_t i = 0; i < N; ++i) {
        if (name == names[i]) return static_cast<T>(i);
    }
    return std::nullopt;
}

unsigned puts_in_hundred(workload w) noexcept {
    if (w == workload::a) return 50;
    return w == workload::b ? 5 : 0;
}

stream slice_of_load(const stream_shape& shape, unsigned thread) {
    const u64 first = shape.records * thread / shape.threads;
    const u64 last = shape.records * (thread + 1) / shape.threads;
    stream steps;
    steps.reserve(last - first);
    for (u64 r = first; r < last; ++r) steps.emplace_back(action::put, r);
    return steps;
}

stream draw(const stream_shape& shape, const zipfian& ranks, u64 seed) {
    xoshiro256ss random(seed);
    const unsigned puts = puts_in_hundred(shape.kind);
    const action reading = shape.kind == workload::e ? action::scan : action::get;
    stream steps;
    steps.reserve(shape.operations);
    for (u64 i = 0; i < shape.operations; ++i) {
        const u64 record = shape.spread == distribution::zipfian
                               ? key_of(~ranks(random)) % shape.records
                               : random.below(shape.records);
        const bool put = puts != 0 && random.below(100) < puts;
        steps.emplace_back(put ? action::put : reading, record);
    }
    return steps;
}

}  // namespace

std::string_view to_string(workload w) noexcept { return workload_names[static_cast<u8>(w)]; }
std::string_view to_string(distribution d) noexcept {
    return distribution_names[static_cast<u8>(d)];
}
std::optional<workload> workload_of(std::string_view name) noexcept {
    return find_name<workload>(workload_names, name);
}
std::optional<distribution> distribution_of(std::string_view name) noexcept {
    return find_name<distribution>(distribution_names, name);
}

std::vector<stream> make_streams(const stream_shape& shape, u64 seed) {
    HF_CHECK(shape.records > 0 && shape.records <= most_records, "number of records");
    std::vector<stream> all;
    all.reserve(shape.threads);
    const zipfian ranks(shape.records);
    splitmix64 seeds(seed);
    for (unsigned t = 0; t < shape.threads; ++t) {
        all.push_back(shape.kind == workload::load ? slice_of_load(shape, t)
                                                   : draw(shape, ranks, seeds()));
    }
    return all;
}

}  // namespace hf::bench
