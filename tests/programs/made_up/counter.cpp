#include "made_up/counter.hpp"

#include "base/random.hpp"
#include "epoch/epoch_area.hpp"
#include "persist/persist_point.hpp"

namespace made_up {
namespace {

using hf::failure;
using hf::result;

constexpr hf::layout::room_format rooms[] = {hf::epoch_format, {"made_up", 1}};

result<void> accept(bool is_journalled, const std::filesystem::path& path) {
    if (!is_journalled) return {};
    return failure({hf::errc::medium, "open the counter", path.string(),
                    "its image is journalled, where a flush makes nothing durable",
                    "put it on persistent memory or on tmpfs, with a shared image"});
}

}  // namespace

void register_discipline() {
    hf::registry::add({number, "made-up", "it holds a counter", true, false, false});
}

u64 counter::check_of(u64 value) noexcept { return hf::splitmix64(value ^ 0xC0FFEE)(); }

counter::slot& counter::slot_of(u64 value) const noexcept {
    return *file_->at<slot>(hf::layout::page_size + value % 2 * sizeof(slot));
}

result<std::unique_ptr<counter>> counter::open(const std::filesystem::path& path,
                                               hf::region_options options) {
    options.kind = number;
    options.initial_size = 2 * hf::layout::page_size;
    hf::opening_options o;
    o.file = options;
    o.rooms = rooms;
    o.accept = [&path](hf::medium_kind, bool is_journalled) { return accept(is_journalled, path); };
    auto opened = open_region(path, o);
    if (!opened) return tl::unexpected(opened.error());
    hf::epoch_options by_hand;
    by_hand.epoch = hf::no_clock;
    auto epochs = hf::epoch_manager::open(*opened, by_hand);
    if (!epochs) return tl::unexpected(epochs.error());
    std::unique_ptr<counter> made(new counter);
    made->file_ = std::move(opened->file);
    made->epochs_ = std::move(*epochs);
    if (auto ok = made->recover(); !ok) return tl::unexpected(ok.error());
    if (made->file_->read_only()) return made;
    if (auto ok = made->epochs_->start(); !ok) return tl::unexpected(ok.error());
    return made;
}

/// A slot of zeros was never written: it stands for 0.
result<void> counter::recover() {
    bool is_sound = false;
    for (const u64 side : {0, 1}) {
        const slot& s = slot_of(side);
        const bool is_new = s.value == 0 && s.check == 0;
        if (!is_new && s.check != check_of(s.value)) continue;
        is_sound = true;
        value_ = std::max(value_, s.value);
    }
    if (is_sound) {
        if (file_->read_only()) return {};
        file_->med().persist(&slot_of(0), 2 * sizeof(slot));
        HF_PERSIST_POINT("made_up M2: the slots that recovery read are durable before add_one()");
        return {};
    }
    return failure(
        {hf::errc::corrupt, "open the counter",
         file_->path().string() + " at offset " + std::to_string(file_->offset_of(&slot_of(0))),
         "neither of its slots has a valid checksum", "restore it from a copy"});
}

void counter::add_one() {
    ++value_;
    slot& s = slot_of(value_);
    s.value = value_;
    s.check = check_of(value_);
    file_->med().persist(&s, sizeof s);
    HF_PERSIST_POINT("made_up M1: the counter's slot is durable before add_one() returns");
}

result<void> counter::close() { return epochs_->close(); }

}  // namespace made_up
