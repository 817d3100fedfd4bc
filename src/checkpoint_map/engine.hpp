// checkpoint_map/engine.hpp: brings up a region with epochs, heap and one Masstree, for any
// discipline of the checkpoint family.
//
// Purpose. Assembles the rooms in the order of the recovery driver: superblock (open_region),
// external log, allocator, root, session. checkpoint_map.cpp uses it with incll; benchmarks and
// tests also with the other disciplines.
//
// Recovery. When open() returns, operations can run; its cost does not depend on the region's size.
// The background pass does the lazy rest of the recovery: it visits every leaf and every block
// header, ends the epoch, and clears the failed set. After a crash during the pass it starts over
// in the next session.
#pragma once

#include "base/clock.hpp"
#include "checkpoint/opening.hpp"
#include "index/masstree/adapters.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace hf {

struct engine_options {
    region_options file;
    checkpoint_options epochs;
    bool background_pass = true;  ///< false: only run_pass() runs it
    /// For a new region: whether small values of short keys are stored in the leaves. An existing
    /// region records its own choice.
    bool inline_values = false;
    u64 hint_memory = 0;  ///< bytes of memory for leaf_hints; 0: no hints
};

template <any_discipline D>
class engine {
   public:
    static constexpr const char* root_name = "map";
    static constexpr u64 root_type = 0x4d54;  // "MT"
    /// Initial size of a region, unless its maximum is smaller.
    static constexpr u64 least_size = u64{16} << 20;

    /// Opens or creates the region at `path` and recovers it.
    [[nodiscard]] static result<std::unique_ptr<engine>> open(const std::filesystem::path& path,
                                                              engine_options options);
    /// Creates a tree in anonymous memory, for the transient disciplines.
    [[nodiscard]] static result<std::unique_ptr<engine>> open_volatile(u64 bytes,
                                                                       engine_options options);

    ~engine() { stop_pass(); }
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Ends the last epoch and marks the region clean. No operation may be running.
    [[nodiscard]] result<void> close() {
        stop_pass();
        return epochs().close();
    }

    [[nodiscard]] masstree<D>& tree() noexcept { return *tree_; }
    [[nodiscard]] typename D::memory& memory() noexcept { return *heap_; }
    [[nodiscard]] epoch_manager& epochs() noexcept { return up_.epochs(); }
    [[nodiscard]] checkpoint_state& checkpoint() noexcept { return up_.checkpoint(); }
    [[nodiscard]] region& file() noexcept { return up_.file(); }
    [[nodiscard]] u64 generation() const noexcept { return generation_; }

    /// Number of epochs that recovery read from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return up_.recovered_records(); }
    [[nodiscard]] u64 recovery_ns() const noexcept { return recovery_ns_; }
    [[nodiscard]] const std::vector<step_time>& recovery_steps() const noexcept { return steps_; }

    /// Visits everything that may be stamped with a failed epoch, then clears the set of failed
    /// epochs. Calls stopped() from time to time; returns false if it returned true. errc::corrupt:
    /// damage prevented a complete visit, and the failed epochs are kept.
    [[nodiscard]] result<bool> run_pass(const std::function<bool()>& stopped);
    [[nodiscard]] result<bool> run_pass() {
        return run_pass([this] { return stopping_.load(std::memory_order_relaxed); });
    }
    [[nodiscard]] bool pass_due() noexcept {
        return !checkpoint().failed().empty() || checkpoint().restamp_due();
    }

   private:
    explicit engine(opened_region opened) : up_(std::move(opened)) {}
    [[nodiscard]] result<void> bring_up(const engine_options& options);
    [[nodiscard]] result<void> find_root();
    [[nodiscard]] result<void> open_tree();
    [[nodiscard]] result<void> count_records();
    [[nodiscard]] bool visit_some(unsigned records, std::string& last, bool started);
    [[nodiscard]] bool visit_all(const std::function<bool()>& stopped);
    void stop_pass();

    checkpointed_region up_;
    std::unique_ptr<typename D::memory> heap_;
    std::unique_ptr<masstree<D>> tree_;
    u64 root_ = 0;
    u32 root_format_ = masstree_root_format;
    u64 generation_ = 0;
    u64 recovery_ns_ = 0;
    std::vector<step_time> steps_;
    std::atomic<bool> stopping_{false};
    std::thread pass_;
};

