#include "section/group.hpp"

#include "alloc/geometry.hpp"
#include "base/check.hpp"
#include "epoch/epoch_area.hpp"
#include "persist/persist_point.hpp"

#include <sys/mman.h>

#include <cstring>

namespace hf::section {
namespace {

constexpr layout::room_format rooms[] = {epoch_format, section_format};
constexpr u64 table_version = 1;

result<opened_region> open_file(const std::filesystem::path& path, const group_options& o) {
    opening_options all;
    all.file.kind = discipline::section;
    all.file.initial_size = first_size(std::max(o.bytes, u64{8} * page_bytes), o.max_bytes);
    all.file.max_size = o.max_bytes;
    all.file.keep_address = true;
    all.file.flush = o.flush;
    if (!o.announced || o.is_private) all.file.image = image_kind::journalled;
    all.journal.shape = o.journal;
    if (!o.announced) all.journal.track = page_tracker::way::written;
    // Some words are stored to and never announced: HF_TRANSIENT members, section::mutex.
    all.journal.keep_all_pages = o.announced;
    all.file.memory = o.memory;
    all.rooms = rooms;
    return open_region(path, all);
}

}  // namespace

result<std::unique_ptr<group>> group::open(const std::filesystem::path& path,
                                           const group_options& o, thread_record& me) {
    auto opened = open_file(path, o);
    if (!opened) return tl::unexpected(opened.error());
    std::unique_ptr<group> g(new group);
    const bool in_place = opened->journal == nullptr;
    recovery_driver& steps = opened->steps;
    steps.add(recovery_phase::epochs, "epochs", [&] { return g->read_epochs(*opened); });
    steps.add(recovery_phase::format, "table", [&] { return g->check_table(o); });
    steps.add(recovery_phase::logs, "log", [&] { return g->recover(); });
    steps.add(recovery_phase::discipline, "session", [&] { return g->begin_session(o, in_place); });
    steps.add(recovery_phase::discipline, "heap", [&]() -> result<void> {
        ::madvise(g->file_->base(), g->file_->size(), MADV_DONTFORK);
        g->heap_ = std::make_unique<heap>(*g->file_);
        return g->heap_->open();
    });
    if (!o.keep_unreachable) {
        steps.add(recovery_phase::verification, "unreachable blocks", [&]() -> result<void> {
            change by = g->change_by(me);
            g->reclaimed_ = reclaim_unreachable(*g->heap_, g->table(), by);
            return {};
        });
    }
    if (auto ok = steps.run(); !ok) return tl::unexpected(ok.error());
    return g;
}

result<void> group::read_epochs(opened_region& opened) {
    epoch_options by_hand;
    by_hand.epoch = no_clock;
    auto epochs = epoch_manager::open(opened, by_hand);
    if (!epochs) return tl::unexpected(epochs.error());
    file_ = std::move(opened.file);
    epochs_ = std::move(*epochs);
    return {};
}

result<void> group::begin_session(const group_options& o, bool in_place) {
    if (o.mode == group_mode::graph && file_->was_clean()) graph::empty_logs(*file_);
    if (auto ok = epochs_->start(); !ok) return ok;
    if (o.mode == group_mode::graph) {
        auto graph = graph_sections::open(*file_, o.graph);
        if (!graph) return tl::unexpected(graph.error());
        graph_ = std::move(*graph);
    } else if (o.announced) {
        undo_ = std::make_unique<first_touch>(*file_, in_place);
    }
    return {};
}

result<void> group::recover() {
    const auto interrupted = epochs_->interrupted_epoch();
    if (!interrupted || table().mode == static_cast<u64>(group_mode::graph)) return {};
    const auto applied = apply_log(*file_, *interrupted, 1);
    if (!applied) return tl::unexpected(applied.error());
    undone_ = applied->entries;
    HF_PERSIST_POINT("section R1: the lines of the interrupted epoch are undone before a new one");
    return {};
}

result<void> group::check_table(const group_options& o) {
    group_table& t = table();
    if (t.magic == 0) {
        lay_table(o);
        return check_mode(o.mode);
    }
    const auto refuse = [&](errc code, std::string why, std::string next) {
        return failure({code, "open the group of regions", file_->path().string(), std::move(why),
                        std::move(next)});
    };
    if (t.magic != table_magic || t.version != table_version) {
        return refuse(errc::corrupt, "its table of regions is damaged",
                      "restore the file from a copy");
    }
    if (t.address != reinterpret_cast<u64>(file_->base())) {
        char why[128];
        std::snprintf(why, sizeof why, "it must be mapped at 0x%llx, and the kernel gave 0x%llx",
                      static_cast<unsigned long long>(t.address),
                      static_cast<unsigned long long>(reinterpret_cast<u64>(file_->base())));
        return refuse(errc::incompatible, why,
                      "close other regions of this process, or start it with fewer mappings: "
                      "pointers in the group are addresses");
    }
    const std::string made_by(t.program, ::strnlen(t.program, sizeof t.program));
    if (!o.program.empty() && !made_by.empty() && made_by != o.program) {
        return refuse(errc::incompatible,
                      "it belongs to the program \"" + made_by + "\", not \"" + o.program + "\"",
                      "choose another file");
    }
    return check_mode(o.mode);
}

/// T3.
result<void> group::check_mode(group_mode wanted) {
    u64& mode = table().mode;
    const bool is_other = mode != static_cast<u64>(wanted);
    const bool was_graph = mode == static_cast<u64>(group_mode::graph);
    if (is_other && !file_->was_clean() && !file_->created()) {
        const std::string its = was_graph ? "graph" : "epoch";
        return failure({errc::incompatible, "open the group of regions", file_->path().string(),
                        "its last session was in " + its +
                            " mode and was not closed in order: only that mode can undo it",
                        "open it in " + its + " mode once, and close it"});
    }
    if (is_other) {
        std::atomic_ref<u64>(mode).store(static_cast<u64>(wanted), std::memory_order_release);
    }
    file_->med().persist(&mode, sizeof mode);
    HF_PERSIST_POINT("section T3: the mode is durable before the session begins");
    return {};
}

/// Before the first epoch: there is nothing to go back to yet. The magic word is stored last.
void group::lay_table(const group_options& o) {
    group_table& t = table();
    t.address = reinterpret_cast<u64>(file_->base());
    t.version = table_version;
    t.mode = static_cast<u64>(o.mode);
    std::memcpy(t.program, o.program.data(), std::min(o.program.size(), sizeof t.program - 1));
    file_->med().persist(&t, offsetof(group_table, regions));  // the rest is zero
    HF_PERSIST_POINT("section T1: the table is durable before its magic word");
    std::atomic_ref<u64>(t.magic).store(table_magic, std::memory_order_release);
    file_->med().persist(&t.magic, sizeof t.magic);
    HF_PERSIST_POINT("section T2: the table counts before the session begins");
}

bool group::is_ready() {
    journalled_file* const journal = epochs_->journal();
    if (journal == nullptr) return true;
    epochs_->wait_for_base();
    return journal->redo()->is_ready() && epochs_->accepts_writes();
}

bool group::cut(const thread_table& threads) {
    const u64 ending = epoch();
    if (undo_ != nullptr && is_in_place()) undo_->write_back(threads);
    if (undo_ != nullptr && !is_in_place()) {
        first_touch::collect(threads, *epochs_->journal()->dirty());
    }
    HF_PERSIST_POINT("section U2: every touched line is durable before the epoch is counted");
    epochs_->end_epoch();
    if (epoch() == ending) return false;
    HF_PERSIST_POINT("section U3: the epoch is counted before its log is used again");
    if (undo_ != nullptr) undo_->reset(threads);
    return true;
}

result<void> group::close() {
    if (graph_ != nullptr) {
        if (!graph_->step()) {
            return failure({errc::busy, "close the group of regions", file_->path().string(),
                            "a section has not ended, and others depend on it",
                            "end all other threads first"});
        }
        graph_.reset();
    }
    return epochs_->close();
}

}  // namespace hf::section
