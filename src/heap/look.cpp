#include "heap/look.hpp"

#include "epoch/epoch_area.hpp"
#include "heap/layout.hpp"
#include "recovery/upgrade.hpp"
#include "transaction/transaction_area.hpp"

namespace hf::nv {
namespace {

constexpr layout::room_format rooms[] = {epoch_format, alloc_format, transaction_format,
                                         heap_format};

result<void> check_discipline(const region& r) {
    const bool is_heap = r.kind() == discipline::transaction &&
                         layout::version_of(r.super(), layout::name_of(heap_format)) != 0;
    if (is_heap) return {};
    return failure(
        {errc::incompatible, "inspect the heap", r.path().string(),
         "it holds no heap of objects: its discipline is " + std::string(to_string(r.kind())),
         "see `holdfast info`"});
}

}  // namespace

std::span<const layout::room_format> heap_rooms() noexcept { return rooms; }

result<u64> find_control(const region& r) {
    const auto found = r.find_root(root_name);
    if (!found) {
        return failure({errc::incompatible, "inspect the heap", r.path().string(),
                        "it was made, and never opened to its end: nothing is in it",
                        "open it with its program"});
    }
    const u64 at = (*found)->value.load(std::memory_order_acquire);
    if (at % 16 == 0 && at <= r.size() - sizeof(control_block) &&
        r.at<control_block>(at)->magic == control_block::magic_value) {
        return at;
    }
    return failure({errc::corrupt, "open the heap", r.path().string(),
                    "its control block is damaged", "restore the file from a backup"});
}

result<heap_look> heap_look::open(const std::filesystem::path& path) {
    opening_options o;
    o.file.mode = open_mode::inspect;
    auto opened = open_region(path, o);
    if (!opened) return tl::unexpected(opened.error());
    heap_look look;
    look.opened_ = std::move(*opened);
    // Before the formats: the rooms of other disciplines are unknown here.
    if (auto ok = check_discipline(look.file()); !ok) return tl::unexpected(ok.error());
    auto ready = upgrade(*look.opened_.file, rooms, transaction_upgrades());
    if (!ready) return tl::unexpected(ready.error());
    epoch_options by_hand;
    by_hand.epoch = no_clock;
    auto epochs = epoch_manager::open(look.opened_, by_hand);
    if (!epochs) return tl::unexpected(epochs.error());
    look.epochs_ = std::move(*epochs);
    if (const auto interrupted = look.epochs_->interrupted_epoch()) {
        const auto engine = engine_of(look.file());
        if (!engine) return tl::unexpected(engine.error());
        const auto applied = (*engine)->recover(*look.opened_.file, *interrupted);
        if (!applied) return tl::unexpected(applied.error());
        look.recovered_ = applied->records;
    }
    const auto control = find_control(look.file());
    if (!control) return tl::unexpected(control.error());
    look.control_ = *control;
    return look;
}

result<heap_facts> heap_look::read() const {
    static const std::vector<u64> nobody;
    return heap_reader(file(), control_, nobody).read();
}

}  // namespace hf::nv
