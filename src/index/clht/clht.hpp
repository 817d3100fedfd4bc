// index/clht/clht.hpp: P-CLHT: a hash table with cache-line buckets, in which every operation is
// durable.
//
// Purpose. The fastest index for single keys. A write without growth flushes one line with one
// fence (integer_keys), or two lines with two fences (byte_keys, whose record comes first). A read
// loads one line, and for byte_keys the record. The table grows bucket by bucket: no operation
// waits for a table to be copied.
//
// On the medium. layout.hpp. A slot's key is the full 64-bit hash: for integers a bijection of the
// key; for byte strings the record has the key.
//
// Growth (linear hashing without a split order). With L hash bits all of 2^L buckets exist. The
// buddy of bucket b is b + 2^L; it may be made at any time, in a line of a zeroed chunk:
//
//        bucket b                          bucket b + 2^L            a search for a key with bit L
//   before:  x0 y1 z0                      not made                  finds the buddy unmade: b
//   split:   x0 y1 z0                      y1, then `made`           finds the buddy
//   after:   x0 (y1) z0                    y1                        (y1): dead by its own bit L
//
// Entries are copied, not moved; the dead ones in b are recognised by their hash, and overwritten
// by later inserts. When all 2^L buddies are made, L is incremented. A full bucket splits its group
// of buckets (with one fence); if it is split already, it gets an overflow bucket, and some groups
// at the frontier (the next groups in order) are split, so that the level ends. A volatile table
// records which groups are split, so that a search need not read a buddy to learn that it is not
// made. After open() the buddies themselves are read until the level has ended.
//
// Invariants.
//  C-I1  In a made bucket's chain each key occurs at most once among the live entries: those whose
//        hash ends in the bucket's number, with as many bits as it has been split to.
//  C-I2  All buckets below 2^L are made; none from 2^(L+1) on.
//  C-I3  A bucket's chain, and those of all buckets that it is split into, change under one lock;
//        overflow buckets are never unlinked.
//  C-I4  The version is incremented after a slot's key was cleared and before the slot gets another
//        value. Not earlier: a reader that has loaded the new state and then the old key would
//        accept the new value under an unchanged state (see readers, below).
//
// Persist order. Each step is in one line, or is separated by the fence of
// operation::persist_unpublished().
//  C1  a value < its key, a bucket's entries < `made`: in one line (PCSO);
//  C2  an overflow bucket < its link;
//  C3  a zeroed chunk or table < the word that points to it; that word < a bucket of it;
//  C4  overflow buckets of a buddy < `made`;
//  C5  `made` < the group counts as split, and < its lock is released;
//  C6  (a sweep after a kill) a chunk that a dead process may have left in the caches < its split
//      groups count as such.
//
// Concurrency. The locks are volatile, in lines that stay in the cache. A lock in the bucket's own
// line (eager/node_lock.hpp) would have to be released after the flush, which has just evicted the
// line. It would be needed if a killed writer could leave a half-done change to repair, which is
// not the case here. The lock is chosen by hash bits that all levels share, so a bucket, its
// buddies and its group have the same one, and a writer need not check again whether it has locked
// the right bucket.
// Readers take no lock: they load state, keys, value, and state again; if the version has changed,
// the slot may belong to another key, and they retry. Then they check the lock: data found under a
// held lock may be volatile, and the reader flushes it. A miss checks whether the bucket was split
// meanwhile. Reads are limited by memory latency, and so by the number of reads that a processor
// overlaps. So their fast path is short and skips the operation object; it only enters the lane
// (short_stay), because nothing has to be recorded while all is durable.
//
// Recovery. None: every state between two stores is a valid table. The level follows from the
// directory; the frontier starts at 0 and skips groups that are split. After a kill it is not known
// which locks were held. So until the sweep has made the table durable, every operation flushes the
// chain that it uses (eager/space.hpp), and a writer also the buddy: the buddy's `made` may be in
// the caches only, and has made entries dead that the writer overwrites. A group counts as split
// only after each buddy in it is durable (C5, C6). load() flushes the directory and the chunk
// tables.
//
// Full region. A split without memory does not happen; an insert that then cannot get an overflow
// bucket fails with errc::no_space, without effect. Updates of integers, reads and removes need no
// memory.
//
// Bad input. open() refuses a root of other chunk bits, keys or format; audit() finds damage.
// Operations count the buckets of a chain: a cycle is damage.
//
// Literature. David, Guerraoui, Trigonakis, "Asynchronized concurrency" (CLHT), ASPLOS 2015; Lee et
// al., "RECIPE", SOSP 2019; Litwin, "Linear hashing", VLDB 1980; Zuriel et al., "Efficient
// lock-free durable sets", OOPSLA 2019.
#pragma once

