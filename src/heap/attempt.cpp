#include "heap/attempt.hpp"

#include "base/check.hpp"
#include "heap/core.hpp"
#include "transaction/context.hpp"

#include <algorithm>
#include <cstring>

namespace hf::nv::detail {
namespace {

[[noreturn]] void damaged(const char* why) {
    transaction::fail({errc::corrupt, "change the heap", "", why, "run holdfast check"});
}
[[noreturn]] void too_many(const char* why) {
    transaction::fail({errc::no_space, "change the heap", "", why, "use several objects"});
}

/// Pointers that a transaction may decrement: each may put a line of 64 bytes with its head into
/// the commit record, which may take a quarter of the region's room for logs.
u64 pointers_for(const region& r) {
    constexpr u64 bytes_each = 96;
    constexpr u64 least = 64;
    const u64 room = kept_from_heap(r.max_pages()) * layout::page_size / 4;
    return std::clamp<u64>(room / bytes_each, std::min(least, attempt::most_pointers),
                           attempt::most_pointers);
}

}  // namespace

attempt::attempt(core& of, transaction& t)
    : core_(of), t_(t), max_pointers_(pointers_for(of.file())) {}

control_block& attempt::control() const noexcept { return core_.control(); }

bool attempt::can_lie_at(u64 offset, u64 bytes) const noexcept {
    const u64 size = core_.file().size();
    return offset % 16 == 0 && offset >= header_bytes && bytes <= size && offset <= size - bytes;
}
void attempt::list_is_damaged() { damaged("one of its lists is damaged"); }

// ------------------------------------------------------------------------------- while it runs

void attempt::add(u64 offset, int by) {
    if (!can_lie_at(offset, sizeof(u64))) [[unlikely]]
        damaged("a pointer leads out of it");
    const u32 index = counts_.index_of(offset);
    counted& c = counts_[index];
    c.by += by;
    if (!c.queued) {
        c.queued = true;
        queue_.push_back(index);
    }
}

std::byte* attempt::allocate(u64 bytes, where_full then) {
    std::byte* const p =
        then == where_full::fail ? t_.allocate(bytes) : context::of(t_).try_allocate_block(bytes);
    if (p != nullptr) std::memset(p, 0, bytes);
    return p;
}

std::byte* attempt::make(const type_info& type, u64 elements, where_full then) {
    const u16 number = type_number(type);
    const u64 most = (u64{1} << 46) / std::max<u64>(type.bytes, 1);
    if (elements > most) {
        if (then == where_full::null) return nullptr;
        too_many("an array is larger than any region");
    }
    const u64 bytes = type.is_array ? header_bytes + array_head + elements * type.bytes
                                    : header_bytes + type.bytes;
    std::byte* const block = allocate(bytes, then);
    if (block == nullptr) return nullptr;
    auto* const header = reinterpret_cast<object_header*>(block);
    header->word = state_word{0, number, type.is_array ? state_word::array : u16{0}}.pack();
    if (type.is_array) reinterpret_cast<array_start*>(block + header_bytes)->length = elements;
    const u64 offset = static_cast<u64>(block - t_.base()) + header_bytes;
    note_fresh(offset, 0);
    return block + header_bytes;
}

void attempt::forsake(u64 offset) { counts_[counts_.index_of(offset)].forsaken = true; }

void attempt::note_fresh(u64 offset, int by) {
    fresh_.push_back(offset);
    const u32 index = counts_.index_of(offset);
    counted& c = counts_[index];
    c.fresh = true;
    c.by = by;
    c.queued = true;
    queue_.push_back(index);
}

u64 attempt::proxy(u64 offset) {
    const counted& c = counts_[counts_.index_of(offset)];
    state_word s = state_of(c);
    if (s.has(state_word::proxied)) return second_of(c);
    // An upgrade has converted it: its second word is the link to the new object.
    if (s.has(state_word::moved)) return proxy(second_of(c));
    std::byte* const block = allocate(proxy_bytes);
    auto* const header = reinterpret_cast<object_header*>(block);
    header->word = state_word{0, proxy_type, 0}.pack();
    *reinterpret_cast<u64*>(block + header_bytes) = offset;
    const u64 at = static_cast<u64>(block - t_.base()) + header_bytes;
    note_fresh(at, 1);
    s.flags |= state_word::proxied;
    const counted& again = counts_[counts_.index_of(offset)];
    set_second(again, at);
    set_state(again, s);
    return at;
}

held_object* attempt::hold(u64 offset, bool strongly) {
    held_object* const h = core_.refs().hold(offset, strongly);
    // The counterpart of the fence in the destroying transaction: held_table.hpp.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    try {
        if (h->state.load(std::memory_order_acquire) != held::live) transaction::meet_conflict();
        const counted* const c = counts_.find(offset);
        if (c == nullptr || !c->fresh) (void)t_.load_and_meet_owner(&header_of(offset)->word);
    } catch (...) {
        if (strongly) {
            core_.refs().drop(h);
        } else {
            core_.refs().drop_weakly(h);
        }
        throw;
    }
    return h;
}

