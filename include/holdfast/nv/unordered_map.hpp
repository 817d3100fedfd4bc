// holdfast/nv/unordered_map.hpp: a hash table in a heap, by chains. Written with
// the public interface alone.
//
// Key is any type that nv::p holds, with operator==; Value a field: nv::p<T>, nv::ptr<T, H>, a
// struct of these, or a container. What a transaction pays: find() reads a bucket and the
// entries of its chain (1 on the average); inserting makes one object and stores two words, and a
// part of the number of entries, of which each thread has one (counter.hpp): two threads seldom
// meet. The table doubles, in one transaction, when it has fewer than two buckets for an entry: a
// bucket costs 8 bytes, and an entry of another key in its chain a miss of the cache. Who inserts
// looks when its chain is a long one, which few are before, for that means to read what other
// threads write.
#pragma once

#include <holdfast/nv/counter.hpp>
#include <holdfast/nv/transaction.hpp>

#include <cstddef>
#include <cstring>

namespace hf::nv {

namespace detail {

/// The same in every process, as std::hash need not be.
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
        ptr<entry, H> next;
        V value;
    };
    using cursor_type = cursor<entry, H>;
    static constexpr std::size_t first_buckets = 64;
    /// So many other entries make a chain long.
    static constexpr std::size_t long_chain = 4;
    /// One that leads round in a circle is found out.
    static constexpr std::size_t look_at_length = 1024;

    unordered_map() = default;
    unordered_map(const unordered_map&) = delete;
    unordered_map& operator=(const unordered_map&) = delete;
    ~unordered_map() = default;

    /// Where a key is, or belongs. Good within the transaction, until the map changes.
    class place {
       public:
        /// Whether the key is there.
        [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(entry_); }
        /// Of the key that is there.
        [[nodiscard]] cursor_type entry() const noexcept { return entry_; }

       private:
        friend class unordered_map;
        ptr<unordered_map::entry, H>* bucket_ = nullptr;  ///< nullptr: there is no table
        ptr<unordered_map::entry, H>* link_ = nullptr;    ///< to the entry, or behind the last one
        cursor_type entry_;
        std::size_t passed_ = 0;  ///< entries of other keys
    };

    [[nodiscard]] std::size_t size() const { return size_.get(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] place place_of(const K& key) const {
        place at;
        const auto table = buckets_.get();
        if (!table) return at;
        const std::size_t buckets = table.size();
        if (buckets == 0) [[unlikely]]
            detail::broken("a hash table has no buckets");
        at.bucket_ = std::addressof(table.first()[detail::hash_key(key) & (buckets - 1)]);
        at.link_ = at.bucket_;
        for (at.entry_ = *at.link_; at.entry_ && at.entry_->key.get() != key; ++at.passed_) {
            check_chain(at.passed_);
            at.link_ = std::addressof(at.entry_->next);
            at.entry_ = *at.link_;
        }
        return at;
    }
    /// Null, or the entry: find(k)->value.
    [[nodiscard]] cursor_type find(const K& key) const { return place_of(key).entry(); }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(place_of(key)); }
    /// The entry of a key that is not there, with a value of zeros; `at` is its place.
    cursor_type insert_at(tx<H>& t, place at, const K& key) {
        if (at.bucket_ == nullptr || (at.passed_ >= long_chain && is_full())) [[unlikely]] {
            make_room(t);
            at = place_of(key);
        }
        const cursor_type made = t.template make<entry>(key, at.bucket_->get());
        at.bucket_->set(t, made);
        size_.add(t, 1);
        return made;
    }
    /// The key that is there goes.
    void erase_at(tx<H>& t, const place& at) {
        at.link_->set(t, at.entry_->next);
        size_.add(t, -1);
    }
    /// The entry of that key; made, with a value of zeros, where there is none. Second: made.
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
    /// visit(key, value) for each; in no order.
    template <class F>
    void for_each(F&& visit) const {
        const auto table = buckets_.get();
        for (std::size_t i = 0; table && i < table.size(); ++i) {
            std::size_t passed = 0;
            for (cursor_type e = table.first()[i]; e; e = e->next) {
                check_chain(passed++);
                visit(e->key.get(), e->value);
            }
        }
    }

   private:
    void check_chain(std::size_t passed) const {
        if (passed % look_at_length == look_at_length - 1 && passed > size()) [[unlikely]]
            detail::broken("a chain of a hash table leads round in a circle");
    }
    [[nodiscard]] bool is_full() const { return 2 * size() >= buckets_.get().size(); }
    void make_room(tx<H>& t) {
        const auto old = buckets_.get();
        const std::size_t n = old ? old.size() : 0;
        auto table = t.template make_array<ptr<entry, H>[]>(n == 0 ? first_buckets : 2 * n);
        for (std::size_t i = 0; i < n; ++i) {
            while (cursor_type e = old.first()[i]) {
                old.first()[i].set(t, e->next);
                auto& bucket = table.first()[detail::hash_key(e->key.get()) & (2 * n - 1)];
                e->next.set(t, bucket);
                bucket.set(t, e);
            }
        }
        buckets_.set(t, table);
    }

    ptr<ptr<entry, H>[], H> buckets_;
    counter size_;

   public:
    static constexpr auto nv_members = std::tuple{&unordered_map::buckets_, &unordered_map::size_};
};

}  // namespace hf::nv
