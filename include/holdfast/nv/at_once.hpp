// holdfast/nv/at_once.hpp: words of one node, loaded with one look at the records of its lines.
//
// transaction::load() looks at a line's record before and behind each word (T1 of transaction.hpp).
// A search takes many words of few lines. Here the records of all of a node's lines are looked at
// before the first word, and again behind the last. Where none is owned or newer than the snapshot
// either time, T1 holds for each of the words, for no record has changed in between: whoever took
// one behind the first look took a version behind that, when the clock had come to the snapshot
// already; so he has given it a newer one, or owns it, or has given it back as it was, and stored
// nothing. By the clock (T2), one look at it behind the last word does the same. Wherever
// that fails, the words are loaded once more, each by load(), which waits for owners and moves the
// snapshot.
//
// What is computed from words that turn out to have changed is thrown away. But it is computed: it
// has to end, and to stay within the node, whatever words of committed states stand together.
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
    /// Nodes of more bytes are read word by word: of these a search meets a few lines only.
    static constexpr std::size_t most_bytes = 256;

    /// So many lines [offset, offset + bytes) of a T takes, where the heap lays its objects: behind
    /// a header, in a block of whole 16 bytes that begins with a line where it is of whole lines.
    template <class T>
    [[nodiscard]] static constexpr std::size_t lines_of(std::size_t offset, std::size_t bytes) {
        constexpr std::size_t header = 16;
        if constexpr ((header + sizeof(T) + 15) / 16 * 16 % line == 0) {
            return ((header + offset) % line + bytes + line - 1) / line;
        } else {
            return (bytes + 2 * line - 2) / line;
        }
    }

    /// f(load), where load(field) is what a p<> of a word holds, or the offset in a ptr<>. The
    /// fields lie in the `Lines` lines that begin with the one of `first`, up to `end`. f may run
    /// twice. It should hold values, not references: then these stay in registers.
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

    /// Asks for those lines, as far as most_bytes go, and their records. (Inlined, or g++ takes a
    /// call for one that does nothing.)
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

    /// As load(), for who has no nodes that are read at once.
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

    /// Whether none of those lines is owned, or newer than the snapshot: an owner's mark is above
    /// all snapshots.
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
    /// There is room.
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
