// snapshot.cpp: the public snapshot (include/holdfast/snapshot.hpp) over a snapshot_machine.
#include <holdfast/snapshot.hpp>

#include "base/check.hpp"
#include "snapshot/machine.hpp"
#include "sync/fork.hpp"

#include <new>
#include <utility>

namespace hf {

struct snapshot::impl {
    std::unique_ptr<snapshot_machine> machine;
    process_mark made_in;

    [[nodiscard]] snapshot_machine& in_use() const {
        HF_CHECK(machine != nullptr, "the snapshot was closed");
        return *machine;
    }
    [[nodiscard]] epoch_manager& epochs() const { return in_use().epochs(); }
    /// The caller's lane, which must be outside of guards: a checkpoint would wait for itself.
    [[nodiscard]] lane& lane_outside() const {
        lane& l = epochs().my_lane();
        HF_CHECK(!l.presence.is_up(), "this thread holds a guard of the snapshot already");
        return l;
    }
    void check_outside() const { (void)lane_outside(); }
};

namespace {

result<page_tracker::way> way_of(page_tracking t, const std::filesystem::path& path) {
    switch (t) {
        case page_tracking::written:
            return page_tracker::way::written;
        case page_tracking::copies:
            return page_tracker::way::copies;
        case page_tracking::all:
            return page_tracker::way::all;
    }
    return failure({errc::usage, "open the snapshot", path.string(),
                    "the way to track pages is unknown", "use one of page_tracking"});
}

}  // namespace

snapshot::snapshot(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
snapshot::snapshot(snapshot&&) noexcept = default;

snapshot& snapshot::operator=(snapshot&& other) noexcept {
    if (this != &other) {
        if (impl_) (void)close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

snapshot::~snapshot() {
    if (impl_) (void)close();
}

result<snapshot> snapshot::open(const std::filesystem::path& path,
                                const snapshot_options& options) {
    const auto way = way_of(options.tracking, path);
    if (!way) return tl::unexpected(way.error());
    snapshot_machine_options all;
    all.file = options.region;
    all.epochs.epoch = options.epoch;
    all.tracking = *way;
    all.bytes = options.bytes;
    auto machine = snapshot_machine::open(path, all);
    if (!machine) return tl::unexpected(machine.error());
    auto p = std::make_unique<impl>();
    p->machine = std::move(*machine);
    return snapshot(std::move(p));
}

result<void> snapshot::close() {
    if (!impl_->machine) return {};
    if (impl_->made_in.is_inherited()) {
        return leave_to_parent(impl_->machine, "close the snapshot");
    }
    impl_->check_outside();
    auto closed = impl_->machine->close();
    impl_->machine.reset();
    return closed;
}

std::span<std::byte> snapshot::memory() const noexcept {
    return impl_->machine ? impl_->machine->memory() : std::span<std::byte>{};
}

namespace {

tl::unexpected<error> closed(const char* what) {
    return failure({errc::usage, what, "the snapshot", "it was closed", "open it anew"});
}

}  // namespace

result<void> snapshot::grow(std::uint64_t bytes) {
    if (!impl_->machine) return closed("grow the snapshot");
    impl_->check_outside();
    return impl_->in_use().grow(bytes);
}

result<ticket> snapshot::checkpoint() {
    if (!impl_->machine) return closed("take a checkpoint");
    impl_->check_outside();
    return impl_->in_use().checkpoint();
}

result<void> snapshot::wait_durable(ticket t) {
    if (!impl_->machine) return closed("wait for a checkpoint");
    impl_->check_outside();
    return impl_->epochs().wait_durable(t);
}

result<void> snapshot::checkpoint_durably() {
    const auto taken = checkpoint();
    return taken ? wait_durable(*taken) : tl::unexpected(taken.error());
}

ticket snapshot::durable() const noexcept {
    return impl_->machine ? impl_->epochs().durable_epoch() : 0;
}
bool snapshot::created() const noexcept {
    return impl_->machine && impl_->machine->file().created();
}
bool snapshot::recovered() const noexcept {
    return impl_->machine && !impl_->machine->file().was_clean();
}

snapshot_statistics snapshot::stats() const {
    snapshot_statistics s;
    if (!impl_->machine) return s;
    const epoch_manager& d = impl_->epochs();
    s.epoch = d.current_epoch();
    s.durable = d.durable_epoch();
    s.created = created();
    s.recovered = recovered();
    s.bytes = memory().size();
    const journalled_file* const journal = d.journal();
    if (const page_tracker* t = journal != nullptr ? journal->tracker() : nullptr) {
        s.tracking = to_string(t->how());
        s.pages_looked_at = t->pages_looked_at();
        s.lines_found = t->lines_found();
        s.last_look_ns = t->last_collect_ns();
    }
    s.pause = d.pauses();
    s.journal = d.journal_numbers();
    return s;
}

snapshot::guard::guard(const snapshot& s) {
    static_assert(sizeof(epoch_guard) == sizeof inside_ && alignof(epoch_guard) <= 8);
    epoch_manager& d = s.impl_->epochs();
    lane& mine = s.impl_->lane_outside();
    d.slow_writer();
    const auto* inside = ::new (static_cast<void*>(inside_)) epoch_guard(d, mine);
    mine.mark_written();  // assumed: the clock has no better information
    epoch_ = inside->epoch();
}

snapshot::guard::~guard() { std::launder(reinterpret_cast<epoch_guard*>(inside_))->~epoch_guard(); }

}  // namespace hf
