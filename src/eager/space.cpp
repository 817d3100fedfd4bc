#include "eager/space.hpp"

#include "base/check.hpp"
#include "eager/eager_area.hpp"
#include "epoch/epoch_area.hpp"
#include "epoch/session_begin.hpp"
#include "persist/persist_point.hpp"

#include <utility>

namespace hf {
namespace {

error yardstick_on_a_disk(const std::string& where) {
    return {errc::medium, "open the transient region", where,
            "its image is journalled, and nothing of it would reach the file",
            "put it on tmpfs with a shared image, or open it with discipline eager"};
}

}  // namespace

eager_space::eager_space(opened_region opened)
    : opened_(std::move(opened)),
      heap_(std::make_unique<swept_heap>(*opened_.file)),
      grace_(std::make_unique<grace_periods>(*heap_)),
      records_at_opening_(file().created() ? u64{0} : counted_records(file().super())) {}

eager_space::~eager_space() {
    if (sweeper_.joinable()) sweeper_.join();
}

result<std::unique_ptr<eager_space>> eager_space::open(const std::filesystem::path& path,
                                                       const eager_options& options,
                                                       std::span<const layout::room_format> rooms,
                                                       const structures& open_structures) {
    HF_CHECK(
        options.region.kind == discipline::eager || options.region.kind == discipline::transient,
        "an eager space of another discipline");
    std::vector<layout::room_format> all(rooms.begin(), rooms.end());
    all.push_back(swept_format);
    all.push_back(eager_format);
    all.push_back(epoch_format);
    opening_options o;
    o.file = options.region;
    o.rooms = all;
    o.accept = [&](medium_kind, bool is_journalled) -> result<void> {
        if (!is_journalled || options.region.kind == discipline::eager) return {};
        return failure(yardstick_on_a_disk(path.string()));
    };
    auto opened = open_region(path, o);
    if (!opened) return tl::unexpected(opened.error());
    region& file = *opened->file;
    file.back_rest_of_window();
    if (file.kind() != options.region.kind) {
        return failure({errc::incompatible, "open the eager region", path.string(),
                        "its discipline is " + std::string(to_string(file.kind())),
                        "open it with the program that created it"});
    }
    if (file.kind() == discipline::transient && !file.created()) {
        return failure({errc::incompatible, "open the region", path.string(),
                        "its discipline is transient: nothing in it outlives its process",
                        "create it anew"});
    }
    std::unique_ptr<eager_space> made(new eager_space(std::move(*opened)));
    if (auto ok = made->bring_up(options, open_structures); !ok) return tl::unexpected(ok.error());
    return made;
}

result<std::unique_ptr<eager_space>> eager_space::create_volatile(
    u64 bytes, const eager_options& options, const structures& open_structures) {
    auto opened = hf::create_volatile(bytes, options.region);
    if (!opened) return tl::unexpected(opened.error());
    std::unique_ptr<eager_space> made(new eager_space(std::move(*opened)));
    if (auto ok = made->bring_up(options, open_structures); !ok) return tl::unexpected(ok.error());
    return made;
}

result<void> eager_space::bring_up(const eager_options& options,
                                   const structures& open_structures) {
    recovery_driver& driver = opened_.steps;
    if (opened_.journal != nullptr) {
        driver.add(recovery_phase::epochs, "epochs", [&] { return read_epochs(options.epoch); });
    }
    driver.add(recovery_phase::allocator, "heap", [&] { return heap_->open(); });
    driver.add(recovery_phase::discipline, "session", [&] { return begin_session(); });
    driver.add(recovery_phase::discipline, "structures", [&]() -> result<void> {
        const u64 known = roots();
        auto opened = open_structures(*this);
        if (!opened || file().read_only() || roots() == known) return opened;
        // roots created here are durable before the region is in use
        return wait_durable(current_epoch());
    });
    if (!file().read_only()) {
        driver.add(recovery_phase::discipline, "roots", [&] { return check_all_are_open(); });
    }
    if (!file().read_only() && options.sweep == sweeping::at_opening) {
        driver.add(recovery_phase::verification, "sweep", [&]() -> result<void> {
            auto done = sweep(options.sweep_threads);
            return done ? result<void>{} : tl::unexpected(done.error());
        });
    }
    if (!file().read_only() && options.sweep == sweeping::in_background) {
        driver.add(recovery_phase::service, "sweeper", [&]() -> result<void> {
            sweeper_ = std::thread([this, threads = options.sweep_threads] {
                if (auto done = sweep(threads); !done) sweep_error_ = done.error();
            });
            return {};
        });
    }
    if (opened_.journal != nullptr) {
        driver.add(recovery_phase::service, "clock", [&]() -> result<void> {
            epochs_->start_clock();
            return {};
        });
    }
    auto ok = driver.run();
    report_ = driver.report();
    return ok;
}

result<void> eager_space::read_epochs(std::chrono::microseconds length) {
    auto epochs = epoch_manager::open(opened_, {length, true});
    if (!epochs) return tl::unexpected(epochs.error());
    epochs_ = std::move(*epochs);
    return {};
}

/// The first epoch after those that a crash of a session on a journalled image may have taken
/// (session_begin.hpp); nullopt: there was no such crash.
result<std::optional<u64>> eager_space::epochs_lost_before() const {
    if (file().was_clean() || !layout::is_journalled(file().super())) return std::nullopt;
    const auto begin = begin_of_session(file());
    if (!begin) return tl::unexpected(begin.error());
    return begin->first;
}

result<void> eager_space::begin_session() {
    if (file().read_only()) return {};
    if (epochs_) {  // no volatile leftovers in the caches: memory was private to the dead process
        auto ok = epochs_->start([](layout::superblock& s) { set_version(s, epoch_format); });
        generation_ = static_cast<u32>(file().super().generation);
        return ok;
    }
    is_after_a_kill_.store(!file().created() && !file().was_clean(), std::memory_order_release);
    const auto lost = epochs_lost_before();
    if (!lost) return tl::unexpected(lost.error());
    auto ok = file().update_super([&](layout::superblock& s) {
        s.generation += 1;
        s.clean = 0;
        if (*lost) change_epoch_area(s, [&](epoch_area& e) { e.first_epoch_of_session = **lost; });
    });
    if (!ok) return ok;
    HF_PERSIST_POINT("eager O1: the generation is durable before a lock of it is taken");
    generation_ = static_cast<u32>(file().super().generation);
    return {};
}

lane& eager_space::enter_epoch() {
    lane& mine = epochs_->my_lane();
    epochs_->enter(mine);
    return mine;
}

void eager_space::leave_epoch(lane& mine) noexcept { epoch_manager::leave(mine); }

void eager_space::run_in_epoch(const std::function<void()>& work) {
    std::optional<epoch_guard> inside;
    if (epochs_) inside.emplace(*epochs_);
    work();
}

void eager_space::reclaim() {
    std::vector<u64> retired;
    grace_->take_from_idle(&retired);
    grace_->wait();
    run_in_epoch([&] { grace_->free_taken(grace_->my_lane(), retired); });
}

u64 eager_space::roots() const noexcept {
    u64 found = 0;
    for (const layout::root& r : file().header().roots) {
        if (r.value.load(std::memory_order_acquire) != 0) ++found;
    }
    return found;
}

/// A root that no opened structure traces would be freed by the sweep.
result<void> eager_space::check_all_are_open() const {
    if (roots() == structures_.size()) return {};
    return failure({errc::incompatible, "sweep the eager region", file().path().string(),
                    "it has " + std::to_string(roots()) + " roots, of which " +
                        std::to_string(structures_.size()) + " have been opened",
                    "open all of its structures with the program that made them"});
}

result<swept_heap::sweep_figures> eager_space::sweep(unsigned threads) {
    if (auto ok = check_all_are_open(); !ok) return tl::unexpected(ok.error());
    const swept_heap::operations others{
        [this] { grace_->wait(); },
        [this](const std::function<void()>& work) { run_in_epoch(work); }};
    auto done = heap_->collect(structures_, others, threads);
    if (done) {
        swept_ = *done;
        is_after_a_kill_.store(false, std::memory_order_release);
    }
    return done;
}

result<void> eager_space::wait_for_sweep() {
    if (sweeper_.joinable()) sweeper_.join();
    if (sweep_error_) return failure(*sweep_error_);
    return {};
}

result<void> eager_space::close(std::optional<u64> records) {
    if (auto ok = wait_for_sweep(); !ok) return ok;
    run_in_epoch([this] { grace_->reclaim_all(); });
    if (file().read_only() || file().kind() == discipline::transient) return {};
    const auto tell = [records](layout::superblock& s) {
        if (records) set_counted_records(s, *records);
    };
    if (epochs_) {
        if (auto ok = epochs_->update_super(tell); !ok) return ok;
        return epochs_->close();
    }
    return file().update_super([&](layout::superblock& s) {
        tell(s);
        s.clean = 1;
    });
}

}  // namespace hf
