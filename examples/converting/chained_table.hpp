// chained_table.hpp: a concurrent hash table of one's own, made durable with every operation.
// docs/converting.md walks through it.
//
//   root ──> table: 256 heads, a cache line each        nodes: never changed but for their link
//            | lock | first |──────> | next | key | value |──> | next | key | value |──> 0
//
// Concurrency. Writers of a chain hold its head's lock; readers take no lock and do not wait.
//
// Persist order. Only that of the discipline (eager/operation.hpp), since one 8-byte store commits
// each change (RECIPE's condition 1): it redirects a link to a new node, which P1 has made durable,
// or past a removed node. A chain is valid after each store, so a thread that reclaims a stale lock
// has nothing to repair.
#pragma once

#include "index/common/index.hpp"

#include <new>
#include <optional>

namespace example {

using hf::eager_space;
using hf::published;
using hf::result;
using hf::u32;
using hf::u64;

// Step 1. A template of its discipline: with another discipline the same code runs without flushes,
// as the baseline.
template <class D = hf::eager_discipline, u64 Heads = 256>
class chained_table final : public hf::traced {
   public:
    using key = u64;
    using value = u64;
    using operation = typename D::operation;
    static constexpr std::string_view name = "chained";
    static constexpr hf::layout::room_format format{"chained", 1};

    // Step 2. The layout on the medium: links are `published` words, locks are `node_lock`s.
    struct alignas(hf::line_size) head {
        hf::node_lock lock;
        published first;
    };
    struct node {
        published next;
        u64 key;
        u64 value;
    };
    struct table {
        head of[Heads];
    };

    // Step 3. open() creates the table, or finds it by its root.
    static result<std::unique_ptr<chained_table>> open(eager_space& space, std::string_view root) {
        u64 offset = 0;
        if (auto known = space.file().find_root(root)) {
            if ((*known)->type != root_type) return hf::failure(is_another(space));
            offset = (*known)->value.load(std::memory_order_acquire);
        } else {
            auto made = found(space);
            if (!made) return tl::unexpected(made.error());
            offset = *made;
            auto named = space.file().publish_root(root, root_type, format.version, offset);
            if (!named) return tl::unexpected(named.error());
        }
        std::unique_ptr<chained_table> t(new chained_table(space, offset));
        space.add_structure(*t);
        return t;
    }

    // Step 4. Reads: call note_dependency() for each link followed, and persist_dependencies()
    // last.
    template <class Found>
    bool get(operation& op, u64 k, Found&& found) const {
        const head& h = head_of(k);
        const place p = find(op, h, k, true);
        op.persist_dependencies();
        if (p.at == 0) return false;
        found(op.template at<node>(p.at)->value);
        return true;
    }

    // Step 5. Writes: memory first, then P1, one publishing store, P2; unlock and retire after
    // that.
    result<bool> insert(operation& op, u64 k, u64 v) { return write(op, k, v, true, false); }
    template <class Old>
    result<bool> upsert(operation& op, u64 k, u64 v, Old&& old) {
        return write(op, k, v, true, true, old);
    }
    template <class Old>
    result<bool> update(operation& op, u64 k, u64 v, Old&& old) {
        return write(op, k, v, false, true, old);
    }
    template <class Old>
    bool remove(operation& op, u64 k, Old&& old) {
        head& h = head_of(k);
        const bool was_dead = h.lock.lock(op.generation());
        const place p = find(op, h, k, was_dead);
        if (p.at == 0) {
            op.persist_dependencies();
            h.lock.unlock();
            return false;
        }
        const node& gone = *op.template at<node>(p.at);
        old(gone.value);
        op.publish(*p.link, gone.next.load());
        op.persist_publication();
        h.lock.unlock();
        op.retire(*this, p.at, node_kind);
        return true;
    }

    template <class Visit>
    void for_each(eager_space& space, Visit&& visit) const {
        for (const head& h : table_->of) {
            operation op(space);
            for (u64 at = follow(op, h, h.first); at != 0;) {
                const node& n = *op.template at<node>(at);
                visit(n.key, n.value);
                at = follow(op, h, n.next);
            }
            op.persist_dependencies();
        }
    }

    // Step 6. Tracing: the sweep after recovery frees all memory that this does not reach.
    void trace_roots(hf::tracer& t) const override { t.visit(offset_, table_kind); }
    void trace(u64 offset, u32 kind, hf::tracer& t) const override {
        if (kind == node_kind) return t.visit(at<node>(offset)->next.load(), node_kind);
        for (const head& h : table_->of) t.visit(h.first.load(), node_kind);
    }

