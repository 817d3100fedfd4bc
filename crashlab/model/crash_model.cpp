#include "crashlab/model/crash_model.hpp"

namespace hf::lab {

crash_model::crash_model(const std::byte* memory, persistence mode, const file_starts& files)
    : memory_(memory), mode_(mode) {
    for (unsigned f = 0; f < most_files; ++f) settle_file(f, files[f].bytes, files[f].linked);
}

line_state& crash_model::line_at(u64 line) {
    auto found = lines_.find(line);
    if (found == lines_.end()) {
        line_content c;
        unseen_copy_line(c.bytes.data(), memory_ + line * line_size);
        found = lines_.emplace(line, line_state(c)).first;
        if (mode_ == persistence::flushed) found->second.limit(0);
    }
    return found->second;
}

const line_state* crash_model::find(u64 line) const noexcept {
    const auto found = lines_.find(line);
    return found == lines_.end() ? nullptr : &found->second;
}

void crash_model::store(const event& e) {
    const u64 line = e.where / line_size;
    line_state& l = line_at(line);
    l.add(e, events_);
    if (mode_ == persistence::eadr && e.how != store_kind::stream && e.how != store_kind::file) {
        l.raise_floor(l.stores_seen());
    }
    if (e.how == store_kind::stream) captured_[e.thread].push_back({line, l.stores_seen()});
    if (e.how == store_kind::file) written_.push_back({line, l.stores_seen()});
}

void crash_model::fence(u8 thread) {
    for (const capture& c : captured_[thread]) line_at(c.line).raise_floor(c.stores);
    captured_[thread].clear();
}

void crash_model::sync(u64 file) {
    std::erase_if(written_, [&](const capture& c) {
        if (file_of_line(c.line) != file) return false;
        line_at(c.line).raise_floor(c.stores);
        return true;
    });
    lengths_[file].sure = lengths_[file].now;
}

void crash_model::kill() {
    for (auto& of_thread : captured_) of_thread.clear();
    for (auto& [line, l] : lines_) l.pass_barrier();
}

void crash_model::end(const event& e) {
    told_operation& o = promises_.operations[e.value];
    o.returned = events_;
    o.result = e.where;
}

void crash_model::flush(const event& e) {
    line_state& l = line_at(e.where / line_size);
    captured_[e.thread].push_back({e.where / line_size, l.stores_seen()});
    if (mode_ == persistence::flushed) l.limit(l.stores_seen());
}

u64 crash_model::advance(const event& e) {
    u64 line = no_line;
    switch (e.kind) {
        case event_kind::store:
            store(e);
            line = e.where / line_size;
            break;
        case event_kind::flush:
            flush(e);
            line = e.where / line_size;
            break;
        case event_kind::fence:
            fence(e.thread);
            break;
        case event_kind::announced:
            promises_.epoch = e.value;
            break;
        case event_kind::length:
            lengths_.at(e.where).now = e.value;
            break;
        case event_kind::link:
            names_.at(e.where).now = 1;
            break;
        case event_kind::sync:
            sync(e.where);
            break;
        case event_kind::sync_name:
            for (file_fact& name : names_) name.sure = name.now;
            break;
        case event_kind::begin:
            promises_.operations[e.value] = {e.thread, events_};
            break;
        case event_kind::end:
            end(e);
            break;
        case event_kind::killed:
            kill();
            break;
        case event_kind::noted:
        case event_kind::point:
        case event_kind::load:
        case event_kind::acquire:
        case event_kind::release:
            break;
    }
    ++events_;
    return line;
}

void crash_model::forget_volatile() {
    for (auto& [line, l] : lines_) l.forget_hidden();
    for (auto& of_thread : captured_) of_thread.clear();
    written_.clear();
}

crash_model crash_model::as_seen() const {
    crash_model seen = *this;
    for (auto& [line, l] : seen.lines_) l.settle_newest();
    for (unsigned f = 0; f < most_files; ++f) {
        seen.settle_file(f, lengths_[f].now, names_[f].now != 0);
    }
    return seen;
}

void crash_model::settle(u64 line, const version& v) { line_at(line).settle(v); }

void crash_model::settle_file(unsigned file, u64 length, bool linked) noexcept {
    lengths_[file] = {length, length};
    names_[file] = {linked ? u64{1} : u64{0}, linked ? u64{1} : u64{0}};
}

}  // namespace hf::lab
