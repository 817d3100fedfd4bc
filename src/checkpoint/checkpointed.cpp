// checkpointed.cpp: the public interface of checkpointing (include/holdfast/checkpoint.hpp) over
// the parts of this room: opening, operation, logged groups, external log, list heap.
//
// The root object is in heap_root::founding, which no list can roll back: it is created, as zeros,
// when the region is formatted, and published before the first epoch (like the Masstree's root
// leaf).
#include <holdfast/checkpoint.hpp>

#include "base/check.hpp"
#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint/heap/heap.hpp"
#include "checkpoint/heap/upgrade.hpp"
#include "checkpoint/inspect.hpp"
#include "checkpoint/logged_cell.hpp"
#include "checkpoint/opening.hpp"
#include "checkpoint/operation.hpp"
#include "epoch/epoch_area.hpp"
#include "persist/persist_point.hpp"
#include "sync/fork.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace hf {

namespace {

using blocks = incll_discipline::memory;

constexpr const char* root_name = "structure";
constexpr u64 root_type = 0x5354;  // "ST"
constexpr layout::room_format user_format{"structure", 1};
constexpr layout::room_format all_rooms[] = {epoch_format, checkpoint_format, alloc_format,
                                             user_format};
const upgrade_step upgrades[] = {heap_upgrade};
constexpr u64 least_size = u64{16} << 20;  // enough for the heap's own pages
static_assert(line_size + checkpointed::root_bytes <= founding_bytes);

/// The payload size for an object, and the object's offset in it. A block whose size is a
/// multiple of a line starts on one, and its payload 16 bytes into it.
struct placement {
    u64 payload;
    u64 lead;
};

placement place(const blocks& heap, std::size_t bytes, std::size_t alignment) {
    HF_CHECK(alignment <= line_size && is_power_of_two(alignment), "an alignment of 1 to 64 bytes");
    if (alignment <= block_header_size) return {bytes, 0};
    constexpr u64 lead = line_size - block_header_size;
    u64 payload = bytes + lead;
    while (!is_large(payload)) {
        const u64 block = heap.block_for(payload);
        if (block % line_size == 0) break;
        payload = block - block_header_size + 1;  // of the next class
    }
    return {payload, lead};
}

}  // namespace

struct checkpointed::impl {
    checkpointed_region up;
    std::unique_ptr<blocks> heap;
    u64 root = 0;  ///< offset
    std::mutex mending;
    process_mark made_in;

    [[nodiscard]] static impl& of(const checkpointed& file) {
        HF_CHECK(file.impl_ != nullptr, "the file was closed");
        return *file.impl_;
    }
    [[nodiscard]] region& file() const { return up.file(); }
    [[nodiscard]] epoch_manager& epochs() const { return up.epochs(); }
    /// A boundary would wait for the caller's operation forever, or pass through it.
    void check_outside() const {
        HF_CHECK(!epochs().my_lane().presence.is_up(), "the caller is inside of an operation");
    }
    /// Registered or logged memory is written back with the region, so it must be in the region.
    void check_inside(const void* p, std::size_t bytes) const {
        const u64 offset = file().offset_of(p);
        HF_CHECK(offset >= layout::page_size && bytes <= file().size() &&
                     offset <= file().size() - bytes,
                 "memory outside of the file");
    }

    [[nodiscard]] result<void> format();
    [[nodiscard]] result<void> find_root();
    [[nodiscard]] result<void> bring_up(const checkpointed_options& options);
};

// A region without a root is new, or its creation was interrupted: it is formatted (again).
result<void> checkpointed::impl::format() {
    if (file().find_root(root_name) || file().read_only()) return {};
    if (file().super().generation != 0) {
        return failure({errc::incompatible, "open the file", file().path().string(),
                        "it is in use as something else than a file of structures",
                        "open it with the program that created it"});
    }
    const auto founding = format_heap(file());
    if (!founding) return tl::unexpected(founding.error());
    // format_heap() has left durable zeros there: an all-zero root needs no other store.
    auto published =
        file().publish_root(root_name, root_type, user_format.version, *founding + line_size);
    return published ? result<void>{} : tl::unexpected(published.error());
}

result<void> checkpointed::impl::find_root() {
    const auto found = file().find_root(root_name);
    if (!found) return tl::unexpected(found.error());
    root = (*found)->value.load(std::memory_order_acquire);
    const bool fits = (*found)->type == root_type && root % line_size == 0 &&
                      root >= layout::page_size && root <= file().size() - root_bytes;
    if (fits) return {};
    return failure({errc::corrupt, "open the file", file().path().string() + " at its root",
                    "the root lies outside of the region", "restore the file from a copy"});
}

