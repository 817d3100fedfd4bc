// engine.hpp: a region brought up: domain, heap and one Masstree, for any discipline of the
// checkpoint family.
//
// Purpose. The one place that puts the rooms together, in the order of the recovery driver:
// superblock (open_region), external log, allocator, root, session. map.cpp uses it with incll;
// measurements and tests with the others.
//
// Recovery. open() ends with the first operation possible; its cost does not depend on the region's
// size. What is left to do lazily, the background pass finishes: it visits every leaf and every
// block header, ends the epoch, and empties the failed set. Cut short by a crash it starts over in
// the next session.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "index/masstree/masstree.hpp"
#include "persist/persist_point.hpp"
#include "recovery/driver.hpp"
#include "recovery/opening.hpp"

namespace hf {

struct engine_options {
    region_options file;
    domain_options epochs;
    bool background_pass = true;  ///< false: only run_pass() does it
    u64 hint_memory = 0;          ///< bytes for leaf_hints; 0: none are kept
};

template <class D>
class engine {
   public:
    static constexpr const char* root_name = "map";
    static constexpr u64 root_type = 0x4d54;  // "MT"
    /// Smallest region that holds the heap's own pages.
    static constexpr u64 least_size = u64{16} << 20;

    /// Opens or creates the region at `path` and recovers it.
    [[nodiscard]] static result<std::unique_ptr<engine>> open(const std::filesystem::path& path,
                                                              engine_options options);
    /// A tree in anonymous memory, for the transient disciplines.
    [[nodiscard]] static result<std::unique_ptr<engine>> open_volatile(u64 bytes,
                                                                       engine_options options);

    ~engine() { stop_pass(); }
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Ends the last epoch and marks the region clean. Nothing else may be running.
    [[nodiscard]] result<void> close() {
        stop_pass();
        return domain_->close();
    }

    [[nodiscard]] masstree<D>& tree() noexcept { return *tree_; }
    [[nodiscard]] heap<D>& memory() noexcept { return *heap_; }
    [[nodiscard]] domain& epochs() noexcept { return *domain_; }
    [[nodiscard]] region& file() noexcept { return *region_; }
    [[nodiscard]] u64 generation() const noexcept { return generation_; }

    /// Epochs that the opening took from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return recovered_records_; }
    [[nodiscard]] u64 recovery_ns() const noexcept { return recovery_ns_; }
    [[nodiscard]] const std::vector<step_time>& recovery_steps() const noexcept { return steps_; }

    /// Visits everything that may carry a failed epoch, and forgets the failed epochs. False: was
    /// stopped.
    [[nodiscard]] result<bool> run_pass();
    [[nodiscard]] bool pass_due() const noexcept {
        return domain_->durable() && (!domain_->failed().empty() || domain_->restamp_due());
    }

   private:
    engine() = default;
    void take(opened_region opened) {
        region_ = std::move(opened.file);
        journal_ = opened.journal;
        recovered_records_ = opened.recovered_records;
    }
    [[nodiscard]] result<void> bring_up(const engine_options& options);
    [[nodiscard]] result<void> find_root();
    [[nodiscard]] result<void> open_tree();
    void stop_pass();

