// The part of the runtime that stamps held output and says when it is stable.
#include "base/check.hpp"
#include "section/runtime.hpp"

#include <chrono>
#include <cstdio>
#include <string>

namespace hf::section {
namespace {

constexpr u64 default_hold_bytes = u64{16} << 20;
constexpr auto patience = std::chrono::seconds(10);

void report_unwritten(u64 bytes) {
    if (bytes == 0) return;
    std::fprintf(stderr, "holdfast: %llu bytes of held output were not written\n",
                 static_cast<unsigned long long>(bytes));
}

}  // namespace

void runtime::start_holding(const hf_group_options& options) {
    const auto is_stable = [this](const held_output::stamp& s) {
        graph_sections* const g = graph();
        return (g != nullptr ? g->kept(*s.writer) : group_->epochs().durable_epoch()) >= s.ticket;
    };
    const auto hasten = [this] {
        if (cutter_.is_running()) return cutter_.hurry();
        static_cast<void>(try_cut(patience_ns_));
    };
    output_.open(options.hold_bytes != 0 ? options.hold_bytes : default_hold_bytes, patience,
                 {is_stable, hasten});
    if (options.hold_output == 0) return;
    output_.start_writer();
    is_holding.store(true, std::memory_order_release);
}

ssize_t runtime::hold(int fd, const held_output::message& m) {
    if (is_inside_runtime()) return hold_in_handler(fd, m);
    const inside_runtime in;
    thread_record& r = me();
    return output_.hold(fd, m, {&r, ticket()}, r.depth != 0);
}

/// By a signal handler that interrupted the runtime, so the thread's record may be half changed.
/// The running epoch's cut is stable only after the cut of any section that the thread is in, or
/// was in. The call does not wait for room, as if the thread were inside a section.
ssize_t runtime::hold_in_handler(int fd, const held_output::message& m) {
    if (has_graph()) {
        fatal(
            "a signal handler that interrupted the section runtime writes to a descriptor whose "
            "output is held: in graph mode block the signal around sections");
    }
    return output_.hold(fd, m, {nullptr, group_->epoch()}, true);
}

result<void> runtime::flush_output() {
    const inside_runtime in;
    if (auto ok = wait_stable(); !ok) return ok;
    if (output_.flush()) return {};
    return failure({errc::busy, "write the output that is held", "",
                    "a peer does not read, or other threads' sections are not stable",
                    "see hf_section_report() for the section in the way"});
}

void runtime::finish_output() { report_unwritten(output_.finish()); }

void runtime::end_holding(bool is_all_stable) {
    is_holding.store(false, std::memory_order_release);
    report_unwritten(output_.close(is_all_stable));
}

void runtime::fork_begins() noexcept {
    const inside_runtime in;
    get().output_.before_fork();
}

void runtime::parent_goes_on() noexcept {
    const inside_runtime in;
    get().output_.parent_after_fork();
}

}  // namespace hf::section