#include "index/clht/layout.hpp"
#include "index/common/batch.hpp"
#include "index/common/get_piece.hpp"
#include "index/common/index.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace hf {

/// Sizes of the table's units of growth.
struct clht_shape {
    static constexpr unsigned chunk_bits = 12;  ///< buckets of a chunk: 256 KiB
    static constexpr unsigned group_bits = 3;   ///< buckets that are split with one fence
    static constexpr unsigned frontier_groups = 1;
};

template <class D, class Keys, class Shape = clht_shape>
class clht final : public traced {
   public:
    using key = typename Keys::key;
    using value = typename Keys::value;
    using operation = typename D::operation;
    static constexpr std::string_view name = "clht";
    static constexpr layout::room_format format = clht_detail::clht_format;

    [[nodiscard]] static result<std::unique_ptr<clht>> open(eager_space& space,
                                                            std::string_view root);

    [[nodiscard]] result<bool> insert(operation& op, key k, value v) {
        return write(op, k, v, wanted::absent, ignore);
    }
    using piece_entry = std::pair<key, value>;
    /// One piece of insert_many() (index/common/batch.hpp).
    [[nodiscard]] result<u64> insert_piece(operation& op, std::span<const piece_entry> piece);
    template <class Old = ignore_old>
    [[nodiscard]] result<bool> upsert(operation& op, key k, value v, Old&& old = {}) {
        return write(op, k, v, wanted::any, old);
    }
    template <class Old = ignore_old>
    [[nodiscard]] result<bool> update(operation& op, key k, value v, Old&& old = {}) {
        return write(op, k, v, wanted::present, old);
    }
    template <class Old = ignore_old>
    bool remove(operation& op, key k, Old&& old = {});
    template <class Found>
    bool get(operation& op, key k, Found&& found) const;
    /// get() as an operation of its own, which is faster. The thread must not have one open.
    template <class Found>
    bool get(eager_space& space, key k, Found found) const;
    /// Looks up many keys in lockstep (index/common/get_piece.hpp).
    template <class Found>
    void get_piece(operation& op, std::span<const key> keys, Found&& found) const;
    template <class Visit>
    void for_each(eager_space& space, Visit&& visit) const;
    /// for_each() in this many parts, each an operation of its own, for incremental iteration.
    static constexpr u64 parts = (u64{1} << Shape::chunk_bits) + 1;
    template <class Visit>
    void for_each_in(eager_space& space, u64 part, Visit&& visit) const;

    void trace_roots(tracer& t) const override { t.visit(root_offset_, root_kind); }
    void trace(u64 offset, u32 kind, tracer& t) const override;
    void audit(heap_audit& a) const;

    /// Number of hash bits of the current level; for tests and figures.
    [[nodiscard]] unsigned level() const noexcept { return now().bits; }

   private:
    using bucket = clht_detail::bucket;
    using root_block = clht_detail::root_block;
    static constexpr unsigned slots = clht_detail::slots;
    static constexpr u64 group = u64{1} << Shape::group_bits;
    static constexpr u64 stripes = u64{1} << (Shape::chunk_bits - Shape::group_bits);
    static constexpr unsigned most_chunk_bits = 20;  ///< bits of a chunk's number
    static_assert(Shape::group_bits <= Shape::chunk_bits);

