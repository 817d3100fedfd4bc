#include "section/graph/program_runner.hpp"

#include "support/must.hpp"

namespace hf::test {
namespace {

using graph::access;

constexpr unsigned first_lane = 1;  // lane 0 is the system's

region_options options() {
    region_options o;
    o.initial_size = 2 * layout::page_size;
    return o;
}

u64* variable_of(region& r, unsigned number) {
    // A line each, and two words in one line: entries must not reach beyond their own bytes.
    return r.at<u64>(layout::page_size + (number / 2) * line_size + (number % 2) * 8);
}

}  // namespace

program_runner::program_runner(const std::filesystem::path& file, const graph::graph_options& o)
    : path_(file), region_(must(region::open(file, options()))) {
    must(region_->grow(segment_kind::heap, 1, 0));
    mode_ = must(graph::graph_mode::open(*region_, o));
}

program_runner::~program_runner() {
    // A program that a test has cut short may hold locks.
    for (unsigned t = 0; t < held_.size(); ++t) {
        if (held_[t] != 0) mode_->end(lane(t));
    }
}

graph::graph_options program_runner::default_options() {
    graph::graph_options o;
    o.log_bytes = layout::page_size;
    o.period = std::chrono::microseconds(0);
    return o;
}

graph::lane_state& program_runner::lane(unsigned thread) {
    return *must(mode_->attach(first_lane + thread));
}

u64* program_runner::variable(unsigned number) noexcept { return variable_of(*region_, number); }

void program_runner::lock(const step& s, access how) {
    if (held_[s.thread]++ == 0) mode_->begin(lane(s.thread));
    mode_->acquired(lane(s.thread), &locks_[s.object], how);
}

void program_runner::unlock(const step& s, access how) {
    mode_->releasing(lane(s.thread), &locks_[s.object], how);
    if (--held_[s.thread] == 0) mode_->end(lane(s.thread));
}

void program_runner::take(const step& s) {
    switch (s.what) {
        case action::lock:
            return lock(s, access::exclusive);
        case action::unlock:
            return unlock(s, access::exclusive);
        case action::read_lock:
            return lock(s, access::shared);
        case action::read_unlock:
            return unlock(s, access::shared);
        case action::post:
            return mode_->releasing(lane(s.thread), &semaphores_[s.object], access::shared);
        case action::wait:
            return mode_->acquired(lane(s.thread), &semaphores_[s.object], access::exclusive);
        case action::store:
            mode_->before_store(lane(s.thread), variable(s.object), sizeof(u64));
            *variable(s.object) = s.value;
            return;
    }
}

values program_runner::after_crash() {
    const std::filesystem::path copy = path_.string() + ".crashed";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    region_options o = options();
    o.mode = open_mode::open_existing;
    auto crashed = must(region::open(copy, o));
    static_cast<void>(must(graph::recover(*crashed)));
    values v;
    for (unsigned i = 0; i < max_variables; ++i) v[i] = *variable_of(*crashed, i);
    return v;
}

}  // namespace hf::test