template <any_discipline D>
result<std::unique_ptr<engine<D>>> engine<D>::open(const std::filesystem::path& path,
                                                   engine_options options) {
    const u64 start = now_ns();
    options.file.kind = D::kind;
    options.epochs.durable = D::durable;
    options.file.initial_size =
        first_size(options.file.initial_size, options.file.max_size, least_size);
    auto opened = open_region(
        path, {.file = options.file, .rooms = masstree_rooms, .upgrades = masstree_upgrades});
    if (!opened) return tl::unexpected(opened.error());
    if (const discipline kind = opened->file->kind(); kind != D::kind) {
        return failure({errc::incompatible, "open the map", path.string(),
                        "the region is of discipline " + std::string(to_string(kind)),
                        "open it with the program that created it"});
    }
    std::unique_ptr<engine> e(new engine(std::move(*opened)));
    if (auto up = e->bring_up(options); !up) return tl::unexpected(up.error());
    e->recovery_ns_ = now_ns() - start;
    if (options.background_pass && !e->file().read_only() && e->pass_due()) {
        e->pass_ = std::thread([self = e.get()] { (void)self->run_pass(); });
    }
    return e;
}

template <any_discipline D>
result<std::unique_ptr<engine<D>>> engine<D>::open_volatile(u64 bytes, engine_options options) {
    options.file.kind = D::kind;
    options.epochs.durable = false;
    auto made = create_volatile(bytes, options.file);
    if (!made) return tl::unexpected(made.error());
    std::unique_ptr<engine> e(new engine(std::move(*made)));
    if (auto up = e->bring_up(options); !up) return tl::unexpected(up.error());
    return e;
}

template <any_discipline D>
result<void> engine<D>::bring_up(const engine_options& options) {
    opening up(up_, options.epochs);
    up.add(recovery_phase::format, "format", [&]() -> result<void> {
        // A fresh region, or one whose creation was interrupted before its root had a name.
        const auto root = file().find_root(root_name);
        if (root || file().read_only()) return {};
        if (file().super().generation != 0) {
            // The region was in use before: formatting it would destroy the data of a damaged
            // directory.
            return failure({errc::corrupt, "open the map",
                            file().path().string() + " in its root directory",
                            "the map's root is missing though the region has been used",
                            "restore the file from a copy"});
        }
        const auto place = format_heap(file());
        if (!place) return tl::unexpected(place.error());
        if (!D::memory::is_in_region) return {};
        return masstree<D>::create_root(
            file(), *place, root_name, root_type,
            options.inline_values ? inlined_root_format : masstree_root_format);
    });
    up.add(recovery_phase::allocator, "allocator", [&] {
        heap_ = std::make_unique<typename D::memory>(checkpoint());
        return heap_->recover();
    });
    up.add(recovery_phase::discipline, "root", [&] { return find_root(); });
    up.begin_session();
    up.add(recovery_phase::discipline, "tree", [&]() -> result<void> {
        if (auto opened = open_tree(); !opened) return opened;
        if (options.hint_memory != 0) tree_->keep_hints(file(), options.hint_memory);
        return {};
    });
    up.add(recovery_phase::verification, "sweep", [&]() -> result<void> {
        if (file().read_only() || !checkpoint().must_sweep_first()) return {};
        auto swept = run_pass();
        if (!swept) return tl::unexpected(swept.error());
        return {};
    });
    up.add(recovery_phase::verification, "count", [&]() -> result<void> {
        if (!D::memory::is_in_region || file().read_only() || heap_->counts_objects()) return {};
        return count_records();
    });
    auto done = up.run();
    steps_ = up.report();
    return done;
}

template <any_discipline D>
result<void> engine<D>::find_root() {
    if (!D::memory::is_in_region) return {};
    const auto wrong = [this](errc code, std::string why, std::string next) {
        return failure({code, "open the map", file().path().string() + " at its root",
                        std::move(why), std::move(next)});
    };
    const auto found = file().find_root(root_name);
    if (!found) return tl::unexpected(found.error());
    const region::root& root = **found;
    if (root.type != root_type || !reads_root_format(root.format)) {
        return wrong(errc::incompatible, "its root is of another type",
                     "open it with the program that created it");
    }
    root_ = root.value.load(std::memory_order_acquire);
    root_format_ = root.format;
    const u64 last =
        file().size() - (root.format == inlined_root_format ? masstree_detail::inlined_node_payload
                                                            : masstree_detail::node_payload);
    if (root_ < layout::page_size || root_ > last || root_ % line_size != block_header_size) {
        return wrong(errc::corrupt, "the tree's root lies outside of the region",
                     "run `holdfast check` and restore the file from a copy");
    }
    return {};
}