    static constexpr u32 root_kind = 1;
    static constexpr u32 table_kind = 0x40000000;  // | level
    static constexpr u32 chunk_kind = 0x80000000;  // | number

    enum class wanted : u8 { absent, any, present };

    /// A level, and which of its groups are split. Volatile: it saves reading the buddy, which
    /// would be a cache miss and an unpredictable branch.
    struct stage {
        stage(unsigned hash_bits, bool knows_all)
            : bits(hash_bits),
              exact(knows_all),
              numbers((u64{1} << hash_bits) - 1),
              split_(std::make_unique<std::atomic<std::int8_t>[]>(groups())) {}
        const unsigned bits;
        /// true: a group without a mark is not split. false: it may be split, because an earlier
        /// session began the level.
        const bool exact;
        const u64 numbers;  ///< the hash bits that form a bucket's number

        [[nodiscard]] u64 size() const noexcept { return u64{1} << bits; }
        [[nodiscard]] u64 groups() const noexcept { return size() >> Shape::group_bits; }
        [[nodiscard]] bool has_split(u64 g) const noexcept {
            return split_[g].load(std::memory_order_acquire) != 0;
        }
        void set_split(u64 g) const noexcept { split_[g].store(-1, std::memory_order_release); }
        /// The number of a hash's bucket: one more bit counts if its group is split. Branchless,
        /// because the branch would be unpredictable, and short, so that more reads overlap their
        /// cache misses.
        [[nodiscard, gnu::always_inline]] u64 number_of(u64 hash) const noexcept {
            const u64 fewer = numbers;
            const std::atomic<std::int8_t>& of_group = split_[(hash & fewer) >> Shape::group_bits];
            // NOLINTNEXTLINE(bugprone-signed-char-misuse): its sign fills the word
            const std::int64_t split = of_group.load(std::memory_order_acquire);
            return hash & (fewer | (static_cast<u64>(split) & (fewer + 1)));
        }

       private:
        /// one for each group: 0, or all bits set
        const std::unique_ptr<std::atomic<std::int8_t>[]> split_;
    };

    /// Where a key is searched.
    struct home {
        bucket* first;
        u64 number;  ///< of the bucket; no_number: the bucket of the hash 0
        u64 hash;    ///< as it is stored
    };
    static constexpr u64 no_number = ~u64{0};
    struct alignas(line_size) stripe {
        spin_lock lock;
    };
    struct slot {
        bucket* node = nullptr;
        unsigned at = 0;
        explicit operator bool() const noexcept { return node != nullptr; }
    };
    struct found_slots {
        slot of_key;
        slot free;  ///< empty or dead
        bucket* last = nullptr;
    };

    explicit clht(eager_space& space)
        : space_(space),
          base_(space.file().base()),
          locks_(std::make_unique<stripe[]>(stripes)),
          chunks_(static_cast<std::atomic<bucket*>*>(
                      std::calloc(u64{1} << most_chunk_bits, sizeof(std::atomic<bucket*>))),
                  std::free) {
        HF_CHECK(chunks_ != nullptr, "no memory for the table of chunks");
    }

