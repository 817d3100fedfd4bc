#include "section/runtime.hpp"

#include "base/clock.hpp"
#include "base/tsan.hpp"
#include "section/audit_switch.hpp"
#include "section/audited.hpp"
#include "section/environment.hpp"
#include "section/symbol.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

// Defined where the locks are linked (locks/mutex.cpp).
extern "C" [[gnu::weak]] int hf_section_sees_locks();

namespace hf::section {
namespace {

/// A program that has begun this many sections, and announced no store, may announce none.
constexpr u64 silent_sections = 1000;
constexpr u64 longest_wait_ns = 1'000'000'000;  ///< of a last cut
constexpr auto longest_wait = std::chrono::milliseconds(1000);
/// Graph mode: until sections end that the caller depends on.
constexpr auto longest_dependence = std::chrono::seconds(10);
constexpr auto disk_wait = std::chrono::milliseconds(1);
constexpr int disk_waits = 100;

#ifdef HF_TSAN
// In the last round ThreadSanitizer gives up its own state of the thread, and ours comes after it.
constexpr u32 destructor_rounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr u32 destructor_rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

constinit std::once_flag made;

/// For `holdfast run --report`.
void print_report() noexcept {
    const char* const wanted = std::getenv(report_variable);
    if (wanted == nullptr || *wanted == '\0') return;
    std::array<char, 1024> text{};
    hf_section_report(text.data(), text.size());
    std::fprintf(stderr, "holdfast: %s\n", text.data());
}

void raise_to(std::atomic<u64>& maximum, u64 value) noexcept {
    if (value > maximum.load(std::memory_order_relaxed)) {
        maximum.store(value, std::memory_order_relaxed);
    }
}

/// The program's choice, or that of the environment.
result<group_mode> mode_of(const hf_group_options& o) {
    const char* const asked = std::getenv("HOLDFAST_SECTION_MODE");
    if (asked == nullptr || *asked == '\0') {
        return o.mode == HF_MODE_GRAPH ? group_mode::graph : group_mode::epoch;
    }
    const std::string mode(asked);
    if (mode == "graph") return group_mode::graph;
    if (mode == "epoch") return group_mode::epoch;
    return failure({errc::usage, "open the group of regions", "HOLDFAST_SECTION_MODE=" + mode,
                    "there is no such mode", "set it to epoch or graph, or leave it out"});
}

graph::graph_options graph_of(const hf_group_options& o) {
    graph::graph_options g;
    g.log_bytes = o.log_bytes != 0 ? o.log_bytes : u64{4} << 20;
    if (o.period_us != 0) g.period = std::chrono::microseconds(o.period_us);
    if (o.by_hand != 0) g.period = std::chrono::microseconds(0);
    if (o.patience_us != 0) {
        g.patience =
            std::chrono::ceil<std::chrono::milliseconds>(std::chrono::microseconds(o.patience_us));
    }
    g.elide_outside = o.log_all_stores == 0;
    return g;
}

result<group_options> options_of(const hf_group_options& o, const std::string& path) {
    group_options g;
    g.announced = o.stores == HF_STORES_ANNOUNCED;
    g.is_private = o.private_image != 0;
    const auto mode = mode_of(o);
    if (!mode) return tl::unexpected(mode.error());
    g.mode = *mode;
    g.graph = graph_of(o);
    if (g.mode == group_mode::graph && !g.announced) {
        return failure({errc::usage, "open the group of regions in graph mode", path,
                        "stores are found by pages, and no log entry can come before a store then",
                        "announce stores (HF_STORES_ANNOUNCED: the compiler plugin, or calls of "
                        "hf_section_store), or choose epoch mode"});
    }
    if (o.bytes != 0) g.bytes = o.bytes;
    g.max_bytes = o.max_bytes;
    if (o.program != nullptr) g.program = o.program;
    g.keep_unreachable = o.keep_unreachable != 0;
    if (o.flush != 0) g.flush = flush_policy::always;
    if (o.no_flush_for_figures != 0) g.flush = flush_policy::never;
    if (g.program.size() < sizeof(group_table::program)) return g;
    return failure({errc::usage, "open the group of regions", path,
                    "the program's name has more than 63 bytes", "choose a shorter one"});
}

result<void> check_locks(const std::string& path) {
    if (hf_section_sees_locks == nullptr || hf_section_sees_locks() != 0) return {};
    return failure({errc::usage, "open the group of regions", path,
                    "libholdfast_section was loaded after the program had been bound to the C "
                    "library's locks, so its sections are not seen",
                    "link the program with it, or start it with holdfast run (LD_PRELOAD)"});
}

/// `in_place`: a cut costs no disk. Otherwise pages are copied for each.
cutter_pace pace_of(const hf_group_options& o, bool in_place) {
    cutter_pace p;
    if (!in_place) p.period_ns = p.look_ns = 500'000'000;
    if (o.period_us != 0) p.period_ns = u64{o.period_us} * 1000;
    if (o.patience_us != 0) p.patience_ns = u64{o.patience_us} * 1000;
    return p;
}

}  // namespace

runtime& runtime::make() noexcept {
    std::call_once(made, [] {
        auto* const made_now = new (std::nothrow) runtime;
        HF_CHECK(made_now != nullptr, "no memory for the section runtime");
        the_runtime.store(made_now, std::memory_order_release);
    });
    return *the_runtime.load(std::memory_order_acquire);
}

/// One of the first 32 keys of the process has its place in each thread already; for a later one
/// pthread_setspecific() may call malloc. That must not be, for bind() is called by the first
/// write of a signal handler, too, which may have interrupted the program's malloc.
void runtime::make_key() noexcept {
    if (std::exchange(has_key, true)) return;
    HF_CHECK(::pthread_key_create(&thread_key, thread_ends) == 0,
             "no key for the ends of threads: pthread_key_create");
}

namespace {

// Before the program's constructors, which may make keys of their own, or threads.
[[gnu::constructor(101)]] void make_key_early() noexcept { runtime::make_key(); }

}  // namespace

runtime::runtime() : gate_(threads_) {
    make_key();
    HF_CHECK(::pthread_atfork(fork_begins, parent_goes_on, child_begins) == 0, "pthread_atfork");
    HF_CHECK(std::atexit(process_ends) == 0, "atexit");
}

// ------------------------------------------------------------------------------- opening, closing

result<void> runtime::open(const std::filesystem::path& path, const hf_group_options& options) {
    const inside_runtime in;
    const std::lock_guard guard(cut_mutex_);
    if (group_ != nullptr) {
        return failure({errc::usage, "open the group of regions", path.string(),
                        "this process has " + group_->file().path().string() + " open",
                        "keep all regions in one group: a section over two files is not atomic"});
    }
    if (auto ok = check_locks(path.string()); !ok) return ok;
    auto chosen = options_of(options, path.string());
    if (!chosen) return tl::unexpected(chosen.error());
    if (auto ok = check_audit(chosen->announced); !ok) return ok;
    threads_.forget_lines();  // those of a group that was given up without a cut
    auto opened = group::open(path, *chosen, me());
    if (!opened) return tl::unexpected(opened.error());
    if (auto ok = start_audit(**opened); !ok) return ok;
    group_ = std::move(*opened);
    group_->memory().on_growth([this](std::byte* from, u64 bytes) {
        growth_.wake();
        audit_growth(from, bytes);
    });
    undo_ = group_->undo();
    open_graph.store(group_->graph(), std::memory_order_release);
    patience_ns_ = pace_of(options, group_->is_in_place()).patience_ns;
    created_ = group_->file().created();
    recovered_ = !group_->file().was_clean();
    numbers_.last_cut_ns.store(now_ns(), std::memory_order_relaxed);
    sections_at_cut_ = sections_begun();
    sections_at_open_ = sections_at_cut_;
    has_announced.store(false, std::memory_order_relaxed);
    if (undo_ != nullptr && !is_audited()) show_tags(undo_->tags(), group_->file().base());
    start_holding(options);
    is_in_use.store(true, std::memory_order_release);
    epoch_mode.store(!has_graph() && !is_audited(), std::memory_order_release);
    if (options.by_hand == 0) growth_.start(group_->file());
    if (options.by_hand == 0 && !has_graph()) start_cutting(options);
    return {};
}

void runtime::start_cutting(const hf_group_options& options) {
    const bool in_place = group_->is_in_place();
    if (in_place) undo_->hold_at(&gate_);
    cutter_.start(
        pace_of(options, in_place),
        [this, in_place] { return cutter::needs{needs_cut(), in_place && undo_->should_cut()}; },
        [this](u64 patience) { return try_cut(patience); });
}

result<void> runtime::close() {
    const inside_runtime in;
    if (!is_open()) {
        return failure(
            {errc::usage, "close the group of regions", "", "none is open", "open one first"});
    }
    if (me().depth != 0) {
        return failure({errc::usage, "close the group of regions", group_->file().path().string(),
                        "the calling thread is inside a section", "end the section first"});
    }
    cutter_.stop();
    report_silence();
    print_report();
    const std::lock_guard guard(cut_mutex_);
    if (!gate_.try_close(longest_wait_ns)) {
        return failure({errc::busy, "close the group of regions", group_->file().path().string(),
                        "a thread is still inside a section", "end all other threads first"});
    }
    if (auto ok = wait_for_disk(); !ok) {
        gate_.open();
        return ok;
    }
    audit_cut();
    const bool has_cut = group_->cut(threads_);
    growth_.stop();
    finish_audit(true);
    output_.group_closes();
    auto closed = has_cut ? group_->close() : group_->epochs().accepts_writes();
    end_holding(closed.has_value());
    epoch_mode.store(false, std::memory_order_release);
    is_in_use.store(false, std::memory_order_release);
    hide_tags();
    undo_ = nullptr;
    open_graph.store(nullptr, std::memory_order_release);
    group_.reset();
    gate_.open();
    return closed;
}

result<void> runtime::wait_for_disk() {
    while (!group_->is_ready()) {
        if (auto ok = group_->epochs().accepts_writes(); !ok) return ok;
        std::this_thread::sleep_for(disk_wait);
    }
    return {};
}

/// A disk that still writes the cuts before is waited for: what was stored since would be lost
/// otherwise, though no section is in the way.
result<void> runtime::last_cut() {
    cut_outcome how = cut_outcome::disk_busy;
    while (how == cut_outcome::disk_busy) {
        if (auto ok = wait_for_disk(); !ok) return ok;
        how = try_cut(longest_wait_ns);
    }
    if (how == cut_outcome::cut) return {};
    return failure({errc::busy, "make a last cut at exit", group_->file().path().string(),
                    "a thread is still inside a section", "end all other threads first"});
}

/// At exit the group stays mapped, for other threads still run; a last cut is made, and recovery
/// goes back to it.
void runtime::process_ends() noexcept {
    if (!is_open()) return;
    const inside_runtime in;
    runtime& r = get();
    r.cutter_.stop();
    if (r.me().depth != 0) {
        r.finish_output();
        std::fputs("holdfast: exit inside a section: its changes are undone\n", stderr);
        return;
    }
    const u64 last = r.group_->epoch();
    auto ok = has_graph() ? graph()->wait_stable(r.me(), longest_wait) : r.last_cut();
    if (ok && !has_graph()) ok = r.group_->epochs().wait_durable(last);
    if (!ok) {
        std::fprintf(stderr, "holdfast: %s\n", ok.error().to_string().c_str());
    }
    r.finish_output();
    if (has_graph()) audit_cut();
    finish_audit(false);
    print_report();
}

/// A child of fork() has no region: its mappings are not inherited (MADV_DONTFORK).
void runtime::child_begins() noexcept {
    const inside_runtime in;
    get().output_.child_after_fork();
    is_holding.store(false, std::memory_order_relaxed);
    epoch_mode.store(false, std::memory_order_relaxed);
    is_in_use.store(false, std::memory_order_relaxed);
    hide_tags();
    detail::my_record = nullptr;
}

// ---------------------------------------------------------------------------------------- threads

thread_record& runtime::bind() noexcept {
    const inside_runtime in;
    thread_record& r = threads_.claim();
    detail::my_record = &r;
    // Other destructors of the thread may take locks: the record is given back in their last round.
    r.rounds_left = destructor_rounds - 1;
    HF_CHECK(::pthread_setspecific(thread_key, &r) == 0, "pthread_setspecific");
    return r;
}

void runtime::thread_ends(void* record) noexcept {
    auto& r = *static_cast<thread_record*>(record);
    const inside_runtime in;
    if (r.rounds_left-- != 0) {
        static_cast<void>(::pthread_setspecific(thread_key, &r));
        return;
    }
    detail::my_record = nullptr;
    if (r.depth == 0) {
        // The other side is the return of pthread_join().
        releasing(r, thread_object(::pthread_self()), graph::access::shared);
        return thread_table::release(r);
    }
    // Its changes may be half done. Cuts fail until another thread has taken its robust locks over.
    r.abandoned.store(true, std::memory_order_release);
    std::fprintf(stderr,
                 "holdfast: a thread has ended inside a section (begun at %s), holding %zu locks: "
                 "no further cut can be made\n",
                 source_of(r.site.load(std::memory_order_relaxed)).c_str(), r.held.size());
}

u64 runtime::sections_begun() const noexcept {
    u64 n = 0;
    for (u32 i = 0; i < threads_.used(); ++i) {
        n += threads_.at(i).entered.load(std::memory_order_relaxed);
    }
    return n;
}

// ------------------------------------------------------------------------------------------- cuts

bool runtime::needs_cut() noexcept {
    if (sections_begun() != sections_at_cut_ || output_.needs_cut(group_->epoch())) return true;
    // A program that does nothing waits for no cut: the time until it goes on does not count.
    numbers_.last_cut_ns.store(now_ns(), std::memory_order_relaxed);
    return false;
}

cut_outcome runtime::try_cut(u64 patience_ns) {
    const inside_runtime in;
    const std::lock_guard guard(cut_mutex_);
    report_silence();
    if (has_graph()) {
        return graph()->step() ? cut_outcome::cut : cut_outcome::section_in_the_way;
    }
    for (int i = 0; !group_->is_ready(); ++i) {
        if (i == disk_waits) {
            numbers_.disk_busy.fetch_add(1, std::memory_order_relaxed);
            return cut_outcome::disk_busy;
        }
        std::this_thread::sleep_for(disk_wait);
    }
    const bool closed = gate_.try_close(patience_ns);
    if (closed) audit_cut();
    const bool cut = closed && group_->cut(threads_);
    if (cut) sections_at_cut_ = sections_begun();
    if (closed) gate_.open();
    note_attempt(gate_.last_attempt(), cut);
    if (!closed) return cut_outcome::section_in_the_way;
    return cut ? cut_outcome::cut : cut_outcome::disk_busy;
}

/// Once: a program that was built without the plugin, and asks for announced stores, would come
/// back torn.
void runtime::report_silence() noexcept {
    if (undo_ == nullptr && !has_graph()) return;  // found by pages
    if (has_announced.load(std::memory_order_relaxed)) return;
    const u64 sections = sections_begun() - sections_at_open_;
    if (sections < silent_sections) return;
    has_announced.store(true, std::memory_order_relaxed);
    std::fprintf(stderr,
                 "holdfast: %s: %llu sections have begun and no store was announced: if they store "
                 "to the group, compile the program with hf-clang, or open the group with "
                 "HF_STORES_TRACKED\n",
                 group_->file().path().c_str(), static_cast<unsigned long long>(sections));
}

void runtime::note_attempt(const gate::attempt& a, bool cut) noexcept {
    const u64 start = a.closed_ns;
    const u64 end = a.opened_ns;
    numbers_.last_pause_ns.store(end - start, std::memory_order_relaxed);
    numbers_.stalled_ns.fetch_add(end - start, std::memory_order_relaxed);
    raise_to(numbers_.longest_pause_ns, end - start);
    numbers_.all_pauses.note(end - start);
    if (cut) {
        numbers_.cuts.fetch_add(1, std::memory_order_relaxed);
        raise_to(numbers_.longest_ns, end - numbers_.last_cut_ns.exchange(end));
        return;
    }
    numbers_.failed.fetch_add(1, std::memory_order_relaxed);
    const thread_record* const r = gate_.in_the_way();
    if (r == nullptr) return;
    const u64 section = r->entered.load(std::memory_order_relaxed);
    if (blocker_ != r || blocking_section_ != section) blocked_since_ns_ = start;
    blocker_ = r;
    blocking_section_ = section;
    numbers_.site.store(r->site.load(std::memory_order_relaxed), std::memory_order_relaxed);
    numbers_.site_ns.store(end - blocked_since_ns_, std::memory_order_relaxed);
}

result<void> runtime::wait_stable() {
    const inside_runtime in;
    if (!is_open() || me().depth != 0) {
        return failure(
            {errc::usage, "wait until sections are stable", "",
             is_open() ? "the calling thread is inside a section" : "no group of regions is open",
             is_open() ? "end it first: it can never be stable while it runs" : "open one first"});
    }
    if (has_graph()) return graph()->wait_stable(me(), longest_dependence);
    const u64 mine = group_->epoch();
    while (group_->epoch() == mine) {
        if (auto ok = group_->epochs().accepts_writes(); !ok) return ok;
        if (!cutter_.is_running()) {
            static_cast<void>(try_cut(longest_wait_ns));
            continue;
        }
        cutter_.hurry();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    // The cut is counted a moment after it was made, by a thread that holds this mutex until then.
    std::unique_lock counted(cut_mutex_);
    counted.unlock();
    return group_->epochs().wait_durable(mine);
}

u64 runtime::ticket() {
    if (!is_open()) return 0;
    return has_graph() ? graph()->ticket(me()) : group_->epoch();
}

u64 runtime::durable() {
    if (!is_open()) return 0;
    return has_graph() ? graph()->kept(me()) : group_->epochs().durable_epoch();
}

void runtime::restart_numbers() noexcept {
    const inside_runtime in;
    const std::lock_guard guard(cut_mutex_);  // the leader counts under it
    numbers_.longest_ns.store(0, std::memory_order_relaxed);
    numbers_.longest_pause_ns.store(0, std::memory_order_relaxed);
    numbers_.last_cut_ns.store(now_ns(), std::memory_order_relaxed);
    numbers_.all_pauses.clear();
}

void runtime::add_graph_numbers(hf_section_numbers& n) noexcept {
    if (!has_graph()) return;
    const graph::graph_statistics s = graph()->stats();
    n.entries = s.entries;
    n.log_bytes = s.entries * graph::entry_bytes;
    n.kept = s.kept;
    n.unlogged_stores = s.elided_stores;
    n.log_waits = s.waits;
    n.undone_sections = graph()->recovery().sections_undone;
}

hf_section_numbers runtime::numbers() noexcept {
    hf_section_numbers n{};
    n.cuts = numbers_.cuts.load(std::memory_order_relaxed);
    n.failed = numbers_.failed.load(std::memory_order_relaxed);
    n.disk_busy = numbers_.disk_busy.load(std::memory_order_relaxed);
    n.longest_ns = numbers_.longest_ns.load(std::memory_order_relaxed);
    n.last_pause_ns = numbers_.last_pause_ns.load(std::memory_order_relaxed);
    n.longest_pause_ns = numbers_.longest_pause_ns.load(std::memory_order_relaxed);
    n.pause_p50_ns = numbers_.all_pauses.quantile(0.5);
    n.pause_p99_ns = numbers_.all_pauses.quantile(0.99);
    n.stalled_ns = numbers_.stalled_ns.load(std::memory_order_relaxed);
    n.in_the_way = numbers_.site.load(std::memory_order_relaxed);
    n.in_the_way_ns = numbers_.site_ns.load(std::memory_order_relaxed);
    n.sections = sections_begun();
    if (!is_open()) return n;
    if (undo_ != nullptr) {
        n.lines = undo_->lines();
        n.log_bytes = undo_->log_bytes();
    }
    add_graph_numbers(n);
    n.allocated_bytes = group_->memory().allocated_bytes();
    n.reclaimed_bytes = group_->reclaimed_bytes();
    n.undone_lines = group_->undone_lines();
    return n;
}

}  // namespace hf::section
