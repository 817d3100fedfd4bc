#include "heap/core.hpp"

#include "base/check.hpp"
#include "base/checksum.hpp"
#include "heap/blocks.hpp"

#include <cstring>
#include <set>

namespace hf::nv::detail {
namespace {

thread_local constinit attempt* last = nullptr;  ///< for this thread's newest transaction

}  // namespace

attempt_scope::attempt_scope(core& c, transaction& t) : before_(current) {
    current = last = &c.attempt_of(t);
}

// Once for each thread. (A call in attempt_of() would make it save registers each time.)
[[gnu::cold, gnu::noinline]] attempt& core::make_attempt(transaction& t) {
    auto* const mine = new attempt(*this, t);
    attempts_[t.thread_number()].store(mine, std::memory_order_release);
    return *mine;
}

core::~core() {
    if (is_open()) refs_->close();
    refs_->owner.store(nullptr, std::memory_order_release);
    if (open_mark_ != nullptr) {
        open_mark_->state.store(held::closed, std::memory_order_release);
        detail::drop(open_mark_);
    }
    for (std::atomic<attempt*>& a : attempts_) delete a.load(std::memory_order_acquire);
}

held* core::open_mark() {
    open_mark_->strong.fetch_add(1, std::memory_order_relaxed);
    return open_mark_;
}

// ----------------------------------------------------------------------------------- opening

result<std::unique_ptr<core>> core::open(opened_region opened, std::string_view brand,
                                         const heap_options& options, hf::detail::isolation kept) {
    last = nullptr;  // it may belong to a destroyed heap whose last transaction failed
    std::unique_ptr<core> c(new core(std::move(opened)));
    auto* const mark = new held_object;
    mark->home = c->refs_;
    mark->strong.store(1, std::memory_order_relaxed);
    c->open_mark_ = mark;
    transaction_options t;
    t.epoch = options.epoch;
    t.engine = static_cast<engine_kind>(options.engine);
    t.kept = kept;
    transaction_opening steps(c->region_, t);
    steps.add(recovery_phase::discipline, "heap", [&]() -> result<void> {
        c->all().set_listener(c.get());
        if (auto found = c->find_control(brand); !found) return found;
        return c->read_lists();
    });
    steps.add(recovery_phase::discipline, "orphans", [&] { return c->recover(); });
    if (auto ok = steps.run(); !ok) return tl::unexpected(ok.error());
    c->refs_->owner.store(c.get(), std::memory_order_release);
    return c;
}

result<void> core::find_control(std::string_view brand) {
    const auto found = file().find_root(root_name);
    if (found) {
        control_ = (*found)->value.load(std::memory_order_acquire);
        const bool fits = control_ % 16 == 0 && control_ < file().size() - sizeof(control_block);
        if (!fits || control().magic != control_block::magic_value) {
            return failure({errc::corrupt, "open the heap", file().path().string(),
                            "its control block is damaged", "restore the file from a backup"});
        }
        if (control().brand == hash_of(brand)) return {};
        return failure({errc::incompatible, "open the heap", file().path().string(),
                        "it is of another brand than " + std::string(brand),
                        "open it as a heap of the brand that it was made with"});
    }
    // A crash may have come between the block and its root: then it is the only block.
    u64 made = 0;
    each_block(file(), [&](u64 offset, u64 bytes) {
        if (bytes >= sizeof(control_block) &&
            file().at<control_block>(offset)->magic == control_block::magic_value) {
            made = offset;
        }
    });
    const u64 existing = made;
    auto done = all().atomic([&](transaction& t) {
        std::byte* const p =
            existing == 0 ? t.allocate(sizeof(control_block)) : t.base() + existing;
        control_block first{};
        first.header = {state_word{0, system_type, 0}.pack(), sizeof(control_block)};
        first.magic = control_block::magic_value;
        first.brand = hash_of(brand);
        t.store_bytes(p, &first, sizeof first);
        made = static_cast<u64>(p - t.base());
    });
    if (!done) return done;
    auto root = file().publish_root(root_name, 1, heap_format.version, made);
    if (!root) return tl::unexpected(root.error());
    control_ = made;
    return {};
}

result<void> core::read_lists() {
    return run([&](attempt& a) {
        a.read_types();
        std::vector<u64> free;
        u64 left = file().size() / sizeof(orphan_block);  // for lists that run in a circle
        for (u64 block = a.running().load(&control().orphans); block != 0 && left != 0; --left) {
            auto* const b = a.listed<orphan_block>(block);
            for (u32 i = 0; i < orphan_block::slots; ++i) {
                if (a.running().load(&b->slot[i]) == 0) {
                    free.push_back(block + offsetof(orphan_block, slot) + 8 * u64{i});
                }
            }
            block = a.running().load(&b->next);
        }
        const std::lock_guard lock(slots_mutex_);
        slots_ = std::move(free);
    });
}

template <class Place, class F>
result<void> core::in_pieces(const Place& at, F&& f) {
    Place begin = at;
    Place end = at;
    bool more = true;
    while (more) {
        auto done = run_later([&](attempt& a) {
            end = begin;  // an attempt before this one has done nothing
            more = true;
            while (more && !a.is_full()) more = f(a, end);
        });
        if (!done) return done;
        begin = end;
    }
    return {};
}

result<void> core::reclaim_orphans() {
    struct place {
        u64 left;  ///< limits the steps, in case a list is circular
        bool begun = false;
        u64 block = 0;
        u32 i = 0;
    };
    return in_pieces(place{file().size() / sizeof(orphan_block)}, [&](attempt& a, place& p) {
        if (!std::exchange(p.begun, true)) p.block = a.running().load(&control().orphans);
        for (; p.block != 0 && p.left != 0; --p.left) {
            auto* const b = a.listed<orphan_block>(p.block);
            for (; p.i < orphan_block::slots; ++p.i) {
                const u64 offset = a.running().load(&b->slot[p.i]);
                if (offset == 0) continue;
                (void)a.reclaim(offset, p.block + offsetof(orphan_block, slot) + 8 * u64{p.i});
                ++p.i;
                return true;
            }
            p.block = a.running().load(&b->next);
            p.i = 0;
        }
        return false;
    });
}

result<void> core::destroy_doomed() {
    struct nowhere {};  // no position: the list itself becomes shorter
    return in_pieces(nowhere{}, [](attempt& a, nowhere&) { return a.destroy_doomed(); });
}

result<void> core::recover() {
    if (auto ok = reclaim_orphans(); !ok) return ok;
    return destroy_doomed();
}

// ---------------------------------------------------------------------------------- afterwards

result<void> core::reclaim_queue() {
    result<void> all_done;
    for (held_object* const h : refs_->take_queue()) {
        if (all_done) {
            all_done = run_later([&](attempt& a) {
                if (h->state.load(std::memory_order_acquire) != held::live) return;
                (void)a.reclaim(h->offset, 0);
            });
        }
        if (all_done) {
            refs_->give_up(h);
        } else {
            refs_->requeue(h);
        }
    }
    return all_done;
}

result<void> core::tidy_up() {
    while (refs_->has_queue()) {
        if (auto ok = reclaim_queue(); !ok) return ok;
    }
    if (!has_doomed_.exchange(false, std::memory_order_acq_rel)) return {};
    auto ok = destroy_doomed();
    if (!ok) has_doomed_.store(true, std::memory_order_release);
    return ok;
}

void core::tidy_up_unasked() noexcept(!crashes_throw) {
    while (has_untidy()) {
        if (tidying_.exchange(true, std::memory_order_acq_rel)) return;
        bool done = false;
        try {
            done = tidy_up().has_value();
        } catch (...) {
            if constexpr (crashes_throw) throw;
            // nv_destroy() threw: the work is left for later.
        }
        tidying_.store(false, std::memory_order_release);
        if (!done) return;
    }
}

void core::before_commit(transaction& t) {
    attempt* const a = attempts_[t.thread_number()].load(std::memory_order_relaxed);
    if (a == nullptr) return;
    const attempt_scope scope(*this, t);
    a->settle();
}

void core::committed() {
    attempt* const a = std::exchange(last, nullptr);
    if (a == nullptr || &a->of() != this) return;
    if (a->has_doomed()) has_doomed_.store(true, std::memory_order_release);
    a->committed();
    tidy_up_if_needed();
}

void core::rolled_back(transaction& t) noexcept {
    attempt* const a = attempts_[t.thread_number()].load(std::memory_order_relaxed);
    if (a != nullptr) a->rolled_back();
}

result<void> core::close() {
    HF_CHECK(transaction::running() == nullptr, "a heap is closed within a transaction");
    refs_->owner.store(nullptr, std::memory_order_release);
    refs_->close();
    open_mark_->state.store(held::closed, std::memory_order_release);
    // No process has references now, so objects that only these kept alive are reclaimed.
    if (auto ok = reclaim_orphans(); !ok) return ok;
    if (auto ok = destroy_doomed(); !ok) return ok;
    return region_.close();
}

// ------------------------------------------------------------------------------- slots, roots

u64 core::take_slot() {
    const std::lock_guard lock(slots_mutex_);
    if (slots_.empty()) return 0;
    const u64 slot = slots_.back();
    slots_.pop_back();
    return slot;
}

void core::give_slots(const std::vector<u64>& slots) {
    if (slots.empty()) return;
    const std::lock_guard lock(slots_mutex_);
    slots_.insert(slots_.end(), slots.begin(), slots.end());
}

/// Appends the roots from `newest` on, newest first, up to the one at `until`. False: the list is
/// circular.
bool core::read_roots(transaction& t, u64 newest, u64 until,
                      std::vector<std::pair<std::string, u64>>& into) {
    u64 left = file().size() / sizeof(root_block);
    for (u64 at = newest; at != 0 && at != until; --left) {
        if (left == 0) return false;
        const u64 size = file().size();  // after the load: it may have grown for this very root
        const bool fits = at % 16 == 0 && at <= size - sizeof(root_block);
        const auto* const r = reinterpret_cast<const root_block*>(t.base() + at);
        if (!fits || t.load(&r->name_bytes) > size - at - sizeof(root_block)) {
            transaction::fail({errc::corrupt, "find a root", "", "the list of roots is damaged",
                               "run holdfast check"});
        }
        std::string found(t.load(&r->name_bytes), '\0');
        t.load_bytes(r + 1, found.data(), found.size());
        into.emplace_back(std::move(found), at);
        at = t.load(&r->next);
    }
    return true;
}

/// A root is never removed or renamed, and this transaction has not made any. So what it reads of
/// the list is committed, and is kept in the index: each root is read once a session.
std::optional<core::root_place> core::find_root(transaction& t, std::string_view name) {
    u64 until = 0;
    {
        const std::lock_guard lock(roots_.mutex);
        until = roots_.newest;
    }
    const u64 newest = t.load(&control().roots);
    std::vector<std::pair<std::string, u64>> fresh;
    if (!read_roots(t, newest, until, fresh)) return std::nullopt;
    u64 at = 0;
    {
        const std::lock_guard lock(roots_.mutex);
        for (auto& [text, where] : fresh) roots_.places.emplace(std::move(text), where);
        if (roots_.newest == until) roots_.newest = newest;
        const auto found = roots_.places.find(std::string(name));
        if (found == roots_.places.end()) return std::nullopt;
        at = found->second;
    }
    const auto* const r = reinterpret_cast<const root_block*>(t.base() + at);
    return root_place{at + offsetof(root_block, target), t.load(&r->type)};
}

core::root_place core::add_root(attempt& a, std::string_view name, u16 type) {
    const u64 bytes = align_up(sizeof(root_block) + name.size(), 16);
    transaction& t = a.running();
    std::byte* const block = t.allocate(bytes);
    std::memset(block, 0, bytes);
    auto* const r = reinterpret_cast<root_block*>(block);
    r->header = {state_word{0, system_type, 0}.pack(), bytes};
    r->next = t.load(&control().roots);
    r->type = type;
    r->name_bytes = name.size();
    std::memcpy(r + 1, name.data(), name.size());
    const auto at = static_cast<u64>(block - t.base());
    t.store(&control().roots, at);
    return {at + offsetof(root_block, target), type};
}

result<void> core::learn(const type_info& type) {
    if (auto ok = check_upgrade(); !ok) return ok;
    std::vector<const type_info*> all{&type};
    std::set<const type_info*> met{&type};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const auto& next : all[i]->leads_to) {
            const type_info* const t = &next();
            if (met.insert(t).second) all.push_back(t);
        }
    }
    auto done = run([&](attempt& a) {
        bool destroys = false;
        for (const type_info* t : all) {
            (void)a.type_number(*t);
            destroys |= t->destroy != nullptr;
        }
        if (destroys && a.running().load(&control().waiting) != 0) a.revive_waiting();
    });
    return done;
}

}  // namespace hf::nv::detail
