// holdfast/nv/unordered_map.hpp: a hash table in a heap, by chains. With the public interface alone.
//
// Key is any type that nv::p holds, with operator==; Value a field: nv::p<T>, nv::ptr<T, H>, a
// struct of these, or a container. What a transaction pays: find() reads a bucket and the entries of its chain
// (1 on the average); inserting makes one object and stores two words and the number of entries of
// a sixteenth of the table: two threads seldom meet. The table doubles, in one transaction, when
// there are as many entries as buckets.
#pragma once

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
    static constexpr std::size_t counters = 16;

    unordered_map() = default;
    unordered_map(const unordered_map&) = delete;
    unordered_map& operator=(const unordered_map&) = delete;
    ~unordered_map() = default;

    [[nodiscard]] std::size_t size() const {
        std::size_t n = 0;
        for (const auto& s : sizes_) n += s;
        return n;
    }
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// Null, or the entry: find(k)->value.
    [[nodiscard]] cursor_type find(const K& key) const {
        const auto table = buckets_.get();
        if (!table) return nullptr;
        cursor_type e = table[detail::hash_key(key) & (table.size() - 1)];
        while (e && e->key.get() != key) e = e->next;
        return e;
    }
    [[nodiscard]] bool contains(const K& key) const { return static_cast<bool>(find(key)); }
    /// The entry of that key; made, with a value of zeros, where there is none. Second: made.
    std::pair<cursor_type, bool> try_emplace(tx<H>& t, const K& key) {
        if (auto e = find(key)) return {e, false};
        make_room(t, key);
        const auto table = buckets_.get();
        auto& bucket = table[detail::hash_key(key) & (table.size() - 1)];
        auto made = t.template make<entry>(key, bucket.get());
        bucket.set(t, made);
        auto& n = sizes_[counter_of(key)];
        n.set(t, n + 1);
        return {made, true};
    }
    template <class U>
    void insert_or_assign(tx<H>& t, const K& key, const U& value) {
        try_emplace(t, key).first->value.set(t, value);
    }
    bool erase(tx<H>& t, const K& key) {
        const auto table = buckets_.get();
        if (!table) return false;
        ptr<entry, H>* link = std::addressof(table[detail::hash_key(key) & (table.size() - 1)]);
        for (cursor_type e = *link; e; e = *link) {
            if (e->key.get() == key) {
                link->set(t, e->next);
                auto& n = sizes_[counter_of(key)];
                n.set(t, n - 1);
                return true;
            }
            link = std::addressof(e->next);
        }
        return false;
    }
    void clear(tx<H>& t) {
        buckets_.set(t, nullptr);
        for (auto& s : sizes_) s.set(t, 0);
    }
    /// visit(key, value) for each; in no order.
    template <class F>
    void for_each(F&& visit) const {
        const auto table = buckets_.get();
        for (std::size_t i = 0; table && i < table.size(); ++i) {
            for (cursor_type e = table.first()[i]; e; e = e->next) visit(e->key.get(), e->value);
        }
    }

   private:
    [[nodiscard]] static std::size_t counter_of(const K& key) noexcept {
        return detail::hash_key(key) >> 60;
    }
    // By its own counter alone: reading all would meet every other thread's.
    void make_room(tx<H>& t, const K& key) {
        const auto old = buckets_.get();
        const std::size_t n = old ? old.size() : 0;
        if (n != 0 && sizes_[counter_of(key)] < n / counters * 5 / 4) return;
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
    array<p<std::size_t>, counters> sizes_;

   public:
    static constexpr auto nv_members = std::tuple{&unordered_map::buckets_, &unordered_map::sizes_};
};

}  // namespace hf::nv
