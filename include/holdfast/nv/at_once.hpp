// holdfast/nv/at_once.hpp: loads several words of a node with one check of its lines' ownership
// records.
//
// transaction::load() reads a line's ownership record before and after each word (T1 of
// transaction.hpp). A search reads many words of few lines. Here the records of all lines of the
// node are read before the first word and again after the last one. If none is owned or newer than
// the snapshot at either time, T1 holds for each word, since no record has changed in between: a
// transaction that acquired a record after the first check drew its version later, when the clock
// had reached the snapshot already; so it has left a newer version there, or still owns the record,
// or released it unchanged and stored nothing. With reads by the clock (T2), one check of the clock
// after the last word has the same effect. If a check fails, all words are loaded again by load(),
// which waits for owners and extends the snapshot.
//
// A result computed from words that turn out to be inconsistent is discarded. Its computation must
// still terminate and stay within the node, for any mixture of words of committed states.
#pragma once

#include <holdfast/nv/field.hpp>
#include <holdfast/nv/pointer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace hf::nv::detail {

class words_at_once {
   public:
    /// Larger nodes, in bytes, are read word by word: a search reads only a few of their lines.
    static constexpr std::size_t most_bytes = 256;

    /// Number of lines that [offset, offset + bytes) of a T occupies. The heap stores an object
    /// after a header of 16 bytes, in a block of a multiple of 16 bytes, which is aligned to a line
    /// if its size is a multiple of a line.
    template <class T>
    [[nodiscard]] static constexpr std::size_t lines_of(std::size_t offset, std::size_t bytes) {
        constexpr std::size_t header = 16;
        if constexpr ((header + sizeof(T) + 15) / 16 * 16 % line == 0) {
            return ((header + offset) % line + bytes + line - 1) / line;
        } else {
            return (bytes + 2 * line - 2) / line;
        }
    }

    /// Returns f(load), where load(field) is the value of a p<> of one word, or the offset in a
    /// ptr<>. The fields must be in the `Lines` lines that start with the one of `first`, before
    /// `end`. f may run twice. It should capture values, which stay in registers, not references.
    template <std::size_t Lines, class F>
    [[nodiscard, gnu::always_inline]] static inline auto load(transaction& t, const void* first,
                                                              const void* end, F f) {
        const std::uint64_t at = reinterpret_cast<std::uint64_t>(first) / line;
        const std::uint64_t index = at & transaction::index_mask;
        const std::uint64_t snapshot = t.snapshot_;
        const std::atomic<std::uint64_t>* const records = t.ownership_ + index;
        const bool by_clock = t.quiet_clock_->load(std::memory_order_relaxed) == snapshot;
        if (!by_clock) {
            const bool fits = reinterpret_cast<std::uint64_t>(end) <= (at + Lines) * line &&
                              index + Lines <= transaction::index_mask + 1 &&
                              t.reads_end_ - t.reads_ >= std::ptrdiff_t{Lines};
            if (!fits || !are_good<Lines>(records, snapshot, std::memory_order_acquire))
                [[unlikely]] {
                return slowly(t, f);
            }
        }
        const auto found = f(in_place{});
        if (by_clock) {
            if (t.quiet_clock_->load(std::memory_order_relaxed) != snapshot) [[unlikely]]
                return slowly(t, f);
        } else {
            if (!are_good<Lines>(records, snapshot, std::memory_order_relaxed)) [[unlikely]]
                return slowly(t, f);
            note(t, index, std::make_index_sequence<Lines>{});
        }
        return found;
    }

    /// Prefetches those lines, at most most_bytes of them, and their records. (Inlined, or g++
    /// takes a call for one that does nothing.)
    template <std::size_t Lines>
    [[gnu::always_inline]] static inline void expect(const transaction& t, const void* first,
                                                     const void* end) noexcept {
        const auto* const at = static_cast<const std::byte*>(first);
        __builtin_prefetch(t.ownership_ + transaction::index_of(at));
        for (std::size_t i = 0; i < std::min(Lines * line, most_bytes); i += line) {
            __builtin_prefetch(at + i);
        }
        if constexpr (Lines * line <= most_bytes) {
            __builtin_prefetch(static_cast<const std::byte*>(end) - 1);
        }
    }

    /// The loader for nodes that are read word by word.
    struct one_by_one {
        transaction& t;
        template <class T>
        [[nodiscard]] T operator()(const p<T>& from) const {
            if constexpr (is_word<T>) {
                return t.load(reinterpret_cast<const T*>(std::addressof(from)));
            } else {
                return from.get();
            }
        }
        template <class T, class H>
        [[nodiscard]] std::uint64_t operator()(const ptr<T, H>& from) const {
            return t.load(reinterpret_cast<const std::uint64_t*>(std::addressof(from)));
        }
    };

   private:
    static constexpr std::size_t line = 64;

    /// True if none of those lines is owned or newer than the snapshot. The value of an owned
    /// record is above all snapshots.
    template <std::size_t Lines, std::size_t I = 0>
    [[nodiscard, gnu::always_inline]] static inline bool are_good(
        const std::atomic<std::uint64_t>* records, std::uint64_t snapshot,
        std::memory_order order) noexcept {
        if constexpr (I == Lines) {
            return true;
        } else {
            return records[I].load(order) <= snapshot &&
                   are_good<Lines, I + 1>(records, snapshot, order);
        }
    }
    template <class F>
    [[nodiscard, gnu::noinline, gnu::cold]] static auto slowly(transaction& t, F f) {
        return f(one_by_one{t});
    }
    /// Adds the records to the read set, which must have room.
    template <std::size_t... I>
    [[gnu::always_inline]] static inline void note(transaction& t, std::uint64_t index,
                                                   std::index_sequence<I...>) noexcept {
        std::uint32_t* const to = t.reads_;
        ((to[I] = static_cast<std::uint32_t>(index + I)), ...);
        t.reads_ = to + sizeof...(I) - 1;
        t.note_read(index + sizeof...(I) - 1);
    }
    struct in_place {
        template <class T>
        [[nodiscard]] T operator()(const p<T>& from) const noexcept {
            static_assert(is_word<T>);
            return std::bit_cast<T>(__atomic_load_n(
                transaction::as<hf::detail::bits_of<sizeof(T)>>(std::addressof(from)),
                __ATOMIC_ACQUIRE));
        }
        template <class T, class H>
        [[nodiscard]] std::uint64_t operator()(const ptr<T, H>& from) const noexcept {
            return __atomic_load_n(transaction::as<std::uint64_t>(std::addressof(from)),
                                   __ATOMIC_ACQUIRE);
        }
    };
};

}  // namespace hf::nv::detail
