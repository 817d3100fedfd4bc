// Which lines an operation records and which references it shows to the sweep, for every eager
// index: when a stale lock is reclaimed, everything under it is made durable; a reference that is
// copied to another node is shown to the sweep.
#pragma once

#include "eager/operation.hpp"
#include "index/common/index_audit.hpp"

#include <functional>
#include <set>

namespace hf::test {

/// The reports of all operations.
struct told {
    std::set<u64> lines;   ///< offsets of recorded lines
    std::set<u64> shaded;  ///< offsets of references shown to the sweep
    void forget() {
        lines.clear();
        shaded.clear();
    }
    void note(u64 offset, u64 bytes) {
        for (u64 at = align_down(offset, line_size); at < offset + bytes; at += line_size) {
            lines.insert(at);
        }
    }
    /// The lines of this range that were not recorded.
    [[nodiscard]] std::vector<u64> missing(u64 offset, u64 bytes) const {
        std::vector<u64> found;
        for (u64 at = align_down(offset, line_size); at < offset + bytes; at += line_size) {
            if (!lines.contains(at)) found.push_back(at);
        }
        return found;
    }
};

/// Records in `all` what it does, and calls hooks.
class telling_operation : public eager_operation<persist_batch> {
   public:
    using base = eager_operation<persist_batch>;
    using base::base;
    static inline told all;
    static inline std::function<bool()> may_allocate;  ///< false: out of memory
    static inline std::function<void()> at_persist;    ///< called after it