template <any_discipline D>
result<void> engine<D>::open_tree() {
    generation_ = file().super().generation + (file().read_only() ? 1 : 0);
    if (!D::memory::is_in_region) {
        operation op(checkpoint());
        auto made = masstree<D>::create_root(*heap_, op, generation_);
        if (!made) return tl::unexpected(made.error());
        root_ = *made;
    }
    tree_ = std::make_unique<masstree<D>>(*heap_, root_, generation_, root_format_);
    return {};
}

/// Counts the records once, if the region was created by a program that did not count them. Damage
/// does not make open() fail: the count stays unknown.
template <any_discipline D>
result<void> engine<D>::count_records() {
    if constexpr (D::memory::is_in_region) {
        u64 epoch = 0;
        try {
            operation op(checkpoint());
            epoch = op.epoch();
            u64 found = 0;
            (void)tree_->scan(op, "", false, [&](std::string_view, std::string_view) {
                ++found;
                return true;
            });
            op.my_lane().mark_written();
            heap_->count_objects(op, static_cast<std::int64_t>(found - heap_->objects()));
        } catch (const damage&) {
            return {};
        }
        if (auto ok = epochs().wait_durable(epoch); !ok) return ok;
        HF_PERSIST_POINT("store B2: the count is durable before the heap says that there is one");
        heap_->objects_are_counted();
        return epochs().wait_durable(epochs().current_epoch());
    }
    return {};
}

/// Keeps the last key of a batch of records. The scan checks that no leaf is passed over.
struct pass_visitor {
    static constexpr bool visits_every_leaf = true;
    unsigned left;
    std::string last{};
    [[nodiscard]] bool operator()(std::string_view key, std::string_view) {
        if (--left > 0) return true;
        last.assign(key);
        return false;
    }
};

/// Visits the leaves of up to `records` records after `last`, and moves `last` on. True: there are
/// no more. A pass goes on from `last` by a descent, which leads elsewhere if that key was damaged
/// and is larger than all keys of its leaf: so the descent must find it. Another thread may have
/// removed it meanwhile; then a batch of another length ends at another key. Throws damage.
template <any_discipline D>
bool engine<D>::visit_some(unsigned records, std::string& last, bool started) {
    constexpr unsigned max_attempts = 16;
    for (unsigned attempt = 0; attempt < max_attempts; ++attempt) {
        operation op(checkpoint());  // left after each batch: the pass must not hold the barrier
        pass_visitor visitor{records - attempt};
        if (tree_->scan(op, last, started, visitor)) return true;
        if (tree_->find_cell(op, visitor.last).kind == masstree_detail::cell_kind::none) continue;
        last = std::move(visitor.last);
        return false;
    }
    throw damage(root_, "a leaf has keys that no descent leads to");
}

/// Returns false if it was stopped. Throws damage.
template <any_discipline D>
bool engine<D>::visit_all(const std::function<bool()>& stopped) {
    constexpr unsigned records_per_operation = 256;
    std::string last;
    bool started = false;
    for (bool done = false; !done;) {
        if (stopped()) return false;
        done = visit_some(records_per_operation, last, started);
        started = true;
    }
    const u64 current = epochs().current_epoch();
    constexpr u64 oldest = u64{1} << 34;  // a quarter of the range of compact epochs
    heap_->refresh(current > oldest ? current - oldest : 0, stopped);
    return !stopped();
}

template <any_discipline D>
result<bool> engine<D>::run_pass(const std::function<bool()>& stopped) {
    try {
        if (!visit_all(stopped)) return false;
    } catch (const damage& d) {
        return failure(d.to_error("roll everything back", file().path()));
    }
    if (auto ok = epochs().wait_durable(epochs().current_epoch()); !ok) {
        return tl::unexpected(ok.error());
    }
    HF_PERSIST_POINT("store B1: everything visited is durable before the failed set is emptied");
    auto cleared = checkpoint().clear_failed();
    if (!cleared) return tl::unexpected(cleared.error());
    return true;
}

/// Opens a copied region, which recovers it, and closes it cleanly.
template <any_discipline D>
result<void> settle_tree(const std::filesystem::path& image) {
    engine_options options;
    options.file.mode = open_mode::open_existing;
    options.epochs.epoch = no_clock;
    options.background_pass = false;
    auto opened = engine<D>::open(image, options);
    return opened ? (*opened)->close() : tl::unexpected(opened.error());
}

template <any_discipline D>
void engine<D>::stop_pass() {
    stopping_.store(true, std::memory_order_relaxed);
    if (pass_.joinable()) pass_.join();
}

}  // namespace hf