result<void> checkpointed::impl::bring_up(const checkpointed_options& options) {
    checkpoint_options all;
    all.epoch = options.epoch;
    all.recovery_threads = options.recovery_threads;
    opening steps(up, all);
    steps.add(recovery_phase::format, "format", [this] { return format(); });
    steps.add(recovery_phase::allocator, "allocator", [this] {
        heap = std::make_unique<blocks>(up.checkpoint());
        return heap->recover();
    });
    steps.add(recovery_phase::discipline, "root", [this] { return find_root(); });
    return steps.run();
}

result<checkpointed> checkpointed::open(const std::filesystem::path& path,
                                        const checkpointed_options& options) {
    opening_options all;
    all.file = options.region;
    all.file.kind = discipline::incll;
    all.file.initial_size = first_size(all.file.initial_size, all.file.max_size, least_size);
    all.rooms = all_rooms;
    all.upgrades = upgrades;
    auto opened = open_region(path, all);
    if (!opened) return tl::unexpected(opened.error());
    auto p = std::make_unique<impl>();
    p->up = checkpointed_region(std::move(*opened));
    if (auto ok = p->bring_up(options); !ok) return tl::unexpected(ok.error());
    return checkpointed(std::move(p));
}

checkpointed::checkpointed(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
checkpointed::checkpointed(checkpointed&&) noexcept = default;

checkpointed& checkpointed::operator=(checkpointed&& other) noexcept {
    if (this != &other) {
        if (impl_) (void)close();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

checkpointed::~checkpointed() {
    if (impl_) (void)close();
}

result<void> checkpointed::close() {
    if (!impl_) return {};
    if (impl_->made_in.is_inherited()) return leave_to_parent(impl_, "close the file");
    const std::unique_ptr<impl> p = std::move(impl_);
    return p->epochs().close();
}

void* checkpointed::root_address() const noexcept {
    const impl& p = impl::of(*this);
    return p.file().at<std::byte>(p.root);
}

// -------------------------------------------------------------------------------------- operations

namespace {

/// The operation in an operation's storage.
hf::operation& inside(std::byte* storage) noexcept {
    return *std::launder(reinterpret_cast<hf::operation*>(storage));
}
const hf::operation& inside(const std::byte* storage) noexcept {
    return *std::launder(reinterpret_cast<const hf::operation*>(storage));
}

}  // namespace

checkpointed::operation::operation(checkpointed& file) : file_(&impl::of(file)) {
    static_assert(sizeof(hf::operation) == sizeof inside_ && alignof(hf::operation) <= 8);
    lane& mine = file_->epochs().my_lane();
    file_->check_outside();
    auto* const op = new (inside_) hf::operation(file_->up.checkpoint(), mine);
    epoch_ = op->epoch();
    horizon_ = op->horizon();
}

checkpointed::operation::~operation() { inside(inside_).~operation(); }

result<void*> checkpointed::operation::allocate(std::size_t bytes, std::size_t alignment) {
    hf::operation& op = inside(inside_);
    const placement p = place(*file_->heap, bytes, alignment);
    op.my_lane().mark_written();
    if (!is_large(p.payload)) {
        const auto offset = file_->heap->allocate(op, p.payload);
        if (!offset) return tl::unexpected(offset.error());
        return file_->file().at<void>(*offset + p.lead);
    }
    const auto offset = file_->heap->reserve_large(op, p.payload);
    if (!offset) return tl::unexpected(offset.error());
    file_->heap->commit_large(op, *offset, p.payload);
    return file_->file().at<void>(*offset + p.lead);
}

void checkpointed::operation::deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
    hf::operation& op = inside(inside_);
    file_->check_inside(memory, bytes);
    const placement p = place(*file_->heap, bytes, alignment);
    op.my_lane().mark_written();
    file_->heap->deallocate(op, file_->file().offset_of(memory) - p.lead, p.payload);
}

void checkpointed::operation::note(const void* p, std::size_t bytes) {
    if (bytes == 0) return;
    file_->check_inside(p, bytes);
    lane& mine = inside(inside_).my_lane();
    mine.mark_written();
    mine.note_once(p, bytes);
}

result<void> checkpointed::operation::log(std::atomic<std::uint64_t>& stamp, const void* p,
                                          std::size_t bytes) {
    file_->check_inside(p, bytes);
    HF_CHECK(bytes != 0 && bytes <= max_log_object, "an object of 1 to 4,096 bytes is logged");
    HF_CHECK(reinterpret_cast<std::uintptr_t>(p) % sizeof(u64) == 0, "a logged object is aligned");
    const auto* const word = reinterpret_cast<const std::byte*>(&stamp);
    const auto* const first = static_cast<const std::byte*>(p);
    HF_CHECK(word >= first && word + sizeof stamp <= first + bytes,
             "the stamp is a word of the object");
    if (stamp.load(std::memory_order_relaxed) == epoch_) return {};
    hf::operation& op = inside(inside_);
    lane& mine = op.my_lane();
    mine.mark_written();
    const log_object object{file_->file().offset_of(p), static_cast<u32>(bytes)};
    if (auto logged = op.log(std::span(&object, 1)); !logged) return logged;
    HF_PERSIST_POINT("checkpoint W3: an object's image is durable before the object changes");
    stamp.store(epoch_, std::memory_order_release);
    mine.note_sticky(p, bytes);
    return {};
}

// ------------------------------------------------------------------------------------ logged words

namespace {

/// The words of a logged_words<N> are those of a logged_group<N>.
template <class F>
auto with_group(void* words, unsigned n, F&& work) {
    switch (n) {
        case 1:
            return work(*static_cast<logged_group<1>*>(words));
        case 2:
            return work(*static_cast<logged_group<2>*>(words));
        default:
            return work(*static_cast<logged_group<3>*>(words));
    }
}
static_assert(sizeof(logged_group<3>) == 7 * sizeof(u64) && sizeof(logged_words<3>) == 64);

}  // namespace

void checkpointed::operation::begin_words(std::atomic<std::uint64_t>* words, unsigned n) {
    const std::size_t bytes = (2 * n + 1) * sizeof(u64);
    file_->check_inside(words, bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(words);
    HF_CHECK(address / line_size == (address + bytes - 1) / line_size,
             "logged words that cross a cache line");
    hf::operation& op = inside(inside_);
    with_group(words, n, [&](auto& group) {
        (void)group.recover(op.failed(), 0);  // not with this epoch: begin() would return false
        (void)group.begin(op.epoch());
    });
    op.my_lane().mark_written();
    op.my_lane().note_sticky(words, bytes);
}

// Read-only: a thread that changes the words undoes them first (W2).
std::uint64_t checkpointed::operation::old_word(const std::atomic<std::uint64_t>* words, unsigned n,
                                                unsigned i) const {
    const u64 epoch = words[2 * n].load(std::memory_order_acquire);
    const bool failed = inside(inside_).failed().contains(epoch);
    return words[failed ? n + i : i].load(std::memory_order_acquire);
}

// -------------------------------------------------------------------------------------- durability

namespace {

tl::unexpected<error> closed(const char* what) {
    return failure({errc::usage, what, "the file", "it was closed", "open it anew"});
}

}  // namespace

void checkpointed::end_epoch() {
    if (!impl_) return;
    impl_->check_outside();
    impl_->epochs().end_epoch();
}
result<void> checkpointed::wait_durable(ticket t) {
    if (!impl_) return closed("wait for an epoch");
    impl_->check_outside();
    return impl_->epochs().wait_durable(t);
}
result<void> checkpointed::sync() { return wait_durable(current_epoch()); }
ticket checkpointed::current_epoch() const noexcept {
    return impl_ ? impl_->epochs().current_epoch() : 0;
}
ticket checkpointed::durable_epoch() const noexcept {
    return impl_ ? impl_->epochs().durable_epoch() : 0;
}
bool checkpointed::created() const noexcept { return impl_ && impl_->file().created(); }
bool checkpointed::recovered() const noexcept { return impl_ && !impl_->file().was_clean(); }

std::size_t checkpointed::failed_epochs() const {
    if (!impl_) return 0;
    impl::of(*this).check_outside();
    const hf::operation op(impl::of(*this).up.checkpoint());  // the set changes only between them
    return op.failed().count();
}

bool checkpointed::must_mend() const {
    if (!impl_) return false;
    impl::of(*this).check_outside();
    checkpoint_state& state = impl::of(*this).up.checkpoint();
    const hf::operation op(state);  // as above
    return state.must_sweep_first() || state.restamp_due();
}

result<void> checkpointed::mend(const std::function<bool(operation&)>& visit) {
    if (!impl_) return closed("mend the file");
    impl& p = *impl_;
    const std::lock_guard alone(p.mending);
    for (bool more = true; more;) {
        operation op(*this);
        more = visit(op);
    }
    constexpr u64 oldest = u64{1} << 34;  // a quarter of the range of compact epochs
    const u64 now = current_epoch();
    p.heap->refresh(now - std::min(now, oldest), [] { return false; });
    if (auto ok = sync(); !ok) return ok;
    HF_PERSIST_POINT("checkpoint W4: everything mended is durable before the crash is forgotten");
    return p.up.checkpoint().clear_failed();
}

checkpointed_region& checkpointed_inspection::region_of(checkpointed& file) noexcept {
    return checkpointed::impl::of(file).up;
}

void checkpointed_inspection::abandon(checkpointed& file) noexcept { file.impl_.reset(); }

}  // namespace hf
