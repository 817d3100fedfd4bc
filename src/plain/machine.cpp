#include "plain/machine.hpp"

#include "epoch/epoch_area.hpp"
#include "transaction/transaction_area.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace hf::plain {
namespace {

constexpr layout::room_format rooms[] = {epoch_format, alloc_format, transaction_format,
                                         plain_format};
constexpr u16 owner = 0;

result<opened_region> open_file(const std::filesystem::path& path, const machine_options& o) {
    opening_options all;
    all.file = o.file;
    all.file.kind = discipline::plain;
    // The memory is appended. The allocator, which has nothing to do, takes no less.
    all.file.initial_size = 3 * layout::page_size;
    all.rooms = rooms;
    all.upgrades = transaction_upgrades();
    auto opened = open_region(path, all);
    if (!opened || opened->file->kind() == discipline::plain) return opened;
    return failure({errc::incompatible, "open plain memory", path.string(),
                    "the region is of discipline " + std::string(to_string(opened->file->kind())),
                    "open it with the program that created it"});
}

transaction_options of_engine() {
    transaction_options t;
    t.epoch = no_clock;
    t.engine = engine_kind::shadow;
    t.kept = detail::isolation::alone;
    return t;
}

}  // namespace

result<std::unique_ptr<machine>> machine::open(const std::filesystem::path& path,
                                               const machine_options& o) {
    auto opened = open_file(path, o);
    if (!opened) return tl::unexpected(opened.error());
    std::unique_ptr<machine> m(new machine(std::move(*opened)));
    transaction_opening steps(m->up_, of_engine());
    steps.add(recovery_phase::discipline, "memory", [&] { return m->find_memory(o.bytes); });
    steps.add(recovery_phase::discipline, "image", [&]() -> result<void> {
        auto image = working_image::make(m->file(), o.tracking);
        if (!image) return tl::unexpected(image.error());
        m->image_ = std::move(*image);
        return {};
    });
    if (auto ok = steps.run(); !ok) return tl::unexpected(ok.error());
    return m;
}

result<void> machine::find_memory(u64 bytes) {
    u64 pages = bytes / layout::page_size + (bytes % layout::page_size != 0 ? 1 : 0);
    for (const segment& s : file().segments()) {
        if (s.kind == segment_kind::memory) pages -= std::min(pages, s.pages);
    }
    if (pages == 0 || file().read_only()) return {};
    auto grown = file().grow(segment_kind::memory, pages, owner);
    return grown ? result<void>{} : tl::unexpected(grown.error());
}

result<void> machine::close() {
    image_.reset();
    return up_.close();
}

result<void> machine::accept(const char* what) const {
    const std::string path = file().path().string();
    if (is_inherited()) return failure(inherited(what, path));
    if (std::this_thread::get_id() != owner_) {
        return failure({errc::usage, what, path, "another thread opened the memory",
                        "commit and abort in the thread that opened it"});
    }
    if (file().read_only()) {
        return failure(
            {errc::denied, what, path, "it was opened for inspection", "open it for writing"});
    }
    return {};
}

result<u64> machine::commit() {
    if (auto ok = accept("commit a transaction"); !ok) return tl::unexpected(ok.error());
    const auto changes = image_->find_changes();
    if (!changes.empty()) {
        ticket when = 0;
        auto done = up_.all().later(
            [&](transaction& t) {
                for (const changed_line& l : changes) t.store_bytes(l.home, l.mine, line_size);
            },
            when);
        if (!done) return tl::unexpected(done.error());
        newest_ = when;
        ++commits_;
        lines_ += changes.size();
    }
    image_->settle();
    return newest_;
}

result<void> machine::abort() {
    if (auto ok = accept("abort a transaction"); !ok) return ok;
    image_->restore();
    ++aborts_;
    return {};
}

result<void> machine::wait_durable(u64 t) {
    if (is_inherited()) return failure(inherited("wait for a commit", file().path().string()));
    return up_.all().wait_durable(t);
}

}  // namespace hf::plain