    [[nodiscard]] result<u64> allocate(u64 bytes) {
        if (may_allocate && !may_allocate()) {
            return failure({errc::no_space, "allocate", "", "the test says so", "go on"});
        }
        return base::allocate(bytes);
    }
    [[nodiscard]] result<u64> allocate_node(u64 bytes) { return allocate(bytes); }
    void written(const void* p, std::size_t n) noexcept {
        all.note(offset_of(p), n);
        base::written(p, n);
    }
    void written_line(const void* p) noexcept {
        all.note(offset_of(p), 1);
        base::written_line(p);
    }
    void publish(published& word, u64 value) noexcept {
        all.note(offset_of(&word), sizeof word);
        base::publish(word, value);
    }
    void note_dependency(const node_lock& lock, const void* p, std::size_t n) noexcept {
        if (node_lock::may_be_volatile(lock.load())) all.note(offset_of(p), n);
        base::note_dependency(lock, p, n);
    }
    void note_dependency(u64 lock_word, const void* p, std::size_t n) noexcept {
        if (node_lock::may_be_volatile(lock_word)) all.note(offset_of(p), n);
        base::note_dependency(lock_word, p, n);
    }
    void make_durable(const void* p, std::size_t n) {
        all.note(offset_of(p), n);
        base::make_durable(p, n);
    }
    bool take(node_lock& lock, const void* p, std::size_t n) {
        const bool is_taken_over = base::take(lock, p, n);
        if (is_taken_over) all.note(offset_of(p), n);
        return is_taken_over;
    }
    void shade(const traced& of, u64 offset, u32 kind) {
        all.shaded.insert(offset);
        base::shade(of, offset, kind);
    }
    void persist_unpublished() {
        base::persist_unpublished();
        if (at_persist) at_persist();
    }
};
struct telling_discipline : eager_discipline {
    using operation = telling_operation;
};

/// A tree in a file whose operations are recorded.
template <template <class, class> class Index>
using telling_numbers = index_in_file<Index<telling_discipline, integer_keys>>;
template <template <class, class> class Index>
using telling_bytes = index_in_file<Index<telling_discipline, byte_keys>>;

// ------------------------------------------------------------------------------------- references

/// For each block, the blocks that refer to it.
using holders = std::map<u64, std::set<u64>>;

/// Collects the references that the audit visits. more(holders, blocks) adds those that it does
/// not.
template <class Tree, class More>
holders holders_in(Tree& t, std::set<u64>& blocks, More&& more) {
    std::map<u64, u64> room;  // size of each block, by its offset
    std::vector<std::pair<u64, u64>> links;
    audit_report report;
    const auto caches = t.space->grace().caches();
    swept::view books(t.space->heap(), caches);
    heap_audit a(t.space->file(), books, report);
    a.read_runs();
    a.tell_claims([&](const heap_audit::place& p, const char*, u64 from) {
        room.emplace(p.payload, p.room);
        links.emplace_back(p.payload, from);
    });
    t.index->audit(a);
    holders found;
    blocks.clear();
    for (const auto& [at, bytes] : room) blocks.insert(at);
    for (const auto& [child, from] : links) {
        auto holder = room.upper_bound(from);
        if (holder == room.begin()) continue;
        --holder;
        if (from < holder->first + holder->second) found[child].insert(holder->first);
    }
    more(found, blocks);
    return found;
}

/// Inserts and removes keys. After each operation: a block that another node refers to than before,
/// while its old holder still exists, must have been shown to the sweep. (A removed node is shown
/// as a whole.)
template <class Tree, class More>
void expect_references_to_be_shown(Tree& t, More&& more) {
    using kept = typename Tree::kept;
    xoshiro256ss random(1);
    std::set<u64> blocks;
    holders before = holders_in(t, blocks, more);
    unsigned moved = 0;
    for (u64 n = 0; n < 700; ++n) {
        telling_operation::all.forget();
        const kept k = key_for_audit<kept>(random.below(400));
        if (n < 400 || random.below(3) == 0) {
            t.upsert(k, value_for_audit<kept>(n));
        } else {
            t.remove(k);
        }
        holders now = holders_in(t, blocks, more);
        for (const auto& [child, in] : now) {
            const auto was = before.find(child);
            if (was == before.end()) continue;
            bool is_shown = telling_operation::all.shaded.contains(child);
            bool is_moved = false;
            for (const u64 holder : was->second) is_shown |= !blocks.contains(holder);
            for (const u64 holder : in) is_moved |= !was->second.contains(holder);
            if (!is_moved) continue;
            ++moved;
            ASSERT_TRUE(is_shown) << "operation " << n << ": what lies at " << child;
        }
        before = std::move(now);
    }
    EXPECT_GT(moved, 10U);
}
template <class Tree>
void expect_references_to_be_shown(Tree& t) {
    expect_references_to_be_shown(t, [](holders&, const std::set<u64>&) {});
}

// ------------------------------------------------------------------------------------- stale locks

/// For each node of this name that refers to records and has its lock in its first word: its lock
/// is made stale. The operation that then changes one of its records must record each line up to
/// the node's last word, and the lines of all its records.
template <class Tree>
void expect_who_takes_over_to_note_all(Tree& t, const std::string& name) {
    using kept = typename Tree::kept;
    using record = std::conditional_t<std::is_same_v<kept, u64>, integer_keys, byte_keys>::record;
    struct under {
        std::vector<u64> records;
        u64 end = 0;  ///< of its last word
    };
    std::map<u64, under> nodes;
    std::map<u64, u64> room;
    {
        audit_report report;
        const auto caches = t.space->grace().caches();
        swept::view books(t.space->heap(), caches);
        heap_audit a(t.space->file(), books, report);
        a.read_runs();
        std::vector<std::tuple<u64, u64, bool>> links;
        a.tell_claims([&](const heap_audit::place& p, const char* what, u64 from) {
            if (what == name) room.emplace(p.payload, p.room);
            links.emplace_back(p.payload, from, std::string("a record") == what);
        });
        t.index->audit(a);
        for (const auto& [child, from, is_record] : links) {
            auto holder = room.upper_bound(from);
            if (holder == room.begin()) continue;
            --holder;
            if (from >= holder->first + holder->second) continue;
            under& u = nodes[holder->first];
            u.end = std::max(u.end, from + 8);
            if (is_record) u.records.push_back(child);
        }
    }
    unsigned taken_over = 0;
    for (const auto& [at, u] : nodes) {
        if (u.records.size() < 2) continue;
        auto& lock = *t.space->file().template at<node_lock>(at);
        const u64 lower = (u64{1} << node_lock::generation_shift) - 1;
        const u64 dead = u64{t.space->generation() - 1} << node_lock::generation_shift;
        lock.fill((lock.load() & lower) | node_lock::locked | dead);
        telling_operation::all.forget();
        {
            const auto& r = *t.space->file().template at<record>(u.records.front());
            typename Tree::operation op(*t.space);
            if constexpr (std::is_same_v<kept, u64>) {
                must(t.index->upsert(op, r.key, 1));
            } else {
                const std::string k(byte_keys::key_of(r));
                must(t.index->upsert(op, k, "another"));
            }
        }
        ASSERT_EQ(lock.load() & node_lock::locked, 0U);
        ASSERT_EQ(telling_operation::all.missing(at, u.end - at), std::vector<u64>{}) << at;
        for (const u64 r : u.records) {
            ASSERT_EQ(telling_operation::all.missing(r, 1), std::vector<u64>{}) << at;
        }
        ++taken_over;
    }
    EXPECT_GT(taken_over, 10U);
}

}  // namespace hf::test