    // --- searching (here) ---
    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return object_at<T>(base_, region::near_offset(offset, alignof(T)));
    }
    [[nodiscard]] const stage& now() const noexcept {
        return *stage_.load(std::memory_order_acquire);
    }
    [[nodiscard]] static u64 mask(unsigned bits) noexcept { return (u64{1} << bits) - 1; }
    /// nullptr: its chunk does not exist.
    [[nodiscard]] bucket* bucket_at(u64 number) const noexcept {
        if (number >> (Shape::chunk_bits + most_chunk_bits) != 0) return nullptr;
        bucket* chunk = chunks_[number >> Shape::chunk_bits].load(std::memory_order_acquire);
        return chunk == nullptr ? nullptr : chunk + (number & mask(Shape::chunk_bits));
    }
    [[nodiscard]] bool is_made(u64 number) const noexcept {
        const bucket* b = bucket_at(number);
        return b != nullptr && b->is_made();
    }
    [[nodiscard, gnu::always_inline]] home home_of(u64 hash) const noexcept {
        if (hash == 0) [[unlikely]] {
            if constexpr (Keys::inline_values) return {&root_->zero, no_number, 1};
            hash = 1;
        }
        const stage& s = now();
        u64 number = s.number_of(hash);
        if (!s.exact) [[unlikely]] {
            number = number_among_buddies(s, hash);
        }
        bucket* chunk = chunks_[number >> Shape::chunk_bits].load(std::memory_order_acquire);
        return {chunk + (number & mask(Shape::chunk_bits)), number, hash};
    }
    /// The bucket number while it is not known which groups are split: reads the buddy.
    [[nodiscard, gnu::always_inline]] u64 number_among_buddies(const stage& s,
                                                               u64 hash) const noexcept {
        const u64 low = hash & s.numbers;
        const u64 buddy = low + s.numbers + 1;
        if ((hash & (s.numbers + 1)) == 0) return low;
        bucket* chunk = chunks_[buddy >> Shape::chunk_bits].load(std::memory_order_acquire);
        if (chunk == nullptr) return low;
        return chunk[buddy & mask(Shape::chunk_bits)].is_made() ? buddy : low;
    }
    /// Whether the bucket must exist, by C-I2 and the known split groups.
    [[nodiscard]] bool must_be_made(u64 number) const noexcept {
        const stage& s = now();
        return number < s.size() ||
               (number < 2 * s.size() && s.has_split((number - s.size()) >> Shape::group_bits));
    }
    /// The number of hash bits that the entries of a bucket share. Stable while its lock is held.
    [[nodiscard]] unsigned bits_of(u64 number) const noexcept {
        const stage& s = now();
        const bool is_split = number >= s.size() || s.has_split(number >> Shape::group_bits) ||
                              (!s.exact && is_made(number + s.size()));
        return is_split ? s.bits + 1 : s.bits;
    }
    /// The stripe of a hash, or of a bucket's number.
    [[nodiscard]] static u64 stripe_of(u64 hash) noexcept {
        return hash >> Shape::group_bits & (stripes - 1);
    }
    [[nodiscard]] spin_lock& lock_of(u64 hash) const noexcept {
        return locks_[stripe_of(hash)].lock;
    }
    [[nodiscard]] static bool is_alive(u64 hash, u64 number, unsigned bits) noexcept {
        return hash != 0 && (number == no_number || (hash & mask(bits)) == number);
    }
    /// A hash that is not alive any more was when the bucket was made.
    [[nodiscard]] static bool may_have_been_in(u64 number, u64 hash) noexcept {
        return number == no_number || hash == 0 ||
               is_alive(hash, number,
                        std::max<unsigned>(Shape::chunk_bits,
                                           static_cast<unsigned>(std::bit_width(number))));
    }
    [[nodiscard]] bool is_block(u64 offset) const noexcept {
        const swept::run* r = space_.heap().run_of(offset);
        return r != nullptr && r->begins_at(offset);
    }
    [[nodiscard]] bucket* next_of(const bucket* b) const noexcept {
        const u64 offset = b->next.load();
        return offset == 0 ? nullptr : at<bucket>(offset);
    }
    /// Whether an entry with the key's hash is this key's.
    [[nodiscard]] bool is_of(key k, u64 value_word) const noexcept {
        if constexpr (Keys::inline_values) {
            return true;
        } else {
            return Keys::key_of(*at<typename Keys::record>(value_word)) == k;
        }
    }
    [[nodiscard]] value value_in(u64 word) const {
        if constexpr (Keys::inline_values) {
            return word;
        } else {
            return Keys::value_if_sound(*at<typename Keys::record>(word));
        }
    }

    // --- reading (read.hpp) ---
    enum class answer : u8 { absent, present, unknown };
    class short_stay;
    /// The thread's lane for reads that may be short stays: the space has no epochs, no data left
    /// volatile by a kill, and a light fence is free. Once true, this stays true for the table with
    /// this number. In the TLS block that a thread starts with (sync/thread_slots.hpp).
    struct known_lane {
        u64 table = 0;
        eager_lane* lane = nullptr;
    };
    [[gnu::tls_model(
        "initial-exec")]] static inline thread_local constinit known_lane lane_of_last_table{};
    static inline std::atomic<u64> last_number{0};
    template <bool Misses, class Found>
    answer look(key k, u64 hash, bool is_durable, Found&& found) const;
    template <class Found>
    bool get_by_hash(operation& op, key k, u64 hash, Found&& found) const;
    void begin_loading(u64 hash) const noexcept;
    void begin_loading_record(u64 hash) const noexcept;
    template <class Found>
    bool get_apart(key k, Found found) const;
    template <class Found>
    bool get_from_chain(operation& op, key k, u64 hash, Found&& found) const;

    // --- writing (write.hpp) ---
    [[nodiscard]] found_slots search(operation& op, const home& h, key k) const;
    void note_after_a_kill(operation& op, const home& h) const;
    template <class Old>
    [[nodiscard]] result<bool> write(operation& op, key k, value v, wanted what, Old&& old);
    [[nodiscard]] static result<u64> make_value(operation& op, key k, value v);
    static void empty(operation& op, bucket* first, slot s) noexcept;
    static void fill(operation& op, bucket* first, slot s, u64 hash, u64 word) noexcept;
    [[nodiscard]] result<void> add_overflow(operation& op, bucket* last, u64 hash, key k, value v);

    // --- growing (growth.hpp) ---
    [[nodiscard]] result<void> split_group_of(operation& op, u64 number);
    [[nodiscard]] result<void> copy_to_buddy(operation& op, u64 number, unsigned bits);
    void begin_level(unsigned bits, bool exact);
    void undo_copy(operation& op, bucket* buddy);
    void push_frontier(operation& op, unsigned groups);
    [[nodiscard]] result<void> ensure_chunk(operation& op, u64 chunk);
    [[nodiscard]] result<u64> make_zeros(operation& op, u64 bytes);

    // --- batches (batch.hpp) ---
    class piece_locks;
    [[nodiscard]] result<void> make_records(operation& op, std::span<const piece_entry> piece,
                                            batch_records<operation>& records);
    [[nodiscard]] placing place_in_piece(operation& op, const piece_entry& e, u64& record);

    // --- iterating (walk.hpp) ---
    [[nodiscard]] static result<u64> create_root(eager_space& space);
    [[nodiscard]] result<void> load(u64 root_offset);
    void make_directory_durable();
    [[nodiscard]] error damaged(u64 offset, std::string why) const;
    struct entry {
        u64 hash;
        u64 value;
    };
    void collect(operation& op, u64 number, unsigned bits, std::vector<entry>& out) const;
    void read_chain(operation& op, bucket* first, u64 number, unsigned bits,
                    std::vector<entry>& out) const;
    void learn(u64 first) const;
    void trace_chain(const bucket* first, u64 number, unsigned bits, tracer& t) const;
    bool claim(heap_audit& a, u64 offset, u64 bytes, const char* what, u64 from) const;
    void audit_chain(heap_audit& a, const bucket* first, u64 number, unsigned bits) const;

    eager_space& space_;
    std::byte* const base_;
    /// identifies this table
    const u64 number_ = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
    u64 root_offset_ = 0;
    root_block* root_ = nullptr;
    const std::unique_ptr<stripe[]> locks_;
    std::unique_ptr<std::atomic<bucket*>[], void (*)(void*)> chunks_;
    alignas(line_size) std::atomic<const stage*> stage_{nullptr};
    std::vector<std::unique_ptr<const stage>> stages_;  ///< readers may still use an old one
    std::mutex chunk_mutex_;                            // guards the creation of chunks and tables
    alignas(line_size) spin_lock frontier_lock_;
    u64 frontier_ = 0;  ///< groups below it are split; guarded by frontier_lock_, as stages_ is
};

}  // namespace hf

#include "index/clht/batch.hpp"
#include "index/clht/growth.hpp"
#include "index/clht/read.hpp"
#include "index/clht/walk.hpp"
#include "index/clht/write.hpp"