bool attempt::is_alive(held_object& h) {
    const u32 state = h.state.load(std::memory_order_acquire);
    if (state == held::gone) return false;
    if (state == held::dying) transaction::meet_conflict();
    const counted* const c = counts_.find(h.offset);
    if (c != nullptr && c->fresh) return true;
    return state_word::unpack(t_.load(&header_of(h.offset)->word)).type != 0;
}

u16 attempt::type_number(const type_info& type) {
    if (const u16 known = core_.types().number_of(type); known != 0) [[likely]] {
        return known;
    }
    // The list on the medium is authoritative; another transaction may have just added the type.
    read_types();
    const auto found = core_.types().match(type);
    if (!found) transaction::fail(found.error());
    if (*found != 0) return *found;
    for (const auto& mine : new_types_) {
        if (mine->name == type.name) return mine->number;
    }
    return add_type(type);
}

u16 attempt::add_type(const type_info& type) {
    const u64 number = t_.load(&control().type_count) + first_type;
    if (number > 0xffff) too_many("it has as many types as it may");
    const std::vector<std::byte> said = pack_type(type);
    std::byte* const block = allocate(said.size());
    std::memcpy(block, said.data(), said.size());
    auto* const b = reinterpret_cast<type_block*>(block);
    b->number = number;
    b->next = t_.load(&control().types);
    const auto offset = static_cast<u64>(block - t_.base());
    t_.store(&control().types, offset);
    t_.store(&control().type_count, number + 1 - first_type);
    auto said_again = unpack_type(block, said.size());
    HF_CHECK(said_again, "a description can be read again");
    (*said_again)->block = offset;
    (*said_again)->known.store(&type, std::memory_order_relaxed);
    new_types_.push_back(std::move(*said_again));
    return static_cast<u16>(number);
}

void attempt::read_types() {
    for (u64 block = t_.load(&control().types); block != 0;) {
        const auto* const b = listed<type_block>(block);
        const u64 next = t_.load(&b->next);
        const bool mine = std::any_of(new_types_.begin(), new_types_.end(),
                                      [&](const auto& n) { return n->block == block; });
        if (!mine) {
            if (core_.types().find(t_.load(&b->number)) != nullptr) return;
            auto type =
                unpack_type(reinterpret_cast<const std::byte*>(b), core_.file().size() - block);
            if (!type) transaction::fail(type.error());
            (*type)->block = block;
            core_.types().add(std::move(*type));
        }
        block = next;
    }
}

// --------------------------------------------------------------------------------- its end

state_word attempt::state_of(const counted& c) {
    const u64* const word = &header_of(c.offset)->word;
    return state_word::unpack(c.fresh ? *word : t_.load(word));
}
void attempt::set_state(const counted& c, state_word s) {
    if (c.fresh) {
        header_of(c.offset)->word = s.pack();
    } else {
        t_.store(&header_of(c.offset)->word, s.pack());
    }
}
u64 attempt::second_of(const counted& c) {
    const u64* const word = &header_of(c.offset)->second;
    return c.fresh ? *word : t_.load(word);
}
void attempt::set_second(const counted& c, u64 value) {
    if (c.fresh) {
        header_of(c.offset)->second = value;
    } else {
        t_.store(&header_of(c.offset)->second, value);
    }
}

// Objects that gained pointers are processed after all others: destructions of these may remove as
// many, and then nothing of the object is stored, nor read. So removing an entry from a list
// does not touch the next one.
void attempt::settle() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const u32 index = queue_[i];
        counted& c = counts_[index];
        if (c.by > 0 && !c.fresh && !c.waited) {
            c.waited = true;
            queue_.push_back(index);
        } else {
            apply(index);
        }
    }
    queue_.clear();
}

