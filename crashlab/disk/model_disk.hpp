// disk/model_disk.hpp: a disk that knows what was synced.
//
// Model. Writes reach a page cache; the disk takes from it what it wants when it wants, by sectors
// of 512 bytes. After a power cut each sector holds its content at the last sync or any that was
// written since, whatever the others hold; after a sync all of it is there. The file's length is
// the one at the last sync, or the present one. Nothing may be written behind the end.
#pragma once

#include "base/random.hpp"
#include "crashlab/disk/disk_story.hpp"
#include "journal/block_file.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace hf::lab {

using bytes = std::vector<std::byte>;

class model_disk final : public journal::block_file {
   public:
    using block_file::write;

    explicit model_disk(bytes content = {}) : now_(content), synced_(std::move(content)) {}
    /// As the other stands; it never refuses.
    model_disk(const model_disk& other)
        : capacity(other.capacity),
          label(other.label),
          story(other.story),
          now_(other.now_),
          synced_(other.synced_),
          unsure_(other.unsure_),
          extended_at_(other.extended_at_) {}
    model_disk& operator=(const model_disk&) = delete;
    ~model_disk() override = default;

    [[nodiscard]] result<void> write(u64 offset,
                                     std::span<const std::span<const std::byte>> pieces) override {
        if (auto ok = fail_if_due(); !ok) return ok;
        for (const auto& piece : pieces) {
            if (offset + piece.size() > now_.size()) {
                return failure({errc::corrupt, "write", name(), "the file ends there", "-"});
            }
            tell({label, disk_act::write, offset, piece.size()});
            remember(offset, piece);
            std::memcpy(now_.data() + offset, piece.data(), piece.size());
            offset += piece.size();
        }
        return {};
    }
    [[nodiscard]] result<void> read(u64 offset, std::span<std::byte> into) override {
        if (offset + into.size() > now_.size()) {
            return failure({errc::corrupt, "read", name(), "the file ends there", "-"});
        }
        std::memcpy(into.data(), now_.data() + offset, into.size());
        return {};
    }
    [[nodiscard]] result<void> sync() override {
        if (auto ok = fail_if_due(); !ok) return ok;
        tell_synced();
        synced_ = now_;
        unsure_.clear();
        return {};
    }
    [[nodiscard]] result<void> extend(u64 length) override {
        if (length > capacity) {
            return failure({errc::no_space, "allocate", name(), "the disk is full", "make room"});
        }
        if (length > now_.size()) {
            tell({label, disk_act::extend, length});
            extended_at_ = calls_told();
            now_.resize(length);
        }
        return {};
    }
    [[nodiscard]] result<u64> size() override { return now_.size(); }
    [[nodiscard]] std::string name() const override { return "a model of a disk"; }

    /// Holds this, durably so.
    void become(bytes content) {
        // What was unsure is decided; nobody will ask for it again.
        for (const sector_write& w : unsure_) {
            if (story != nullptr) ++story->calls[w.call - 1].synced;
        }
        tell({label, disk_act::begin, content.size()});
        now_ = content;
        synced_ = std::move(content);
        unsure_.clear();
    }

    /// Tells the story what became of the unsure writes, as after_power_cut() would take them.
    void tell_fates(const std::function<bool(std::size_t)>& taken) const {
        if (story == nullptr) return;
        const bool is_longer = now_.size() != synced_.size() && taken(unsure_.size());
        if (now_.size() != synced_.size()) {
            disk_call& extension = story->calls[extended_at_ - 1];
            extension.is_unsure = true;
            extension.sectors = 1;
            extension.kept = is_longer ? 1 : 0;
        }
        for (std::size_t i = 0; i < unsure_.size(); ++i) {
            if (taken(i)) ++story->calls[unsure_[i].call - 1].kept;
        }
    }

    [[nodiscard]] const bytes& now() const { return now_; }
    [[nodiscard]] bytes& now() { return now_; }
    [[nodiscard]] const bytes& synced() const { return synced_; }

    /// How many writes of sectors no sync has covered, and the length.
    [[nodiscard]] std::size_t unsure() const {
        return unsure_.size() + (now_.size() != synced_.size() ? 1 : 0);
    }
    /// What a power cut leaves when the disk has taken those that `taken` says, in order.
    [[nodiscard]] bytes after_power_cut(const std::function<bool(std::size_t)>& taken) const {
        bytes left = synced_;
        if (now_.size() != synced_.size() && taken(unsure_.size())) left.resize(now_.size());
        for (std::size_t i = 0; i < unsure_.size(); ++i) {
            if (!taken(i) || unsure_[i].offset >= left.size()) continue;
            const auto& w = unsure_[i];
            std::memcpy(left.data() + w.offset, w.content.data(), w.content.size());
        }
        return left;
    }

    u64 capacity = ~u64{0};       ///< bytes up to which extend() succeeds
    std::string label;            ///< in a story
    disk_story* story = nullptr;  ///< if set: told of every call
    u64* calls_left = nullptr;  ///< so many calls of write() and sync() succeed yet; may be shared

   private:
    struct sector_write {
        u64 offset;
        bytes content;
        std::size_t call;  ///< of the story, from 1
    };

    void tell(disk_call c) const {
        if (story != nullptr) story->calls.push_back(std::move(c));
    }
    [[nodiscard]] std::size_t calls_told() const {
        return story == nullptr ? 0 : story->calls.size();
    }
    void tell_synced() const {
        if (story == nullptr) return;
        for (const sector_write& w : unsure_) ++story->calls[w.call - 1].synced;
        tell({label, disk_act::sync});
    }

    void remember(u64 offset, std::span<const std::byte> piece) {
        while (!piece.empty()) {
            const u64 room = journal::sector_size - offset % journal::sector_size;
            const auto part = piece.first(std::min<u64>(room, piece.size()));
            // What is written over itself adds nothing to what a power cut may leave.
            if (std::memcmp(now_.data() + offset, part.data(), part.size()) != 0) {
                unsure_.push_back({offset, bytes(part.begin(), part.end()), calls_told()});
                if (story != nullptr) ++story->calls.back().sectors;
            }
            piece = piece.subspan(part.size());
            offset += part.size();
        }
    }

    result<void> fail_if_due() {
        if (calls_left == nullptr) return {};
        if (*calls_left == 0) {
            tell({label, disk_act::refused});
            return failure({errc::io, "use", name(), "the power is gone", "-"});
        }
        --*calls_left;
        return {};
    }

    bytes now_;
    bytes synced_;
    std::vector<sector_write> unsure_;
    std::size_t extended_at_ = 0;
};

}  // namespace hf::lab
