// holdfast/nv/unordered_map.hpp: a hash table in a heap, with buckets of one cache line. Written
// with the public interface alone.
//
// Key is any type that nv::p holds, with operator==; Value a field: nv::p<T>, nv::ptr<T, H>, a
// struct of these, or a container. Entries (key and value) of 8 or 16 bytes are stored in their
// buckets; larger ones are objects that their buckets point to. A bucket has one tag byte from the
// hash of each of its entries. Cost in a transaction: find() reads a bucket and usually only the
// key's entry, or none if the key is absent. An insertion stores an entry and a word of the bucket,
// or makes an object and stores two words; and it stores the thread's part of the size
// (counter.hpp), so two threads seldom conflict. An erasure stores the same words, except the p<>
// fields. The table doubles, in one transaction, when it is two thirds full. An insertion checks
// this only when its bucket is full, since the check reads words that other threads write; nearly
// all buckets get full before that. Doubling stores neither to the old table nor to its entries,
// and fills the new one in place (as in vector.hpp). So its commit record is short, however long
// the table is. If the heap has no room for a table of twice the size, the chains become longer.
//
//   bucket   | tags 8 | more 8 | entries, or pointers to them 48 |
//               tags: byte i is 0, or the tag of entry i, which is in use
//               more: null, or the overflow bucket (spill), of the same layout
//
// A table begins 32 bytes after a multiple of 64: before it are its object's header and its length.
// To put each bucket into one line, a bucket consists of parts of two elements of the table: its
// last four words are the first ones of the next element. The table has one element more than
// buckets. (A small table may be at any multiple of 16 bytes; its buckets then take two lines.)
//
// Literature: Fan, Andersen, Kaminsky, "MemC3: Compact and Concurrent MemCache with Dumber Caching
// and Smarter Hashing" (NSDI 2013), section 3.2.1: tags; David, Guerraoui, Trigonakis,
// "Asynchronized Concurrency" (ASPLOS 2015): buckets of a cache line.
#pragma once

#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/vector.hpp>

#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace hf::nv {

namespace detail {

/// A hash that is the same in every process, which std::hash does not guarantee.
template <class K>
[[nodiscard]] std::uint64_t hash_key(const K& key) noexcept {
    static_assert(std::has_unique_object_representations_v<K>,
                  "holdfast: equal keys must have equal bytes: no padding, no floating point");
    std::uint64_t h = 0x9e3779b97f4a7c15;
    const auto* at = reinterpret_cast<const unsigned char*>(&key);
    for (std::size_t left = sizeof(K); left != 0;) {
        const std::size_t piece = left < 8 ? left : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, at, piece);
        h = (h ^ word) * 0xbf58476d1ce4e5b9;
        h ^= h >> 31;
        at += piece;
        left -= piece;
    }
    h *= 0x94d049bb133111eb;
    return h ^ h >> 29;
}

}  // namespace detail

template <class K, class V, class H = common>
class unordered_map {
   public:
    struct entry {
        p<K> key;
        V value;
    };
    /// True: entries are stored in their buckets, and are not objects. A pointer to one is valid in
    /// the transaction until the map changes.
    static constexpr bool in_buckets = (sizeof(entry) == 8 || sizeof(entry) == 16) &&
                                       detail::is_word<K> &&
                                       (detail::is_p<V> || detail::is_ptr<V> || detail::is_weak<V>);
    using cursor_type = std::conditional_t<in_buckets, entry*, cursor<entry, H>>;
    /// The bucket's element for an entry: the entry itself, or a pointer to it.
    using slot = std::conditional_t<in_buckets, entry, ptr<entry, H>>;

    static constexpr std::uint32_t bucket_entries = 48 / sizeof(slot);
    static constexpr std::size_t first_buckets = 16;
    /// Average load at which the table doubles.
    static constexpr std::size_t entries_a_bucket = bucket_entries * 2 / 3;
    /// A longer chain of spills is reported as corrupt, since it may be circular.
    static constexpr std::size_t look_at_length = 1024;

    /// An overflow bucket.
    struct spill {
        p<std::uint64_t> tags;
        ptr<spill, H> more;
        array<slot, bucket_entries> entries;
    };
    static constexpr std::uint32_t first_entries = bucket_entries / 3;
    /// An element of the table.
    struct piece {
        array<slot, bucket_entries - first_entries> last;  ///< the end of the previous bucket
        p<std::uint64_t> tags;
        ptr<spill, H> more;
        array<slot, first_entries> first;
    };