void attempt::apply(u32 index) {
    counted& c = counts_[index];
    c.queued = false;
    const int by = std::exchange(c.by, 0);
    if (c.dead) {
        if (by > 0) misuse("nv_destroy() stored a pointer to its own object, which is going");
        return;
    }
    if (by == 0 && !c.fresh) return;
    state_word s = state_of(c);
    if (s.type == 0) damaged("a pointer points to an object that has died");
    if (s.type == system_type) damaged("a pointer points to memory that is no object");
    if (s.type != proxy_type) (void)type_of(s.type);
    const std::int64_t count = std::int64_t{s.count} + by;
    if (count < 0) damaged("an object's count is less than the pointers that lead to it");
    if (count > 0xffffffff) too_many("so many pointers to one object can't be counted");
    s.count = static_cast<u32>(count);
    if (c.forsaken) return free_forsaken(index, s);
    if (count == 0) {
        if (s.has(state_word::doomed)) {
            set_state(c, s);
            return;
        }
        lose_last(index, s);
        return;
    }
    if (s.has(state_word::orphan)) {
        s.flags &= static_cast<u16>(~state_word::orphan);
        set_state(c, s);  // first, because the owner of the header also owns the slot
        const u64 slot = core_.refs().set_slot(c.offset, 0);
        slot_changes_.push_back({c.offset, slot});
        free_slot(slot);
        return;
    }
    set_state(c, s);
}

// There is no durable reference any more. Its state is stored first: held_table.hpp.
void attempt::lose_last(u32 index, state_word s) {
    counted& c = counts_[index];
    set_state(c, s);
    const held_table::finding f = core_.refs().look_before_death(c.offset);
    if (f.held) {
        make_orphan(index, s);
        return;
    }
    if (f.undecided) transaction::meet_conflict();
    if (f.dying != nullptr) dying_.push_back(f.dying);
    let_go_of_proxy(index, s);
    die(index, s);
}

void attempt::make_orphan(u32 index, state_word s) {
    if (s.has(state_word::orphan)) return;
    const counted& c = counts_[index];
    slot_changes_.push_back({c.offset, 0});
    const u64 slot = take_slot();
    (void)core_.refs().set_slot(c.offset, slot);
    t_.store(at<u64>(slot), c.offset);
    s.flags |= state_word::orphan;
    set_state(c, s);
}

void attempt::let_go_of_proxy(u32 index, state_word& s) {
    if (!s.has(state_word::proxied)) return;
    const u64 proxy = second_of(counts_[index]);
    if (!can_lie_at(proxy, sizeof(u64))) damaged("an object's proxy lies outside of it");
    s.flags &= static_cast<u16>(~state_word::proxied);
    const counted* const known = counts_.find(proxy);
    if (known != nullptr && known->fresh) {
        *at<u64>(proxy) = 0;
    } else {
        t_.store(at<u64>(proxy), 0);
    }
    add(proxy, -1);
}

u64 attempt::length_of(u64 offset, const heap_type& type, state_word s) {
    const bool is_array = s.has(state_word::array);
    if (is_array != type.is_array) damaged("an object is half an array");
    const u64 length = is_array ? t_.load(at<u64>(offset)) : 1;
    const u64 start = is_array ? array_head : 0;
    const u64 room = core_.file().size() - offset;  // can_lie_at(offset)
    if (start > room || length > (room - start) / std::max<u64>(type.bytes, 1)) {
        damaged("an object is larger than the heap");
    }
    return length;
}

void attempt::push(u64& list, const counted& c, state_word s) {
    s.flags |= state_word::doomed;
    set_state(c, s);
    set_second(c, t_.load(&list));
    t_.store(&list, c.offset);
    ++doomed_;
}

void attempt::die(u32 index, state_word s) {
    const u64 offset = counts_[index].offset;
    if (s.type == proxy_type) {
        counts_[index].dead = true;
        if (!counts_[index].fresh) t_.store(&header_of(offset)->word, u64{0});
        t_.release(header_of(offset), proxy_bytes);
        return;
    }
    const heap_type& type = type_of(s.type);
    const u64 length = length_of(offset, type, s);
    if (is_full() || length * type.pointers_each > max_pointers_) {
        push(control().doomed, counts_[index], s);
        return;
    }
    const type_info* const known = type.known.load(std::memory_order_acquire);
    if (type.destroys && known == nullptr) {
        push(control().waiting, counts_[index], s);
        return;
    }
    ++deaths_;
    counts_[index].dead = true;
    if (known != nullptr && known->destroy != nullptr) {
        known->destroy(*this, at<std::byte>(offset));
    }
    if (!count_down(offset, type, s)) damaged("an array has grown while it was destroyed");
    if (!counts_[index].fresh) t_.store(&header_of(offset)->word, u64{0});
    t_.release(header_of(offset), type.block_bytes(length));
}