    // Step 7. For checks: claims all of its memory, and validates each offset before it follows it.
    void audit(hf::heap_audit& a) const {
        if (!claim<table>(a, offset_, "the table", 0)) return;
        for (const head& h : table_->of) {
            u64 from = space_.file().offset_of(&h);
            for (u64 at = h.first.load(); at != 0; at = this->at<node>(at)->next.load()) {
                if (!claim<node>(a, at, "a node", from)) break;
                ++a.report().tree.records;
                from = at;
                if (&head_of(this->at<node>(at)->key) == &h) continue;
                a.report().add(at, "a node lies in another chain than its key's");
            }
        }
    }

   private:
    static constexpr u64 root_type = 0x656c626174;  // "table"
    static constexpr u32 node_kind = 1;
    static constexpr u32 table_kind = 2;

    /// A node, and the link to it; at == 0: the chain's last link.
    struct place {
        published* link;
        u64 at;
    };

    chained_table(eager_space& space, u64 offset)
        : space_(space), offset_(offset), table_(space.file().template at<table>(offset)) {}

    static hf::error is_another(const eager_space& space) {
        return {hf::errc::incompatible, "open the table", space.file().path().string(),
                "the root is of something else", "open it as what it was made"};
    }
    static result<u64> found(eager_space& space) {
        operation op(space);
        auto offset = op.allocate(sizeof(table));
        if (!offset) return offset;
        auto* t = new (op.template at<table>(*offset)) table;
        for (head& h : t->of) {
            h.lock.fill(0);
            h.first.fill(0);
        }
        op.written(t, sizeof(*t));
        op.persist_publication();
        return offset;
    }

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return space_.file().template at<T>(offset);
    }
    [[nodiscard]] head& head_of(u64 k) const noexcept {
        return table_->of[hf::integer_keys::hash(k) % Heads];
    }
    /// A link under a held lock may not be durable, so the lock is loaded after the link.
    static u64 follow(operation& op, const head& h, const published& link) {
        const u64 to = link.load();
        op.note_dependency(h.lock, &link, sizeof(link));
        return to;
    }
    /// After an unlock all links are durable; under a stale lock some may be volatile.
    place find(operation& op, const head& h, u64 k, bool may_be_volatile) const {
        const published* link = &h.first;
        for (;;) {
            const u64 to = may_be_volatile ? follow(op, h, *link) : link->load();
            if (to == 0 || op.template at<node>(to)->key == k) {
                return {const_cast<published*>(link), to};
            }
            link = &op.template at<node>(to)->next;
        }
    }

    template <class Old = hf::ignore_old>
    result<bool> write(operation& op, u64 k, u64 v, bool if_absent, bool if_present,
                       Old&& old = {}) {
        head& h = head_of(k);
        const bool was_dead = h.lock.lock(op.generation());
        const place p = find(op, h, k, was_dead);
        const bool is_there = p.at != 0;
        if (is_there ? !if_present : !if_absent) {
            op.persist_dependencies();
            h.lock.unlock();
            return false;
        }
        auto fresh = op.allocate(sizeof(node));
        if (!fresh) {  // before the first publishing store: nothing has changed
            op.persist_dependencies();
            h.lock.unlock();
            return tl::unexpected(fresh.error());
        }
        auto* n = new (op.template at<node>(*fresh)) node;
        n->key = k;
        n->value = v;
        n->next.fill(is_there ? op.template at<node>(p.at)->next.load() : 0);
        op.written(n, sizeof(*n));
        if (is_there) old(op.template at<node>(p.at)->value);
        op.persist_unpublished();  // P1
        op.publish(*p.link, *fresh);
        op.persist_publication();  // P2
        h.lock.unlock();
        if (is_there) op.retire(*this, p.at, node_kind);
        return if_absent ? !is_there : is_there;
    }

    template <class T>
    static bool claim(hf::heap_audit& a, u64 offset, const char* what, u64 from) {
        const auto found = a.locate(offset, 0);
        if (found && found->room >= sizeof(T)) return a.claim(*found, what, from);
        a.report().add(from, std::string("what should be ") + what + " is no such block");
        a.report().mark_incomplete();
        return false;
    }

    eager_space& space_;
    u64 offset_;
    table* table_;
};

static_assert(hf::eager_index<chained_table<>>);

}  // namespace example
