// read_batch.hpp: copies of records, taken within an operation and visited outside of it.
//
// Purpose. A caller's visitor may be slow and may call the map, so it must not run within an
// operation, which would keep the epoch from ending. An operation copies a few records and ends;
// then they are visited. A large value is not copied within the operation either: it is pinned
// there, is the last of its batch, and is copied after the operation.
#pragma once

#include "base/check.hpp"
#include "checkpoint/operation.hpp"
#include "index/masstree/record.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace hf {

/// Keeps an extent from being reused while its bytes are copied outside of an operation.
class pin {
   public:
    pin(lane& l, u64 block) noexcept : lane_(l) {
        HF_ASSERT(lane_.pinned.load(std::memory_order_relaxed) == 0,
                  "a thread reads one large value at a time");
        lane_.pinned.store(block, std::memory_order_release);
    }
    ~pin() { lane_.pinned.store(0, std::memory_order_release); }
    pin(const pin&) = delete;
    pin& operator=(const pin&) = delete;

   private:
    lane& lane_;
};

class read_batch {
   public:
    using record = masstree_detail::record;

    static constexpr std::size_t most_records = 256;
    static constexpr std::size_t most_bytes = std::size_t{256} << 10;

    /// `records`: capacity of the batch, at most most_records.
    explicit read_batch(std::size_t records) noexcept : room_(records) {}
    read_batch(const read_batch&) = delete;
    read_batch& operator=(const read_batch&) = delete;

    struct piece {
        std::size_t at;  ///< where the key begins; the value follows
        std::size_t key_size;
        std::size_t value_size;
        std::size_t number;  ///< the caller's number for the record
        /// offset of the record, and its head word; 0: the value was in the leaf
        u64 offset;
        u64 word;
        [[nodiscard]] masstree_detail::record_word head() const noexcept {
            return masstree_detail::record_word(word);
        }
    };
    // A batch has room for many records and usually contains few.
    static_assert(std::is_trivially_default_constructible_v<piece>);

    /// Adds the record at `offset`; within the operation. False: the batch is full.
    bool add(operation& op, std::size_t number, std::string_view key, const record& r, u64 offset) {
        HF_ASSERT(count_ < room_ && !pinned_, "the batch is full");
        const std::string_view value = r.value();
        pieces_[count_++] = {used_, key.size(), value.size(), number, offset, r.head.word()};
        if (is_large(r.payload())) [[unlikely]] {
            append(key);
            pinned_.emplace(op.my_lane(), offset - block_header_size);
            large_ = value;
            return false;
        }
        return append_both(key, value);
    }
    /// Adds an inlined value (stored in the leaf, already verified).
    bool add(std::size_t number, std::string_view key, std::string_view value) {
        HF_ASSERT(count_ < room_ && !pinned_, "the batch is full");
        pieces_[count_++] = {used_, key.size(), value.size(), number, 0, 0};
        return append_both(key, value);
    }

    /// Copies the pinned value, outside of the operation.
    void complete() {
        if (!pinned_) return;
        append(large_);
        pinned_.reset();
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    /// The number of records that still fit.
    [[nodiscard]] std::size_t room() const noexcept { return room_ - count_; }
    [[nodiscard]] const piece* begin() const noexcept { return pieces_.data(); }
    [[nodiscard]] const piece* end() const noexcept { return pieces_.data() + count_; }
    [[nodiscard]] std::string_view key(const piece& p) const noexcept {
        return {bytes_ + p.at, p.key_size};
    }
    [[nodiscard]] std::string_view value(const piece& p) const noexcept {
        return {bytes_ + p.at + p.key_size, p.value_size};
    }

   private:
    bool append_both(std::string_view key, std::string_view value) {
        if (key.size() == word && value.size() == word && capacity_ - used_ >= 2 * word) {
            std::memcpy(bytes_ + used_, key.data(), word);
            std::memcpy(bytes_ + used_ + word, value.data(), word);
            used_ += 2 * word;
        } else {
            append(key);
            append(value);
        }
        return count_ < room_ && used_ < most_bytes;
    }
    void append(std::string_view more) {
        if (more.size() > capacity_ - used_) [[unlikely]] {
            grow(more.size());
        }
        char* to = bytes_ + used_;
        used_ += more.size();
        if (more.size() < word || more.size() > 2 * word) {
            if (!more.empty()) std::memcpy(to, more.data(), more.size());
            return;
        }
        std::memcpy(to, more.data(), word);
        std::memcpy(to + more.size() - word, more.data() + more.size() - word, word);
    }
    void grow(std::size_t more) {
        capacity_ = std::max(2 * capacity_, used_ + more);
        auto larger = std::make_unique_for_overwrite<char[]>(capacity_);  // NOLINT: bytes
        std::memcpy(larger.get(), bytes_, used_);
        heap_ = std::move(larger);
        bytes_ = heap_.get();
    }

    /// keys and values of up to two words are copied without a call
    static constexpr std::size_t word = 8;
    static constexpr std::size_t without_heap = 2048;  ///< bytes for the records of a short scan

    std::size_t room_;
    std::size_t count_ = 0;
    std::size_t used_ = 0;
    std::size_t capacity_ = without_heap;
    // Left uninitialised: clearing them would cost as much as filling them.
    std::array<char, without_heap> first_;
    std::array<piece, most_records> pieces_;
    char* bytes_ = first_.data();
    std::unique_ptr<char[]> heap_;  // NOLINT: bytes
    std::optional<pin> pinned_;
    std::string_view large_;
};

}  // namespace hf