// Its header is not stored: other transactions have no way to it but the pointer that was removed,
// and one that has followed it conflicts with this commit.
void attempt::free_forsaken(u32 index, state_word s) {
    constexpr auto others = state_word::orphan | state_word::proxied | state_word::doomed;
    if (s.count != 0 || s.has(others)) damaged("two pointers lead to a part of one container");
    counts_[index].dead = true;
    const u64 offset = counts_[index].offset;
    const heap_type& type = type_of(s.type);
    t_.release(header_of(offset), type.block_bytes(length_of(offset, type, s)));
}

// False: only a part of its elements was processed, because of the limit for a transaction.
bool attempt::count_down(u64 offset, const heap_type& type, state_word s) {
    if (type.pointers.empty()) return true;
    const bool is_array = s.has(state_word::array);
    auto* const start = at<array_start>(offset);
    const u64 length = length_of(offset, type, s);
    const u64 first = is_array ? t_.load(&start->progress) : 0;
    const u64 each = type.pointers_each;
    const u64 here =
        std::min(length - std::min(first, length), std::max<u64>(1, (max_pointers_ + each) / each));
    const u64 elements = offset + (is_array ? array_head : 0);
    for (u64 i = first; i < first + here; ++i) {
        type.each_pointer([&](u64 at_member, const member_info&) {
            const u64 target = t_.load(at<u64>(elements + i * type.bytes + at_member));
            if (target == 0) return;
            if (!can_lie_at(target, 8)) damaged("a pointer leads out of it");
            add(target, -1);
        });
    }
    pointers_ += here * each;
    if (first + here >= length) return true;
    t_.store(&start->progress, first + here);
    return false;
}

bool attempt::destroy_doomed() {
    const u64 offset = t_.load(&control().doomed);
    if (offset == 0) return false;
    (void)listed<std::byte>(offset, detail::array_head);
    const u32 index = counts_.index_of(offset);
    const state_word s = state_of(counts_[index]);
    const heap_type& type = type_of(s.type);
    const u64 next = second_of(counts_[index]);
    const type_info* const known = type.known.load(std::memory_order_acquire);
    if (type.destroys && known == nullptr) {
        t_.store(&control().doomed, next);
        push(control().waiting, counts_[index], s);
        return true;
    }
    // Before its pointers' targets are decremented, since it may change them. An array has none.
    counts_[index].dead = true;
    if (known != nullptr && known->destroy != nullptr) known->destroy(*this, at<std::byte>(offset));
    if (!count_down(offset, type, s)) return true;
    t_.store(&control().doomed, next);
    ++deaths_;
    const u64 length = length_of(offset, type, s);
    t_.store(&header_of(offset)->word, u64{0});
    t_.release(header_of(offset), type.block_bytes(length));
    return true;
}

void attempt::revive_waiting() {
    u64 left = 0;
    u64 most = core_.file().size() / header_bytes;  // for lists that run in a circle
    for (u64 offset = t_.load(&control().waiting); offset != 0;) {
        if (most-- == 0) list_is_damaged();
        (void)listed<std::byte>(offset, detail::array_head);
        const u64 next = t_.load(&header_of(offset)->second);
        const auto s = state_word::unpack(t_.load(&header_of(offset)->word));
        const bool known = type_of(s.type).known.load(std::memory_order_acquire) != nullptr;
        if (known) {
            t_.store(&header_of(offset)->second, t_.load(&control().doomed));
            t_.store(&control().doomed, offset);
            ++doomed_;
        } else {
            t_.store(&header_of(offset)->second, left);
            left = offset;
        }
        offset = next;
    }
    if (t_.load(&control().waiting) != left) t_.store(&control().waiting, left);
}

