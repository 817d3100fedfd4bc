#include "section/graph_sections.hpp"

#include "base/check.hpp"
#include "section/inside_runtime.hpp"

namespace hf::section {

result<std::unique_ptr<graph_sections>> graph_sections::open(region& file,
                                                             const graph::graph_options& options) {
    const inside_runtime in;
    auto mode = graph::graph_mode::open(file, options);
    if (!mode) return tl::unexpected(mode.error());
    return std::unique_ptr<graph_sections>(new graph_sections(std::move(*mode)));
}

graph::lane_state& graph_sections::lane(const thread_record& r) {
    if (r.index >= graph::max_lanes) {
        fatal(
            "more than 256 threads have sections in graph mode: end some of them, or open the "
            "group in epoch mode");
    }
    auto found = mode_->attach(r.index);
    if (!found) {
        fatal(("a thread has no section log in graph mode: " + found.error().to_string()).c_str());
    }
    return **found;
}

void graph_sections::begin(const thread_record& r) {
    const inside_runtime in;
    mode_->begin(lane(r));
}

bool graph_sections::try_begin(const thread_record& r) {
    const inside_runtime in;
    return mode_->try_begin(lane(r));
}

void graph_sections::end(const thread_record& r) {
    const inside_runtime in;
    mode_->end(lane(r));
}

void graph_sections::touch(const thread_record& r, const void* p, u64 n) {
    const inside_runtime in;
    mode_->before_store(lane(r), p, n);
}

void graph_sections::acquired(const thread_record& r, const void* object, graph::access how) {
    const inside_runtime in;
    mode_->acquired(lane(r), object, how);
}

void graph_sections::releasing(const thread_record& r, const void* object, graph::access how) {
    const inside_runtime in;
    mode_->releasing(lane(r), object, how);
}

void graph_sections::destroyed(const void* object) {
    const inside_runtime in;
    mode_->destroyed(object);
}

result<void> graph_sections::wait_stable(const thread_record& r, std::chrono::milliseconds limit) {
    const inside_runtime in;
    return mode_->wait_stable(lane(r), limit);
}

u64 graph_sections::ticket(const thread_record& r) {
    const inside_runtime in;
    graph::lane_state& l = lane(r);
    return r.depth != 0 ? l.number : mode_->settle(l);
}

u64 graph_sections::kept(const thread_record& r) {
    const inside_runtime in;
    return lane(r).kept.load(std::memory_order_acquire);
}

bool graph_sections::step() {
    const inside_runtime in;
    static_cast<void>(mode_->step());
    return mode_->are_all_kept();
}

}  // namespace hf::section