    unordered_map() = default;
    unordered_map(const unordered_map&) = delete;
    unordered_map& operator=(const unordered_map&) = delete;
    ~unordered_map() = default;

    /// Position of a key, present or to be inserted. Valid within one attempt, until the map
    /// changes.
    class place {
       public:
        /// True if the key is present.
        [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(entry_); }
        /// The entry; the key must be present.
        [[nodiscard]] cursor_type entry() const noexcept { return entry_; }

       private:
        friend class unordered_map;
        cursor_type entry_ = nullptr;
        /// The entry's slot, or the first free one; nullptr: the bucket is full.
        unordered_map::slot* slot_ = nullptr;
        p<std::uint64_t>* tags_at_ = nullptr;  ///< tags of its bucket or spill
        std::uint64_t tags_ = 0;
        std::uint32_t shift_ = 0;  ///< bit position of its tag
        std::uint64_t tag_ = 0;
        ptr<spill, H>* spill_ = nullptr;  ///< the pointer to the entry's spill, if it is in one
        ptr<spill, H>* end_ = nullptr;    ///< end of a full chain; nullptr: there is no table
        std::uint64_t serial_ = 0;        ///< the attempt that found it
    };

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] place place_of(const K& key) const {
        place at;
        const auto table = buckets_.get();
        at.serial_ = transaction::running()->serial();
        if (!table) return at;
        const std::uint64_t hash = detail::hash_key(key);
        at.tag_ = tag_of(hash);
        ptr<spill, H>* into = nullptr;
        bucket b(table.first(), hash & (buckets_of(table) - 1));
        for (std::size_t passed = 0;; ++passed) {
            const std::uint64_t tags = *b.tags;
            for (std::uint64_t m = bytes_like(tags, at.tag_); m != 0; m &= m - 1) {
                const cursor_type e = entry_at(b.at(index_of(m)));
                if (!e || e->key.get() != key) continue;
                at.entry_ = e;
                at.spill_ = into;
                take(at, b, tags, m);
                return at;
            }
            if (at.slot_ == nullptr) {
                if (const std::uint64_t free = bytes_like(tags, 0); free != 0) {
                    take(at, b, tags, free);
                }
            }
            const cursor<spill, H> more = *b.more;
            if (!more) break;
            check_chain(passed);
            into = b.more;
            b = bucket(*more);
        }
        at.end_ = b.more;
        return at;
    }
    /// The entry, or null: find(k)->value.
    [[nodiscard]] cursor_type find(const K& key) const { return place_of(key).entry(); }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(place_of(key)); }
    /// Inserts an absent key with a zero-initialised value. `at` is place_of(key).
    cursor_type insert_at(tx<H>& t, place at, const K& key) {
        detail::check_attempt(at.serial_);
        if (at.slot_ == nullptr) [[unlikely]] {
            at = make_room(t, at, key);
        }
        cursor_type made = nullptr;
        if constexpr (in_buckets) {
            made = at.slot_;
            made->key.set(t, key);
            empty_value(t, made->value);
        } else {
            made = t.template make<entry>(key);
            at.slot_->set(t, made);
        }
        at.tags_at_->set(t, at.tags_ | at.tag_ << at.shift_);
        size_.add(t, 1);
        return made;
    }
    /// Erases a key that is present. `at` is its place.
    void erase_at(tx<H>& t, const place& at) {
        detail::check_attempt(at.serial_);
        const std::uint64_t left = at.tags_ & ~(std::uint64_t{0xff} << at.shift_);
        if constexpr (!in_buckets) {
            at.slot_->set(t, nullptr);
        } else if constexpr (!detail::is_p<V>) {
            empty_value(t, at.slot_->value);
        }
        at.tags_at_->set(t, left);
        size_.add(t, -1);
        // An empty spill is unlinked, so a chain never has more spills than entries.
        if (at.spill_ != nullptr && left == 0) at.spill_->set(t, at.spill_->get()->more);
    }
    /// Finds or inserts the key; a new value is zero-initialised. Second: true if inserted.
    std::pair<cursor_type, bool> try_emplace(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (at) return {at.entry(), false};
        return {insert_at(t, at, key), true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->value.set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const place at = place_of(key);
        if (at) erase_at(t, at);
        return static_cast<bool>(at);
    }
    void clear(tx<H>& t) {
        buckets_.set(t, nullptr);
        size_.clear(t);
    }
    /// Calls visit(key, value) for each entry, in no particular order.
    template <class F>
    void for_each(F&& visit) const {
        each_slot([&](slot& s) {
            const cursor_type e = entry_at(s);
            visit(e->key.get(), e->value);
        });
    }

   private:
    using table_cursor = cursor<piece[], H>;

    /// Pointers to the parts of a bucket, or of a spill.
    struct bucket {
        bucket(piece* table, std::size_t i)
            : tags(std::addressof(table[i].tags)),
              more(std::addressof(table[i].more)),
              first(table[i].first.begin()),
              last(table[i + 1].last.begin()) {}
        explicit bucket(spill& s)
            : tags(std::addressof(s.tags)),
              more(std::addressof(s.more)),
              first(s.entries.begin()),
              last(s.entries.begin() + first_entries) {}
        [[nodiscard]] slot& at(std::uint32_t i) const {
            return i < first_entries ? first[i] : last[i - first_entries];
        }
        p<std::uint64_t>* tags;
        ptr<spill, H>* more;
        slot* first;
        slot* last;
    };

    static constexpr std::uint64_t each_byte = 0x0101'0101'0101'0101;
    static constexpr std::uint64_t high_bits =
        0x80 * each_byte & ((std::uint64_t{1} << 8 * bucket_entries) - 1);
    static_assert(bucket_entries == 3 || bucket_entries == 6);
    static_assert(sizeof(piece) == 64 && sizeof(spill) == 64, "a bucket is a line");

    [[nodiscard]] static cursor_type entry_at(slot& s) {
        if constexpr (in_buckets) {
            return std::addressof(s);
        } else {
            return s.get();
        }
    }
    static void empty_value(tx<H>& t, V& value) {
        if constexpr (detail::is_p<V>) {
            value.set(t, typename V::value_type{});
        } else {
            value.set(t, nullptr);
        }
    }

    /// The tag is taken from the highest bits, since the bucket's index uses the lowest ones.
    [[nodiscard]] static std::uint64_t tag_of(std::uint64_t hash) noexcept {
        const std::uint64_t tag = hash >> 56;
        return tag == 0 ? 1 : tag;
    }
    /// The highest bit of each byte of `word` that equals `byte`.
    [[nodiscard]] static std::uint64_t bytes_like(std::uint64_t word, std::uint64_t byte) noexcept {
        constexpr std::uint64_t low = 0x7f * each_byte;
        const std::uint64_t x = word ^ byte * each_byte;
        return ~(((x & low) + low) | x | low) & high_bits;
    }
    /// Index of the first such byte.
    [[nodiscard]] static std::uint32_t index_of(std::uint64_t bits) noexcept {
        return static_cast<std::uint32_t>(std::countr_zero(bits)) / 8;
    }
    static void take(place& at, const bucket& b, std::uint64_t tags, std::uint64_t bits) {
        at.slot_ = std::addressof(b.at(index_of(bits)));
        at.tags_at_ = b.tags;
        at.tags_ = tags;
        at.shift_ = 8 * index_of(bits);
    }
    [[nodiscard]] static std::size_t buckets_of(const table_cursor& table) {
        const std::size_t pieces = table.size();
        if (pieces < 2) [[unlikely]]
            detail::broken("a hash table has no buckets");
        return pieces - 1;
    }
    void check_chain(std::size_t passed) const {
        if (passed % look_at_length == look_at_length - 1 && passed > size()) [[unlikely]]
            detail::broken("a chain of a hash table leads round in a circle");
    }
    /// Calls f(bucket) for each bucket and its spills. f must not change the chain.
    template <class F>
    void each_bucket(F&& f) const {
        const auto table = buckets_.get();
        const std::size_t n = table ? buckets_of(table) : 0;
        for (std::size_t i = 0; i < n; ++i) {
            bucket b(table.first(), i);
            for (std::size_t passed = 0;; ++passed) {
                f(b);
                const cursor<spill, H> more = *b.more;
                if (!more) break;
                check_chain(passed);
                b = bucket(*more);
            }
        }
    }
    /// Calls f(slot) for each slot in use.
    template <class F>
    void each_slot(F&& f) const {
        each_bucket([&](const bucket& b) {
            const std::uint64_t tags = *b.tags;
            for (std::uint64_t m = high_bits & ~bytes_like(tags, 0); m != 0; m &= m - 1) {
                slot& s = b.at(index_of(m));
                if (entry_at(s)) f(s);
            }
        });
    }
    template <class F>
    void each_spill(F&& f) const {
        each_bucket([&](const bucket& b) {
            if (const cursor<spill, H> more = *b.more) f(*more);
        });
    }
    [[nodiscard]] bool is_full() const {
        return size() >= entries_a_bucket * buckets_of(buckets_.get());
    }
    /// Makes room for the key, whose chain is full; returns the new place.
    [[nodiscard]] place make_room(tx<H>& t, place at, const K& key) {
        if (at.end_ == nullptr || is_full()) {
            widen(t);
            at = place_of(key);
        }
        if (at.slot_ == nullptr) add_spill(t, at);
        return at;
    }
    static void add_spill(tx<H>& t, place& at) {
        const auto made = t.template make<spill>();
        at.end_->set(t, made);
        take(at, bucket(*made), 0, bytes_like(0, 0));
    }
    /// Doubles the table. If the heap has no room for a larger one, the table stays, and its chains
    /// become longer.
    void widen(tx<H>& t) {
        const auto old = buckets_.get();
        if (!old) return buckets_.set(t, t.template make_array<piece[]>(first_buckets + 1));
        const std::size_t n = 2 * buckets_of(old);
        const auto table = t.template try_make_array<piece[]>(n + 1);
        if (!table) return;
        each_slot([&](slot& from) {
            const std::uint64_t hash = detail::hash_key(entry_at(from)->key.get());
            copy_to(t, bucket(table.first(), hash & (n - 1)), tag_of(hash), from);
        });
        each_spill([&](spill& s) {
            detail::forsake(t.counts(), std::addressof(s));
            detail::add_count(t.counts(), offset_of(std::addressof(s)), -1);
        });
        detail::forsake(t.counts(), old.address());
        buckets_.set(t, table);
    }
    /// Copies an entry, or the pointer to it, as bytes to a bucket of a table that this transaction
    /// has made, or to a spill of that bucket.
    static void copy_to(tx<H>& t, bucket b, std::uint64_t tag, slot& from) {
        for (;; b = bucket(*fresh_target(t, *b.more))) {
            const std::uint64_t tags = fresh_word(*b.tags);
            if (const std::uint64_t free = bytes_like(tags, 0); free != 0) {
                const std::uint32_t i = index_of(free);
                detail::fill_fresh(t.running(), std::addressof(b.at(i)), std::addressof(from),
                                   sizeof(slot));
                return set_fresh_word(*b.tags, tags | tag << 8 * i);
            }
            if (fresh_word(*b.more) == 0) {
                const auto made = t.template make<spill>();
                const std::uint64_t offset = offset_of(made.address());
                detail::add_count(t.counts(), offset, 1);
                set_fresh_word(*b.more, offset);
            }
        }
    }
    // The words of objects that this transaction has made, which it reads and stores in place.
    template <class F>
    [[nodiscard]] static std::uint64_t fresh_word(const F& field) noexcept {
        static_assert(sizeof(F) == 8);
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const void*>(std::addressof(field)), sizeof word);
        return word;
    }
    template <class F>
    static void set_fresh_word(F& field, std::uint64_t word) noexcept {
        static_assert(sizeof(F) == 8);
        std::memcpy(static_cast<void*>(std::addressof(field)), &word, sizeof word);
    }
    [[nodiscard]] static spill* fresh_target(tx<H>& t, const ptr<spill, H>& from) {
        return reinterpret_cast<spill*>(t.running().base() + fresh_word(from));
    }
    [[nodiscard]] static std::uint64_t offset_of(const void* object) noexcept {
        return reinterpret_cast<std::uint64_t>(object) & window_mask;
    }

    ptr<piece[], H> buckets_;
    counter size_;

   public:
    static constexpr auto nv_members = std::tuple{&unordered_map::buckets_, &unordered_map::size_};
};

}  // namespace hf::nv
