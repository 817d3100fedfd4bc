// hash_map.hpp: a hash map from byte strings to byte strings that survives crashes, using only
// holdfast/checkpoint.hpp.
//
//   root    | table | next table | moved | count |      logged words
//   table   | buckets | entry*, logged | entry*, logged | ...
//   entry   | next, logged | hash | sizes | key | value |
//
// Entries are immutable except for `next`: a new value is a new entry that replaces the old one.
// When there are as many entries as buckets, a table of twice the size is allocated, and each
// change moves two buckets to it. So every operation is short, and an epoch can end at any time.
// Until all buckets are moved, those below `moved` are in the next table.
#pragma once

#include <holdfast/checkpoint.hpp>

#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>

namespace example {

class hash_map {
   public:
    /// Opens the map in the file's root: empty in a new file.
    explicit hash_map(hf::checkpointed& file) : file_(file), root_(*file.root<anchor>()) {}

    [[nodiscard]] std::optional<std::string> get(std::string_view key) {
        const std::shared_lock lock(mutex_);
        const hf::checkpointed::operation op(file_);
        const std::uint64_t hash = hash_of(key);
        link* const bucket = bucket_of(op, hash);
        if (bucket == nullptr) return std::nullopt;
        link* const at = find(op, bucket, hash, key);
        const entry* const found = at->get(op);
        if (found == nullptr) return std::nullopt;
        return std::string(found->value());
    }

    /// The ticket can be waited on for durability. errc::no_space: nothing has changed.
    hf::result<hf::ticket> put(std::string_view key, std::string_view value) {
        const std::lock_guard lock(mutex_);
        hf::checkpointed::operation op(file_);
        if (auto ok = make_room(op); !ok) return tl::unexpected(ok.error());
        const std::uint64_t hash = hash_of(key);
        auto fresh = make_entry(op, hash, key, value);
        if (!fresh) return tl::unexpected(fresh.error());
        link* const at = find(op, bucket_of(op, hash), hash, key);
        entry* const old = at->get(op);
        (*fresh)->next.set(op, old != nullptr ? old->next.get(op) : nullptr);
        at->set(op, *fresh);
        if (old != nullptr) {
            drop(op, old);
        } else {
            root_.count.set(op, root_.count.get(op) + 1);
        }
        return op.written_in();
    }

    /// False: the key was not there.
    bool remove(std::string_view key) {
        const std::lock_guard lock(mutex_);
        hf::checkpointed::operation op(file_);
        const std::uint64_t hash = hash_of(key);
        link* const bucket = bucket_of(op, hash);
        if (bucket == nullptr) return false;
        link* const at = find(op, bucket, hash, key);
        entry* const old = at->get(op);
        if (old == nullptr) return false;
        at->set(op, old->next.get(op));
        drop(op, old);
        root_.count.set(op, root_.count.get(op) - 1);
        return true;
    }

    [[nodiscard]] std::uint64_t size() {
        const std::shared_lock lock(mutex_);
        const hf::checkpointed::operation op(file_);
        return root_.count.get(op);
    }

    /// Accesses every logged word once, which applies its log after a crash; a hundred buckets an
    /// operation.
    hf::result<void> mend() {
        const std::lock_guard lock(mutex_);
        bool begun = false;
        bool second = false;
        std::uint64_t at = 0;
        return file_.mend([&](hf::checkpointed::operation& op) {
            if (!begun) mend_root(op);
            begun = true;
            table* const t = second ? root_.next.get(op) : root_.now.get(op);
            for (int i = 0; t != nullptr && i < 100 && at < t->size; ++i) {
                mend_bucket(op, t->buckets()[at++]);
            }
            if (t != nullptr && at < t->size) return true;
            at = 0;
            return !std::exchange(second, true);
        });
    }

   private:
    struct entry;
    using link = hf::logged<entry*>;

    struct entry {
        link next;
        std::uint64_t hash = 0;
        std::uint32_t key_size = 0;
        std::uint32_t value_size = 0;
        [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
        [[nodiscard]] const char* bytes() const noexcept {
            return reinterpret_cast<const char*>(this + 1);
        }
        [[nodiscard]] std::string_view key() const noexcept { return {bytes(), key_size}; }
        [[nodiscard]] std::string_view value() const noexcept {
            return {bytes() + key_size, value_size};
        }
        [[nodiscard]] std::size_t size() const noexcept {
            return sizeof(entry) + key_size + value_size;
        }
    };
    struct alignas(32) table {
        std::uint64_t size = 0;  ///< buckets, a power of two
        [[nodiscard]] link* buckets() noexcept { return reinterpret_cast<link*>(this + 1); }
        [[nodiscard]] static std::size_t bytes(std::uint64_t size) noexcept {
            return sizeof(table) + size * sizeof(link);
        }
    };
    struct anchor {
        hf::logged<table*> now;
        hf::logged<table*> next;  ///< nullptr: no move is in progress
        hf::logged<std::uint64_t> moved;
        hf::logged<std::uint64_t> count;
    };
    static constexpr std::uint64_t first_size = 8;
    static constexpr int moved_at_once = 2;