    std::unique_ptr<region> region_;
    journalled_file* journal_ = nullptr;
    u64 recovered_records_ = 0;
    std::unique_ptr<domain> domain_;
    std::unique_ptr<heap<D>> heap_;
    std::unique_ptr<masstree<D>> tree_;
    u64 root_ = 0;
    u64 generation_ = 0;
    u64 recovery_ns_ = 0;
    std::vector<step_time> steps_;
    std::atomic<bool> stopping_{false};
    std::thread pass_;
};

template <class D>
result<std::unique_ptr<engine<D>>> engine<D>::open(const std::filesystem::path& path,
                                                   engine_options options) {
    const u64 start = now_ns();
    options.file.kind = D::kind;
    options.epochs.durable = D::durable;
    if (options.file.initial_size < least_size) options.file.initial_size = least_size;
    auto opened = open_region(path, {.file = options.file, .rooms = masstree_rooms});
    if (!opened) return tl::unexpected(opened.error());
    if (const discipline kind = opened->file->kind(); kind != D::kind) {
        return failure({errc::incompatible, "open the map", path.string(),
                        "the region is of discipline " + std::string(to_string(kind)),
                        "open it with the program that created it"});
    }
    std::unique_ptr<engine> e(new engine);
    e->take(std::move(*opened));
    if (auto up = e->bring_up(options); !up) return tl::unexpected(up.error());
    e->recovery_ns_ = now_ns() - start;
    if (options.background_pass && !e->region_->read_only() && e->pass_due()) {
        e->pass_ = std::thread([self = e.get()] { (void)self->run_pass(); });
    }
    return e;
}

template <class D>
result<std::unique_ptr<engine<D>>> engine<D>::open_volatile(u64 bytes, engine_options options) {
    options.file.kind = D::kind;
    options.epochs.durable = false;
    auto made = create_volatile(bytes, options.file);
    if (!made) return tl::unexpected(made.error());
    std::unique_ptr<engine> e(new engine);
    e->take(std::move(*made));
    if (auto up = e->bring_up(options); !up) return tl::unexpected(up.error());
    return e;
}

template <class D>
result<void> engine<D>::bring_up(const engine_options& options) {
    recovery_driver driver;
    driver.add(recovery_phase::format, "format", [&]() -> result<void> {
        // A fresh region, or one whose creation was cut short before its root had a name.
        const auto root = region_->find_root(root_name);
        if (root || region_->read_only()) return {};
        if (region_->super().generation != 0) {
            // It was in use once: formatting it now would destroy what a damaged directory hides.
            return failure({errc::corrupt, "open the map",
                            region_->path().string() + " in its root directory",
                            "the map's root is missing though the region has been used",
                            "restore the file from a copy"});
        }
        const auto place = format_heap(*region_);
        if (!place) return tl::unexpected(place.error());
        if constexpr (D::malloc_nodes) return {};
        return masstree<D>::found(*region_, *place, root_name, root_type);
    });
    driver.add(recovery_phase::logs, "epochs", [&]() -> result<void> {
        auto d = domain::open(*region_, options.epochs, journal_);
        if (!d) return tl::unexpected(d.error());
        domain_ = std::move(*d);
        return {};
    });
    driver.add(recovery_phase::logs, "external log", [&] { return domain_->recover_log(); });
    driver.add(recovery_phase::allocator, "allocator", [&] {
        heap_ = std::make_unique<heap<D>>(*domain_);
        return heap_->recover();
    });
    driver.add(recovery_phase::discipline, "root", [&] { return find_root(); });
    driver.add(recovery_phase::discipline, "session", [&] { return domain_->start(); });
    driver.add(recovery_phase::discipline, "tree", [&]() -> result<void> {
        if (auto opened = open_tree(); !opened) return opened;
        if (options.hint_memory != 0) tree_->keep_hints(options.hint_memory);
        return {};
    });
    driver.add(recovery_phase::verification, "sweep", [&]() -> result<void> {
        if (region_->read_only() || !domain_->durable() || !domain_->must_sweep_first()) return {};
        auto swept = run_pass();
        if (!swept) return tl::unexpected(swept.error());
        return {};
    });
    driver.add(recovery_phase::service, "clock", [&]() -> result<void> {
        domain_->start_clock();
        return {};
    });
    auto done = driver.run();
    steps_ = driver.report();
    return done;
}

template <class D>
result<void> engine<D>::find_root() {
    if constexpr (D::malloc_nodes) return {};
    const auto wrong = [this](errc code, std::string why, std::string next) {
        return failure({code, "open the map", region_->path().string() + " at its root",
                        std::move(why), std::move(next)});
    };
    const auto found = region_->find_root(root_name);
    if (!found) return tl::unexpected(found.error());
    const region::root& root = **found;
    if (root.type != root_type || root.format != masstree_format.version) {
        return wrong(errc::incompatible, "its root is of another type",
                     "open it with the program that created it");
    }
    root_ = root.value.load(std::memory_order_acquire);
    const u64 last = region_->size() - masstree_detail::node_payload;
    if (root_ < layout::page_size || root_ > last || root_ % 16 != 0) {
        return wrong(errc::corrupt, "the tree's root lies outside of the region",
                     "run `holdfast check` and restore the file from a copy");
    }
    return {};
}

template <class D>
result<void> engine<D>::open_tree() {
    generation_ = region_->super().generation + (region_->read_only() ? 1 : 0);
    if constexpr (D::malloc_nodes) {
        operation op(*domain_);
        auto made = masstree<D>::create_root(*heap_, op, generation_);
        if (!made) return tl::unexpected(made.error());
        root_ = *made;
    }
    tree_ = std::make_unique<masstree<D>>(*heap_, root_, generation_);
    return {};
}

template <class D>
result<bool> engine<D>::run_pass() {
    constexpr unsigned records_per_operation = 256;
    const auto stopped = [this] { return stopping_.load(std::memory_order_relaxed); };
    std::string last;
    bool started = false;
    for (bool done = false; !done;) {
        if (stopped()) return false;
        operation op(*domain_);  // left after each batch: the pass must not hold the barrier
        unsigned left = records_per_operation;
        done = tree_->scan(op, last, started, [&](std::string_view key, std::string_view) {
            if (--left > 0) return true;
            last.assign(key);
            return false;
        });
        started = true;
    }
    const u64 current = domain_->current_epoch();
    constexpr u64 oldest = u64{1} << 34;  // a quarter of the range of compact epochs
    heap_->refresh(current > oldest ? current - oldest : 0, stopped);
    if (stopped()) return false;
    if (auto ok = domain_->wait_durable(domain_->current_epoch()); !ok) {
        return tl::unexpected(ok.error());
    }
    HF_PERSIST_POINT("store B1: everything visited is durable before the failed set is emptied");
    auto cleared = domain_->clear_failed();
    if (!cleared) return tl::unexpected(cleared.error());
    return true;
}

template <class D>
void engine<D>::stop_pass() {
    stopping_.store(true, std::memory_order_relaxed);
    if (pass_.joinable()) pass_.join();
}

}  // namespace hf
