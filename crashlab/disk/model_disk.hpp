// disk/model_disk.hpp: a model of a disk with a page cache and syncs.
//
// Model. Writes go to a page cache; the disk takes any of them at any time, by sectors
// of 512 bytes. After a power cut each sector has its content of the last sync or of any write
// since, independently of other sectors; after a sync all contents are durable. The file's length
// is the one at the last sync, or the present one. Writes past the end are not allowed.
//
// A sync that fails leaves the cache unchanged and marks it as clean. Data that the disk does not
// have by then never reaches it, whatever later syncs report, unless it is written again. A write
// that fails may have stored some of its bytes in the cache.
#pragma once

#include "base/random.hpp"
#include "crashlab/disk/disk_story.hpp"
#include "journal/block_file.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

namespace hf::lab {

using bytes = std::vector<std::byte>;

/// Calls that fail although the power is on: a number of calls from some call on, counted over all
/// disks that share this. no_space applies to write() and extend(); io also to read() and sync().
struct disk_faults {
    errc code = errc::io;
    u64 from = ~u64{0};  ///< 0: the first
    u64 count = 1;
    u64 calls = 0;  ///< calls so far that could have failed

    [[nodiscard]] bool is_next(bool is_read_or_sync) {
        if (is_read_or_sync && code == errc::no_space) return false;
        const u64 call = calls++;
        return call >= from && call - from < count;
    }
    [[nodiscard]] bool have_begun() const { return calls > from; }
};

class model_disk final : public journal::block_file {
   public:
    using block_file::write;

    explicit model_disk(bytes content = {}) : now_(content), synced_(std::move(content)) {}
    /// Copies the contents; the copy never refuses.
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
        if (is_faulty(false)) return write_some(offset, pieces);
        for (const auto& piece : pieces) {
            if (offset + piece.size() > now_.size()) {
                return failure({errc::corrupt, "write", name(), "the file ends there", "-"});
            }
            put(offset, piece);
            offset += piece.size();
        }
        return {};
    }
    [[nodiscard]] result<void> read(u64 offset, std::span<std::byte> into) override {
        if (is_faulty(true)) return fault("read");
        if (offset + into.size() > now_.size()) {
            return failure({errc::corrupt, "read", name(), "the file ends there", "-"});
        }
        std::copy_n(now_.data() + offset, into.size(), into.data());
        return {};
    }
    [[nodiscard]] result<void> sync() override {
        if (auto ok = fail_if_due(); !ok) return ok;
        if (is_faulty(true)) {
            forget();
            return fault("sync");
        }
        tell_synced();
        bytes next = now_;
        for (const u64 at : forgotten_) copy_sector(synced_, next, at);
        synced_ = std::move(next);
        unsure_.clear();
        return {};
    }
    [[nodiscard]] result<void> extend(u64 length) override {
        if (is_faulty(false)) return fault("allocate");
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

    /// Replaces the contents, durably.
    void become(bytes content) {
        // Earlier writes are settled, and are never queried again.
        for (const sector_write& w : unsure_) {
            if (story != nullptr) ++story->calls[w.call - 1].synced;
        }
        tell({label, disk_act::begin, content.size()});
        now_ = content;
        synced_ = std::move(content);
        unsure_.clear();
        forgotten_.clear();
    }

    /// Records the fates of unsynced writes, as after_power_cut() would decide them.
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

    /// Number of unsynced sector writes, plus one if the length is not synced.
    [[nodiscard]] std::size_t unsure() const {
        return unsure_.size() + (now_.size() != synced_.size() ? 1 : 0);
    }
    /// The contents after a power cut if the disk took the writes for which `taken` returns true.
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
    std::string label;            ///< its name in a story
    disk_story* story = nullptr;  ///< if set: records every call
    u64* calls_left =
        nullptr;  ///< number of write() and sync() calls that still succeed; may be shared
    disk_faults* faults = nullptr;  ///< may be shared

   private:
    struct sector_write {
        u64 offset;
        bytes content;
        std::size_t call;  ///< in the story, from 1
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

    void put(u64 offset, std::span<const std::byte> piece) {
        tell({label, disk_act::write, offset, piece.size()});
        remember(offset, piece);
        std::copy(piece.begin(), piece.end(), now_.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    void remember(u64 offset, std::span<const std::byte> piece) {
        while (!piece.empty()) {
            const u64 room = journal::sector_size - offset % journal::sector_size;
            const auto part = piece.first(std::min<u64>(room, piece.size()));
            // A write that changes nothing adds no possible content after a power cut.
            const bool is_lost = forgotten_.erase(offset - offset % journal::sector_size) != 0;
            if (is_lost || std::memcmp(now_.data() + offset, part.data(), part.size()) != 0) {
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

    bool is_faulty(bool is_read_or_sync) {
        return faults != nullptr && faults->is_next(is_read_or_sync);
    }
    [[nodiscard]] tl::unexpected<error> fault(const char* what) const {
        tell({label, disk_act::refused});
        return failure({faults->code, what, name(), "it fails, for once", "-"});
    }
    /// Writes half of it; of several pieces the first half.
    result<void> write_some(u64 offset, std::span<const std::span<const std::byte>> pieces) {
        u64 left = 0;
        for (const auto& piece : pieces) left += piece.size();
        left /= 2;
        for (const auto& piece : pieces) {
            const auto part = piece.first(std::min<u64>(left, piece.size()));
            if (offset + part.size() > now_.size()) break;
            put(offset, part);
            offset += part.size();
            left -= part.size();
        }
        return fault("write");
    }
    /// Every other sector reaches the disk, the others never do.
    void forget() {
        const bytes left = after_power_cut([](std::size_t i) { return i % 2 == 0; });
        for (u64 at = 0; at < now_.size(); at += journal::sector_size) {
            const u64 n = std::min<u64>(journal::sector_size, now_.size() - at);
            if (at + n > left.size() || std::memcmp(left.data() + at, now_.data() + at, n) != 0) {
                forgotten_.insert(at);
            }
        }
        synced_ = left;
        unsure_.clear();
    }
    static void copy_sector(const bytes& from, bytes& to, u64 at) {
        if (at >= to.size()) return;
        const u64 end = std::min<u64>(to.size(), at + journal::sector_size);
        for (u64 i = at; i < end; ++i) to[i] = i < from.size() ? from[i] : std::byte{0};
    }

    bytes now_;
    bytes synced_;
    std::vector<sector_write> unsure_;
    std::set<u64> forgotten_;  ///< sectors lost by a failed sync
    std::size_t extended_at_ = 0;
};

}  // namespace hf::lab
