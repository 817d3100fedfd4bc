#include "crashlab/model/crash_model.hpp"

namespace hf::lab {

crash_model::crash_model(const std::byte* memory, persistence mode, u64 file_bytes, bool linked)
    : memory_(memory),
      mode_(mode),
      length_{file_bytes, file_bytes},
      name_{linked ? u64{1} : u64{0}, linked ? u64{1} : u64{0}} {}

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
            announced_ = e.value;
            break;
        case event_kind::length:
            length_.now = e.value;
            break;
        case event_kind::link:
            name_.now = 1;
            break;
        case event_kind::sync:
            for (const capture& c : written_) line_at(c.line).raise_floor(c.stores);
            written_.clear();
            length_.sure = length_.now;
            break;
        case event_kind::sync_name:
            name_.sure = name_.now;
            break;
        case event_kind::noted:
        case event_kind::begin:
        case event_kind::end:
        case event_kind::point:
        case event_kind::load:
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

void crash_model::settle(u64 line, const version& v) { line_at(line).settle(v); }

void crash_model::settle_file(u64 length, bool linked) noexcept {
    length_ = {length, length};
    name_ = {linked ? u64{1} : u64{0}, linked ? u64{1} : u64{0}};
}

}  // namespace hf::lab