bool attempt::reclaim(u64 offset, u64 slot) {
    (void)listed<std::byte>(offset, detail::array_head);
    const u32 index = counts_.index_of(offset);
    const state_word s = state_of(counts_[index]);
    if (s.type == 0 || s.count != 0 || !s.has(state_word::orphan)) return false;
    state_word dying = s;
    dying.flags &= static_cast<u16>(~state_word::orphan);
    set_state(counts_[index], dying);
    const held_table::finding f = core_.refs().look_before_death(offset);
    if (f.held) {
        set_state(counts_[index], s);
        return false;
    }
    if (f.undecided) transaction::meet_conflict();
    if (f.dying != nullptr) dying_.push_back(f.dying);
    free_slot(slot != 0 ? slot : core_.refs().slot_of(offset));
    let_go_of_proxy(index, dying);
    die(index, dying);
    return true;
}

u64 attempt::cut_pointers(u64 offset, u64 first, u64 elements) {
    const auto s = state_word::unpack(t_.load(&header_of(offset)->word));
    const heap_type& type = type_of(s.type);
    const bool is_array = s.has(state_word::array);
    const u64 length = length_of(offset, type, s);
    const u64 end = std::min(length, first + elements);
    const u64 start = offset + (is_array ? array_head : 0);
    for (u64 i = first; i < end && !type.pointers.empty(); ++i) {
        type.each_pointer([&](u64 at_member, const member_info&) {
            u64* const p = at<u64>(start + i * type.bytes + at_member);
            const u64 target = t_.load(p);
            if (target == 0) return;
            t_.store(p, u64{0});
            add(target, -1);
        });
    }
    return end;
}

bool attempt::has_elements(u64 offset, u64 from) {
    const auto s = state_word::unpack(t_.load(&header_of(offset)->word));
    return s.has(state_word::array) && from < t_.load(at<u64>(offset));
}

// ---------------------------------------------------------------------------- slots of orphans

u64 attempt::take_slot() {
    u64 slot = core_.take_slot();
    if (slot == 0) {
        if (new_slots_.empty()) {
            std::byte* const block = allocate(sizeof(orphan_block));
            auto* const b = reinterpret_cast<orphan_block*>(block);
            b->header = {state_word{0, system_type, 0}.pack(), sizeof(orphan_block)};
            b->next = t_.load(&control().orphans);
            const auto offset = static_cast<u64>(block - t_.base());
            t_.store(&control().orphans, offset);
            for (u32 i = 0; i < orphan_block::slots; ++i) {
                new_slots_.push_back(offset + offsetof(orphan_block, slot) + 8 * u64{i});
            }
        }
        slot = new_slots_.back();
        new_slots_.pop_back();
        return slot;
    }
    taken_slots_.push_back(slot);
    return slot;
}

void attempt::free_slot(u64 slot) {
    HF_CHECK(slot != held_table::slot_to_come, "an orphan has a slot");
    if (slot == 0) damaged("an object is marked as an orphan, and has no slot");
    t_.store(at<u64>(slot), u64{0});
    freed_slots_.push_back(slot);
}

const heap_type& attempt::type_of(u16 number) {
    if (const heap_type* const t = core_.types().find(number)) return *t;
    for (const auto& mine : new_types_) {
        if (mine->number == number) return *mine;
    }
    read_types();
    const heap_type* const t = core_.types().find(number);
    if (t == nullptr) damaged("an object's type is not described");
    return *t;
}

// -------------------------------------------------------------------------------- afterwards

void attempt::clear() noexcept {
    counts_.clear();
    queue_.clear();
    deaths_ = 0;
    pointers_ = 0;
    doomed_ = 0;
    fresh_.clear();
    dying_.clear();
    slot_changes_.clear();
    taken_slots_.clear();
    freed_slots_.clear();
    new_slots_.clear();
    new_types_.clear();
}

void attempt::tell_others() {
    for (held_object* h : dying_) core_.refs().settle_death(h, true);
    core_.give_slots(freed_slots_);
    core_.give_slots(new_slots_);
    for (auto& type : new_types_) {
        const type_info* const known = type->known.load(std::memory_order_relaxed);
        core_.types().add(std::move(type));
        (void)core_.types().match(*known);
    }
    clear();
}

void attempt::rolled_back() noexcept {
    for (held_object* h : dying_) core_.refs().settle_death(h, false);
    for (auto c = slot_changes_.rbegin(); c != slot_changes_.rend(); ++c) {
        if (c->before != 0) {
            core_.refs().restore_slot(c->offset, c->before);
        } else {
            (void)core_.refs().set_slot(c->offset, 0);
        }
    }
    core_.give_slots(taken_slots_);
    for (const u64 offset : fresh_) core_.refs().forget(offset);
    clear();
}

}  // namespace hf::nv::detail
