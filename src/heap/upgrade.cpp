#include "heap/upgrade.hpp"

#include "heap/blocks.hpp"
#include "heap/core.hpp"

#include <algorithm>

namespace hf::nv::detail {
namespace {

/// Number of objects, or pointers, in one transaction: few in the crash lab.
constexpr std::size_t most_upgraded = crashes_throw ? 2 : 64;

}  // namespace

// ------------------------------------------------------------------------------ of an attempt

void attempt::begin_upgrade(u16 from, const type_info& to) {
    const u16 number = add_type(to);
    t_.store(&control().upgrade, upgrade_word{from, number}.pack());
}

void attempt::convert(u64 offset, const type_info& to, const converter& f) {
    const auto before = state_word::unpack(t_.load(&header_of(offset)->word));
    if (before.has(state_word::moved) || before.has(state_word::doomed)) return;
    std::byte* const made = make(to, 0);
    const auto became = static_cast<u64>(made - t_.base());
    f(*this, at<std::byte>(offset), made);
    // f may have made a proxy of it.
    const u32 old_one = counts_.index_of(offset);
    const u32 new_one = counts_.index_of(became);
    state_word s = state_of(counts_[old_one]);
    if (s.has(state_word::proxied)) {
        const u64 proxy = second_of(counts_[old_one]);
        const counted* const known = counts_.find(proxy);
        if (known != nullptr && known->fresh) {
            *at<u64>(proxy) = became;
        } else {
            t_.store(at<u64>(proxy), became);
        }
        state_word n = state_of(counts_[new_one]);
        n.flags |= state_word::proxied;
        set_second(counts_[new_one], proxy);
        set_state(counts_[new_one], n);
    }
    s.flags = static_cast<u16>((s.flags & ~state_word::proxied) | state_word::moved);
    set_second(counts_[old_one], became);
    set_state(counts_[old_one], s);
    add(offset, 1);
    add(became, 1);
}

bool attempt::redirect(u64 pointer, u16 from) {
    const u64 target = t_.load(at<u64>(pointer));
    if (target == 0) return false;
    if (!can_lie_at(target, 8)) list_is_damaged();
    const auto s = state_word::unpack(t_.load(&header_of(target)->word));
    if (s.type != from || !s.has(state_word::moved)) return false;
    const u64 became = t_.load(&header_of(target)->second);
    t_.store(at<u64>(pointer), became);
    add(target, -1);
    add(became, 1);
    return true;
}

void attempt::bury(u64 offset) {
    const u32 index = counts_.index_of(offset);
    const state_word s = state_of(counts_[index]);
    const heap_type& type = type_of(s.type);
    add(second_of(counts_[index]), -1);
    if (!count_down(offset, type, s)) list_is_damaged();
    counts_[index].dead = true;
    t_.store(&header_of(offset)->word, u64{0});
    t_.release(header_of(offset), type.block_bytes(1));
}

// ------------------------------------------------------------------------------- of the heap

result<void> core::check_upgrade() {
    const auto going_on = upgrade_word::unpack(control().upgrade);
    if (!going_on.is_going_on()) return {};
    const heap_type* const type = types_.find(going_on.to);
    return failure(
        {errc::incompatible, "use the heap", file().path().string(),
         "an upgrade of its type " + (type == nullptr ? "?" : type->name) + " was cut short",
         "call heap.upgrade() again"});
}

/// Begins an upgrade, finds an unfinished one, or finds that there is nothing to do.
result<void> core::find_upgrade(const type_info& from, const type_info& to,
                                upgrade_word& going_on) {
    if (from.name != to.name) {
        return failure({errc::usage, "upgrade a type", from.name, "the new type is " + to.name,
                        "give both the same nv_name"});
    }
    if (auto ok = run([](attempt& a) { a.read_types(); }); !ok) return ok;
    going_on = upgrade_word::unpack(control().upgrade);
    const heap_type* const newest = types_.find(to.name);
    const bool is_new = newest != nullptr && difference(*newest, to).empty();
    if (!going_on.is_going_on()) {
        // Neither: this step of a sequence was done earlier, or was never needed.
        if (newest == nullptr || is_new || !difference(*newest, from).empty()) return {};
        going_on = {newest->number, 0};
        if (auto ok = run([&](attempt& a) { a.begin_upgrade(going_on.from, to); }); !ok) return ok;
        going_on = upgrade_word::unpack(control().upgrade);
    } else if (newest == nullptr || newest->number != going_on.to || !is_new) {
        going_on = {};  // another upgrade is unfinished: it is left to the call that began it
        return {};
    }
    const auto number = types_.match(to);
    return number ? result<void>{} : tl::unexpected(number.error());
}

template <class F>
result<void> core::in_batches(const std::vector<u64>& all, F&& f) {
    for (std::size_t first = 0; first < all.size(); first += most_upgraded) {
        auto done = run_later([&](attempt& a) {
            for (std::size_t i = first; i < std::min(all.size(), first + most_upgraded); ++i) {
                f(a, all[i]);
            }
        });
        if (!done) return done;
    }
    return {};
}

std::vector<u64> core::objects_of(u16 type, bool moved) const {
    std::vector<u64> all;
    each_block(file(), [&](u64 block, u64) {
        const auto s = state_word::unpack(file().at<object_header>(block)->word);
        if (s.type == type && s.has(state_word::moved) == moved && !s.has(state_word::doomed)) {
            all.push_back(block + header_bytes);
        }
    });
    return all;
}

std::vector<u64> core::pointers_to(const std::string& type) const {
    std::vector<u64> all;
    for (u64 at = control().roots; at != 0; at = file().at<root_block>(at)->next) {
        all.push_back(at + offsetof(root_block, target));
    }
    each_block(file(), [&](u64 block, u64) {
        const auto s = state_word::unpack(file().at<object_header>(block)->word);
        const heap_type* const t = s.type < first_type ? nullptr : types_.find(s.type);
        if (t == nullptr) return;
        const u64 offset = block + header_bytes;
        const u64 length = t->is_array ? file().at<array_start>(offset)->length : 1;
        const u64 start = offset + (t->is_array ? array_head : 0);
        for (const member_info& m : t->pointers) {
            if (m.kind != member_kind::ptr || m.type != type) continue;
            for (u64 i = 0; i < length; ++i) {
                for (u32 k = 0; k < m.count; ++k) {
                    all.push_back(start + i * t->bytes + m.offset + u64{k} * m.stride);
                }
            }
        }
    });
    return all;
}

/// Lets dead objects of the old type be destroyed, since its nv_destroy() is known now.
result<void> core::destroy_waiting(u16 number, const type_info& type) {
    types_.find(number)->known.store(&type, std::memory_order_release);
    if (auto ok = run([](attempt& a) { a.revive_waiting(); }); !ok) return ok;
    has_doomed_.store(true, std::memory_order_release);
    return tidy_up();
}

result<u64> core::upgrade(const type_info& from, const type_info& to, const converter& f) {
    if (!refs_->all().empty()) {
        return failure({errc::usage, "upgrade a type", from.name, "references are held",
                        "upgrade before objects are used"});
    }
    upgrade_word types;
    if (auto ok = find_upgrade(from, to, types); !ok) return tl::unexpected(ok.error());
    if (!types.is_going_on()) return u64{0};
    if (auto ok = destroy_waiting(types.from, from); !ok) return tl::unexpected(ok.error());
    const auto converted = in_batches(objects_of(types.from, false),
                                      [&](attempt& a, u64 object) { a.convert(object, to, f); });
    if (!converted) return tl::unexpected(converted.error());
    const auto redirected = in_batches(pointers_to(to.name), [&](attempt& a, u64 pointer) {
        (void)a.redirect(pointer, types.from);
    });
    if (!redirected) return tl::unexpected(redirected.error());
    const std::vector<u64> moved = objects_of(types.from, true);
    const auto buried = in_batches(moved, [](attempt& a, u64 object) { a.bury(object); });
    if (!buried) return tl::unexpected(buried.error());
    auto done = run([&](attempt& a) {
        transaction& t = a.running();
        for (u64 at = t.load(&control().roots); at != 0; at = t.load(&a.at<root_block>(at)->next)) {
            u64* const type = &a.at<root_block>(at)->type;
            if (t.load(type) == types.from) t.store(type, u64{types.to});
        }
        t.store(&control().upgrade, u64{0});
    });
    if (!done) return tl::unexpected(done.error());
    if (auto ok = tidy_up(); !ok) return tl::unexpected(ok.error());
    return moved.size();
}

}  // namespace hf::nv::detail