    /// FNV-1a. It must be the same in every process, as the hashes are in the file.
    static std::uint64_t hash_of(std::string_view key) noexcept {
        std::uint64_t h = 0xcbf29ce484222325;
        for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        return h ^ h >> 32;
    }

    /// nullptr: there is no table yet.
    link* bucket_of(const hf::checkpointed::operation& op, std::uint64_t hash) {
        table* const t = root_.now.get(op);
        if (t == nullptr) return nullptr;
        const std::uint64_t i = hash & (t->size - 1);
        if (i >= root_.moved.get(op)) return t->buckets() + i;
        table* const next = root_.next.get(op);
        return next->buckets() + (hash & (next->size - 1));
    }
    /// The link to the key's entry, or the last link of the bucket.
    static link* find(const hf::checkpointed::operation& op, link* at, std::uint64_t hash,
                      std::string_view key) {
        for (entry* e = at->get(op); e != nullptr; e = at->get(op)) {
            if (e->hash == hash && e->key() == key) break;
            at = &e->next;
        }
        return at;
    }

    static hf::result<entry*> make_entry(hf::checkpointed::operation& op, std::uint64_t hash,
                                         std::string_view key, std::string_view value) {
        const auto memory = op.allocate(sizeof(entry) + key.size() + value.size(), alignof(entry));
        if (!memory) return tl::unexpected(memory.error());
        auto* const e = new (*memory) entry;
        e->hash = hash;
        e->key_size = static_cast<std::uint32_t>(key.size());
        e->value_size = static_cast<std::uint32_t>(value.size());
        std::memcpy(e->bytes(), key.data(), key.size());
        std::memcpy(e->bytes() + key.size(), value.data(), value.size());
        op.note(e, e->size());
        return e;
    }
    static void drop(hf::checkpointed::operation& op, entry* e) {
        op.deallocate(e, e->size(), alignof(entry));
    }

    static hf::result<table*> make_table(hf::checkpointed::operation& op, std::uint64_t size) {
        const auto memory = op.allocate(table::bytes(size), alignof(table));
        if (!memory) return tl::unexpected(memory.error());
        auto* const t = new (*memory) table;
        t->size = size;
        for (std::uint64_t i = 0; i < size; ++i) new (t->buckets() + i) link;
        op.note(t, table::bytes(size));
        return t;
    }

    /// Call before a change: creates the table; if it is full, moves some buckets to the next one.
    hf::result<void> make_room(hf::checkpointed::operation& op) {
        table* const now = root_.now.get(op);
        if (now == nullptr) {
            auto first = make_table(op, first_size);
            if (!first) return tl::unexpected(first.error());
            root_.now.set(op, *first);
            return {};
        }
        if (root_.next.get(op) == nullptr) {
            if (root_.count.get(op) < now->size) return {};
            auto larger = make_table(op, 2 * now->size);
            if (!larger) return tl::unexpected(larger.error());
            root_.next.set(op, *larger);
        }
        for (int i = 0; i < moved_at_once && root_.next.get(op) != nullptr; ++i) move_bucket(op);
        return {};
    }
    void move_bucket(hf::checkpointed::operation& op) {
        table* const now = root_.now.get(op);
        table* const next = root_.next.get(op);
        const std::uint64_t i = root_.moved.get(op);
        for (entry* e = now->buckets()[i].get(op); e != nullptr;) {
            entry* const following = e->next.get(op);
            link& target = next->buckets()[e->hash & (next->size - 1)];
            e->next.set(op, target.get(op));
            target.set(op, e);
            e = following;
        }
        now->buckets()[i].set(op, nullptr);  // an entry is in one bucket: mend() visits it once
        root_.moved.set(op, i + 1);
        if (i + 1 < now->size) return;
        root_.now.set(op, next);
        root_.next.set(op, nullptr);
        root_.moved.set(op, 0);
        op.deallocate(now, table::bytes(now->size), alignof(table));
    }

    void mend_root(hf::checkpointed::operation& op) {
        root_.now.mend(op);
        root_.next.mend(op);
        root_.moved.mend(op);
        root_.count.mend(op);
    }
    static void mend_bucket(hf::checkpointed::operation& op, link& first) {
        first.mend(op);
        for (entry* e = first.get(op); e != nullptr; e = e->next.get(op)) e->next.mend(op);
    }

    hf::checkpointed& file_;
    anchor& root_;
    std::shared_mutex mutex_;
};

}  // namespace example
