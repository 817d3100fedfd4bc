#include "crashlab/laboratory.hpp"

#include "base/check.hpp"
#include "crashlab/explore/guard.hpp"
#include "crashlab/production/trace_file.hpp"
#include "crashlab/runtime/file.hpp"
#include "crashlab/schedule/fibers.hpp"
#include "persist/persist_point.hpp"
#include "region/arena.hpp"

#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace hf::lab {
namespace {

recorder* writer() {
    return the_file.exploring != nullptr ? the_file.exploring->behind() : the_file.recording;
}

void on_point(const char* name) {
    if (recorder* r = writer(); r != nullptr) r->point(name);
}

static_assert(file_stride == window_size);

/// The start of the first window; the other `most_files` must follow it.
std::byte* first_window() {
    std::vector<window> all;
    for (unsigned f = 0; f < most_files; ++f) {
        auto place = window::take();
        HF_CHECK(place.has_value(), "no window for the lab");
        all.push_back(std::move(*place));
        HF_CHECK(all[f].base() == all[0].base() + f * window_size, "windows do not lie in a row");
    }
    return all[0].base();
}

std::byte* map_at(std::byte* where, u64 bytes) {
    void* p = ::mmap(
        where, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    HF_CHECK(p != MAP_FAILED, "no memory for the lab");
    return static_cast<std::byte*>(p);
}

}  // namespace

laboratory::laboratory() {
    // Regions are mapped at the first free window, so their addresses are always the same.
    memory_ = first_window();
    before_ = map_at(nullptr, most_files * capacity);
    clear(1);
    set_persist_point_hook(on_point);
}

void laboratory::clear(unsigned files) {
    // New zeroed memory and a new image: nothing of an earlier round remains.
    the_file = {};
    files_ = files;
    erase_memory();
    map_at(before_, files * capacity);
    image_ = std::make_unique<image>(memory_, before_, files * capacity);
}

// Without the lab's file, so that these mmap calls reach the kernel (runtime/file.cpp).
void laboratory::erase_memory() {
    the_file.memory = nullptr;
    for (unsigned f = 0; f < files_; ++f) map_at(memory_ + f * file_stride, capacity);
    the_file.memory = memory_;
}

void laboratory::take_snapshot() {
    for (unsigned f = 0; f < files_; ++f) {
        const auto& file = the_file.files[f];
        unseen_copy(before_ + f * capacity, memory_ + f * file_stride, file.length);
        recorded_.files[f] = {file.length, file.linked};
    }
}

std::unique_ptr<target> laboratory::record(const target_description& d, u64 seed, loads which) {
    clear(d.files);
    recorded_ = {};
    auto t = d.make(seed);
    t->prepare();
    take_snapshot();
    recorder r;
    the_file.recording = &r;
    r.start(memory_, offset_of(files_ * capacity - 1) + 1, which);
    t->run();
    if (t->threads() > 1) {
        run_on_fibers(
            t->threads(), seed, [&](unsigned number) { t->run_thread(number); }, t->about_steps());
    }
    r.stop();
    the_file.recording = nullptr;
    t->crash();
    recorded_.trace = r.take();
    // The image restores the snapshot wherever the trace stored.
    erase_memory();
    for (unsigned f = 0; f < files_; ++f) {
        unseen_copy(memory_ + f * file_stride, before_ + f * capacity, recorded_.files[f].bytes);
    }
    return t;
}

bool laboratory::adopt_trace(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    trace_header h{};
    in.read(reinterpret_cast<char*>(&h), sizeof h);
    if (!in || std::memcmp(h.magic, trace_magic, sizeof h.magic) != 0 ||
        h.version != trace_version || h.file_bytes > capacity || h.events > (u64{1} << 24)) {
        return false;
    }
    clear(1);
    in.read(reinterpret_cast<char*>(before_), static_cast<std::streamsize>(h.file_bytes));
    recorded_.trace.resize(h.events);
    in.read(reinterpret_cast<char*>(recorded_.trace.data()),
            static_cast<std::streamsize>(h.events * sizeof(event)));
    for (const event& e : recorded_.trace) {
        if (e.where + e.size > capacity) return false;
    }
    recorded_.files = {};
    recorded_.files[0] = {h.file_bytes, true};
    unseen_copy(memory_, before_, capacity);
    return static_cast<bool>(in);
}

std::optional<std::string> laboratory::judge_run(const target& t) const {
    crash_model m = model(persistence::pcso);
    for (const event& e : recorded_.trace) m.advance(e);
    return guarded([&] { t.judge_run(m.promises()); });
}

std::optional<finding> laboratory::explore(target& t, const limits& most, counts& counted, u64 seed,
                                           persistence mode,
                                           const std::function<bool()>& out_of_time) {
    const auto end = static_cast<u32>(recorded_.trace.size());
    if (auto wrong = judge_run(t)) return finding{*wrong, {{end, {}}}, probe::run};
    explorer e(*image_, most, counted, seed);
    e.out_of_time = out_of_time;
    return e.explore(recorded_.trace, model(mode), t);
}

std::optional<finding> laboratory::round(const target_description& d, const limits& most,
                                         counts& counted, u64 seed, persistence mode,
                                         const std::function<bool()>& out_of_time,
                                         const std::string& trace) {
    if (d.disk != nullptr) {
        recorded_ = {};
        auto wrong = d.disk->explore(seed, most.random_states, counted, out_of_time);
        if (!wrong) return std::nullopt;
        return finding{wrong->what, {{wrong->calls, {}}}, probe::question, wrong->draw};
    }
    const auto t = record(d, seed);
    if (!trace.empty() && !adopt_trace(trace)) {
        throw std::runtime_error(trace + " is no trace, or a broken one");
    }
    return explore(*t, most, counted, seed, mode, out_of_time);
}

std::optional<std::string> laboratory::replay(target& t, const finding& f, persistence mode,
                                              const explorer::stage_listener& listener) {
    counts ignored;
    explorer e(*image_, {}, ignored, 0);
    if (f.asked == probe::run) {
        if (listener) listener(recorded_.trace, model(mode));
        return judge_run(t);
    }
    return e.replay(recorded_.trace, model(mode), t, f, listener);
}

void begin_operation(u64 number) {
    if (recorder* r = writer(); r != nullptr) r->operation(event_kind::begin, number, 0);
}

void end_operation(u64 number, u64 result) {
    if (recorder* r = writer(); r != nullptr) r->operation(event_kind::end, number, result);
}

}  // namespace hf::lab
