// Traces made by hand.
#pragma once

#include "crashlab/trace/recorder.hpp"

#include <vector>

namespace hf::lab {

class trace_maker {
   public:
    trace_maker& store(u64 where, u64 value, u64 pc = 1, store_kind how = store_kind::release) {
        event e = made(event_kind::store, where, value, pc);
        e.size = 8;
        e.how = how;
        events.push_back(e);
        return *this;
    }
    trace_maker& flush(u64 where, u64 pc = 2) { return add(event_kind::flush, where, 0, pc); }
    trace_maker& fence(u64 pc = 3) { return add(event_kind::fence, 0, 0, pc); }
    trace_maker& noted(u64 where, u64 size, u64 pc = 4) {
        return add(event_kind::noted, where, size, pc);
    }
    trace_maker& announced(u64 epoch = 1, u64 pc = 0) {
        return add(event_kind::announced, 0, epoch, pc);
    }
    trace_maker& begun(u64 operation) { return add(event_kind::begin, 0, operation, 0); }
    trace_maker& ended(u64 operation, u64 pc = 5, u64 result = 0) {
        return add(event_kind::end, result, operation, pc);
    }
    trace_maker& released(u64 pc = 7) { return add(event_kind::release, 0, 0, pc); }
    /// Of what the newest store to it has written.
    trace_maker& load(u64 where, u64 pc = 6, bool acquires = false) {
        u64 number = events.size();
        while (events[--number].kind != event_kind::store || events[number].where != where) {
        }
        add(event_kind::load, where, number, pc);
        events.back().acquires = acquires;
        return *this;
    }
    trace_maker& sync(u64 file = 0) { return add(event_kind::sync, file, 0, 0); }
    trace_maker& length(u64 bytes, u64 file = 0) { return add(event_kind::length, file, bytes, 0); }
    trace_maker& link(u64 file) { return add(event_kind::link, file, 1, 0); }
    trace_maker& point(const char* name) {
        // The recorder numbers them.
        recorder r;
        r.point(name);
        const auto& names = recorder::points();
        u64 number = 0;
        while (names[number] != name) ++number;
        return add(event_kind::point, 0, number, 0);
    }
    trace_maker& by(u8 number) {
        thread = number;
        return *this;
    }

    std::vector<event> events;
    u8 thread = 0;

   private:
    event made(event_kind kind, u64 where, u64 value, u64 pc) const {
        event e;
        e.kind = kind;
        e.where = where;
        e.value = value;
        e.pc = pc;
        e.thread = thread;
        return e;
    }
    trace_maker& add(event_kind kind, u64 where, u64 value, u64 pc) {
        events.push_back(made(kind, where, value, pc));
        return *this;
    }
};

}  // namespace hf::lab
