#include "crashlab/laboratory.hpp"

#include "base/check.hpp"
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

recorder* current_recorder = nullptr;

void on_point(const char* name) {
    recorder* r = the_file.exploring != nullptr ? the_file.exploring->behind() : current_recorder;
    if (r != nullptr) r->point(name);
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
    // Regions are mapped at the start of the first window that is free: always the same one.
    auto place = window::take();
    HF_CHECK(place.has_value(), "no window for the lab");
    std::byte* const base = place->base();
    {
        const window returned = std::move(*place);
    }
    memory_ = map_at(base, capacity);
    before_ = map_at(nullptr, capacity);
    image_ = std::make_unique<image>(memory_, before_, capacity);
    the_file.memory = memory_;
    the_file.capacity = capacity;
    set_persist_point_hook(on_point);
}

void laboratory::clear() {
    // Fresh zeros for both, and a fresh image: nothing of an earlier round is left.
    the_file = {};
    the_file.capacity = capacity;
    erase_memory();
    map_at(before_, capacity);
    image_ = std::make_unique<image>(memory_, before_, capacity);
}

// To a file that is there, mapping means nothing (runtime/file.cpp).
void laboratory::erase_memory() {
    the_file.memory = nullptr;
    map_at(memory_, capacity);
    the_file.memory = memory_;
}

void laboratory::take_snapshot() {
    unseen_copy(before_, memory_, the_file.length);
    recorded_.file_bytes = the_file.length;
    recorded_.linked = the_file.linked;
}

std::unique_ptr<target> laboratory::record(const target_description& d, u64 seed, loads which) {
    clear();
    auto t = d.make(seed);
    t->prepare();
    take_snapshot();
    recorder r;
    current_recorder = &r;
    the_file.recording = &r;
    r.start(memory_, capacity, which);
    t->run();
    if (t->threads() > 1) {
        run_on_fibers(
            t->threads(), seed, [&](unsigned number) { t->run_thread(number); }, t->about_steps());
    }
    r.stop();
    current_recorder = nullptr;
    the_file.recording = nullptr;
    t->crash();
    recorded_.trace = r.take();
    // The image puts the snapshot back wherever the trace stored.
    erase_memory();
    unseen_copy(memory_, before_, recorded_.file_bytes);
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
    clear();
    in.read(reinterpret_cast<char*>(before_), static_cast<std::streamsize>(h.file_bytes));
    recorded_.trace.resize(h.events);
    in.read(reinterpret_cast<char*>(recorded_.trace.data()),
            static_cast<std::streamsize>(h.events * sizeof(event)));
    for (const event& e : recorded_.trace) {
        if (e.where + e.size > capacity) return false;
    }
    recorded_.file_bytes = h.file_bytes;
    recorded_.linked = true;
    unseen_copy(memory_, before_, capacity);
    return static_cast<bool>(in);
}

std::optional<finding> laboratory::explore(target& t, const limits& most, counts& counted, u64 seed,
                                           persistence mode,
                                           const std::function<bool()>& out_of_time) {
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
    return e.replay(recorded_.trace, model(mode), t, f, listener);
}

}  // namespace hf::lab
