#include "bench/server/script.hpp"

#include "base/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace hf::bench {

namespace {

/// Requests of a script, which is sent repeatedly.
constexpr u64 script_length = u64{1} << 14;
constexpr unsigned load_depth = 64;
/// One set in this many requests of the mix.
constexpr u64 mix_of = 10;

std::string script_key(u64 record) { return fmt::format("{:016x}", splitmix64(record)()); }

std::string script_value(const server_bench_options& o, u64 record) {
    xoshiro256ss random(record ^ o.seed);
    const u64 size = o.least_value + random.below(o.most_value - o.least_value + 1);
    std::string value(size, '\0');
    std::ranges::generate(value, [&] { return static_cast<char>('a' + random.below(26)); });
    return value;
}

}  // namespace

script::batch script::at(std::size_t i) const noexcept {
    const end before = i == 0 ? end{0, 0, 0} : ends_[i - 1];
    const end& e = ends_[i];
    return {std::string_view(requests_).substr(before.requests, e.requests - before.requests),
            std::string_view(answers_).substr(before.answers, e.answers - before.answers), e.count};
}

void script::add_get(const server_bench_options& o, u64 record) {
    const std::string key = script_key(record);
    const std::string value = script_value(o, record);
    fmt::format_to(std::back_inserter(requests_), "get {}\r\n", key);
    fmt::format_to(std::back_inserter(answers_), "VALUE {} 0 {}\r\n{}\r\nEND\r\n", key,
                   value.size(), value);
}

void script::add_set(const server_bench_options& o, u64 record) {
    const std::string value = script_value(o, record);
    fmt::format_to(std::back_inserter(requests_), "set {} 0 0 {}\r\n{}\r\n", script_key(record),
                   value.size(), value);
    answers_ += "STORED\r\n";
}

void script::add_delete(u64 record) {
    fmt::format_to(std::back_inserter(requests_), "delete {}\r\n", script_key(record));
    answers_ += "DELETED\r\n";
}

void script::end_request(unsigned depth) {
    if (++open_ == depth) end_batch();
}

void script::end_batch() {
    if (open_ != 0) ends_.push_back({requests_.size(), answers_.size(), open_});
    open_ = 0;
}

script script::make(const server_bench_options& o, errand e, unsigned depth, unsigned which) {
    script s;
    xoshiro256ss random(splitmix64(o.seed)() + which);
    const u64 first_new = o.records + which * script_length;
    for (u64 i = 0; i < script_length; ++i) {
        const u64 record = random.below(o.records);
        const bool set = e == errand::set || (e == errand::mix && random.below(mix_of) == 0);
        if (e != errand::change) {
            set ? s.add_set(o, record) : s.add_get(o, record);
        } else if (i < script_length / 2) {
            s.add_set(o, first_new + i);
        } else {
            s.add_delete(first_new + i - script_length / 2);
        }
        s.end_request(depth);
    }
    s.end_batch();
    return s;
}

script script::load(const server_bench_options& o, u64 first, u64 of) {
    script s;
    for (u64 record = first; record < o.records; record += of) {
        s.add_set(o, record);
        s.end_request(load_depth);
    }
    s.end_batch();
    return s;
}

}  // namespace hf::bench
