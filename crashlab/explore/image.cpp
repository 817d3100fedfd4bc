#include "crashlab/explore/image.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace hf::lab {

image::image(std::byte* memory, const std::byte* before, u64 size)
    : memory_(memory), before_(before), size_(size), state_(size / line_size) {}

void image::put_back(u64 line) {
    unseen_copy_line(at(line), before_ + line * line_size);
    state_[line] = 0;
}

void image::load(const crash_model& m) {
    HF_CHECK(undo_.empty(), "an image is loaded in the middle of a run");
    model_ = &m;
    versions_.clear();
    incomplete_ = false;
    for (const u64 line : loaded_) {
        if (m.find(line) == nullptr) put_back(line);
    }
    loaded_.clear();
    digest_ = m.promises().epoch * 0x9e3779b97f4a7c15U;
    for (const auto& [line, l] : m.lines()) {
        unseen_copy_line(at(line), l.floor().bytes.data());
        state_[line] = l.is_sure() ? u8{0} : unsure;
        loaded_.push_back(line);
        digest_ ^= digest_of(line, l.floor());
    }
}

void image::begin(choices& how, recorder* behind) {
    choices_ = &how;
    behind_ = behind;
    accesses_ = 0;
    level_ = 1;
    decided_.clear();
    files_ = {};
    watch_for(this, memory_, offset_of(size_ - 1) + 1);
}

void image::end() {
    watch_for(nullptr, nullptr, 0);
    rollback({});
    level_ = 1;
    behind_ = nullptr;
}

image::place image::mark() {
    const place p{undo_.size(), decided_.size(), digest_, level_, files_};
    ++level_;
    HF_CHECK(level_ < unsure, "marks are nested too deeply");
    return p;
}

void image::rollback(const place& p) {
    while (undo_.size() > p.undo) {
        const saved_line& s = undo_.back();
        unseen_copy_line(at(s.line), s.content.bytes.data());
        state_[s.line] = s.state;
        undo_.pop_back();
    }
    while (decided_.size() > p.decided) {
        const decision& d = decided_.back();
        digest_ ^= d.taken->digest ^ versions_of(d.line).front().digest;
        decided_.pop_back();
    }
    level_ = std::max<u8>(p.level, 1);
    files_ = p.files;
}

void image::save(u64 line) {
    undo_.push_back({line, {}, state_[line]});
    unseen_copy_line(undo_.back().content.bytes.data(), at(line));
    state_[line] = static_cast<u8>((state_[line] & unsure) | level_);
}

const std::vector<version>& image::versions_of(u64 line) {
    auto found = versions_.find(line);
    if (found == versions_.end()) {
        bool complete = true;
        found = versions_.emplace(line, model_->find(line)->versions(line, complete)).first;
        if (!complete) incomplete_ = true;
    }
    return found->second;
}

void image::decide(u64 line) {
    save(line);
    const auto& all = versions_of(line);
    const u32 number = all.size() == 1 ? 0 : choices_->choose(line, static_cast<u32>(all.size()));
    unseen_copy_line(at(line), all[number].content.bytes.data());
    state_[line] = level_;
    decided_.push_back({line, &all[number], number});
    digest_ ^= all[number].digest ^ all.front().digest;
}

void image::reading(u64 at, u64 size, u64, bool) {
    if (++accesses_ == most_accesses && on_endless != nullptr) on_endless();
    const u64 last = (at + size - 1) / line_size;
    for (u64 line = at / line_size; line <= last; ++line) {
        if ((state_[line] & unsure) != 0) [[unlikely]] {
            decide(line);
        }
    }
}

void image::writing(u64 at, u64 size, ordering how, u64 pc) {
    touch(at, size);
    if (behind_ != nullptr) behind_->writing(at, size, how, pc);
}

void image::touch(u64 at, u64 size) {
    if (++accesses_ == most_accesses && on_endless != nullptr) on_endless();
    const u64 last = (at + size - 1) / line_size;
    for (u64 line = at / line_size; line <= last; ++line) {
        if (state_[line] == level_) [[likely]] {
            continue;
        }
        if ((state_[line] & unsure) != 0) {
            decide(line);
        } else {
            save(line);
        }
    }
}

u64 image::file_length(unsigned file) {
    auto& length = files_[file].length;
    if (!length) {
        const file_fact& f = model_->length(file);
        const bool is_old = f.sure == f.now || choices_->choose(length_of_file(file), 2) == 0;
        length = is_old ? f.sure : f.now;
    }
    return *length;
}

void image::set_file_length(unsigned file, u64 bytes) {
    files_[file].length = bytes;
    if (behind_ != nullptr) behind_->mark(event_kind::length, bytes, file);
}

bool image::file_linked(unsigned file) {
    auto& linked = files_[file].linked;
    if (!linked) {
        const file_fact& f = model_->name(file);
        const bool is_old = f.sure == f.now || choices_->choose(name_of_file(file), 2) == 0;
        linked = (is_old ? f.sure : f.now) != 0;
    }
    return *linked;
}

void image::set_file_linked(unsigned file) {
    files_[file].linked = true;
    if (behind_ != nullptr) behind_->mark(event_kind::link, 1, file);
}

}  // namespace hf::lab
