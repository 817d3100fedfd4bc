// tests/journal/memory_disk.hpp: a disk in memory that knows what was synced.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "journal/block_file.hpp"

namespace hf::test {

/// One write that no sync has covered yet.
struct pending_write {
    u64 offset;
    std::vector<std::byte> bytes;
};

class memory_disk final : public journal::block_file {
   public:
    using block_file::write;

    explicit memory_disk(std::vector<std::byte> content = {}) : now_(content), synced_(content) {}

    [[nodiscard]] result<void> write(u64 offset,
                                     std::span<const std::span<const std::byte>> pieces) override {
        if (auto ok = fail_if_due(errc::io); !ok) return ok;
        std::vector<std::byte> bytes;
        for (const auto& p : pieces) bytes.insert(bytes.end(), p.begin(), p.end());
        if (offset + bytes.size() > now_.size()) now_.resize(offset + bytes.size());
        std::copy(bytes.begin(), bytes.end(), now_.begin() + static_cast<std::ptrdiff_t>(offset));
        pending_.push_back({offset, std::move(bytes)});
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
        if (auto ok = fail_if_due(errc::io); !ok) return ok;
        synced_ = now_;
        pending_.clear();
        ++syncs;
        return {};
    }
    [[nodiscard]] result<void> extend(u64 bytes) override {
        if (bytes > capacity) {
            return failure({errc::no_space, "allocate", name(), "the disk is full", "make room"});
        }
        if (bytes > now_.size()) now_.resize(bytes);
        return {};
    }
    [[nodiscard]] result<u64> size() override { return now_.size(); }
    [[nodiscard]] std::string name() const override { return "disk in memory"; }

    [[nodiscard]] const std::vector<std::byte>& now() const { return now_; }
    [[nodiscard]] std::vector<std::byte>& now() { return now_; }
    [[nodiscard]] const std::vector<std::byte>& synced() const { return synced_; }

    /// The power goes: of each sector any of its contents since the last sync.
    [[nodiscard]] std::vector<std::byte> after_power_cut(xoshiro256ss& random) const {
        std::vector<std::byte> left = synced_;
        left.resize(now_.size());
        for (const auto& w : pending_) {
            for (u64 at = 0; at < w.bytes.size();) {
                const u64 in_sector = (w.offset + at) % journal::sector_size;
                const u64 n = std::min(journal::sector_size - in_sector, w.bytes.size() - at);
                if (random() % 2 == 0) {
                    std::memcpy(left.data() + w.offset + at, w.bytes.data() + at, n);
                }
                at += n;
            }
        }
        return left;
    }

    u64 capacity = ~u64{0};  ///< bytes up to which extend() succeeds
    u64 syncs = 0;
    u64* calls_left = nullptr;  ///< so many calls of write() and sync() succeed yet; may be shared

   private:
    result<void> fail_if_due(errc code) {
        if (calls_left == nullptr) return {};
        if (*calls_left == 0) return failure({code, "use", name(), "it was told to fail", "-"});
        --*calls_left;
        return {};
    }

    std::vector<std::byte> now_;
    std::vector<std::byte> synced_;
    std::vector<pending_write> pending_;
};

}  // namespace hf::test
