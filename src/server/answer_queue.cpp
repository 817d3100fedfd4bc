#include "server/answer_queue.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace hf::detail {
namespace {

/// Small answers share a chunk of this size.
constexpr std::size_t chunk_size = 16384;
/// Bytes of storage that an idle connection keeps.
constexpr std::size_t kept_size = 1024;

}  // namespace

void answer_queue::append(std::string_view bytes) {
    if (chunks_.empty() || chunks_.back().bytes.size() + bytes.size() > chunk_size) {
        chunks_.emplace_back();
        chunks_.back().bytes.reserve(kept_size);
    }
    chunks_.back().bytes.append(bytes);
    appended_ += bytes.size();
}

void answer_queue::append_block(std::string&& block, std::size_t from) {
    HF_ASSERT(from <= block.size(), "an answer begins in its block");
    appended_ += block.size() - from;
    chunks_.push_back({std::move(block), from});
}

void answer_queue::hold(u64 ticket) {
    if (gates_.empty() || ticket > gates_.back().ticket) {
        gates_.push_back({ticket, appended_});
    }
}

void answer_queue::release(u64 durable) noexcept {
    while (!gates_.empty() && gates_.front().ticket <= durable) {
        gates_.pop_front();
    }
}

std::size_t answer_queue::gather(std::span<std::string_view> pieces) const noexcept {
    u64 left = sendable();
    std::size_t count = 0;
    for (const auto& one : chunks_) {
        if (left == 0 || count == pieces.size()) {
            break;
        }
        const auto piece =
            std::string_view(one.bytes).substr(one.from, static_cast<std::size_t>(left));
        if (!piece.empty()) {
            pieces[count++] = piece;
            left -= piece.size();
        }
    }
    return count;
}

void answer_queue::sent(u64 size) noexcept {
    HF_CHECK(size <= sendable(), "more was sent than may be");
    sent_ += size;
    while (size != 0) {
        auto& first = chunks_.front();
        const u64 here = std::min<u64>(size, first.bytes.size() - first.from);
        first.from += static_cast<std::size_t>(here);
        size -= here;
        if (first.from != first.bytes.size()) {
            break;
        }
        if (chunks_.size() == 1 && first.bytes.capacity() <= kept_size) {
            first.bytes.clear();
            first.from = 0;
            break;
        }
        chunks_.pop_front();
    }
}

}  // namespace hf::detail
