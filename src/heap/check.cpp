#include "heap/check.hpp"

#include "alloc/committed/audit_view.hpp"
#include "heap/blocks.hpp"

#include <algorithm>

namespace hf::nv {
namespace {

constexpr std::size_t most_kept = 1000;

}  // namespace

heap_facts::object* heap_facts::find(u64 offset) noexcept {
    const auto at = std::lower_bound(objects.begin(), objects.end(), offset,
                                     [](const object& o, u64 x) { return o.offset < x; });
    return at != objects.end() && at->offset == offset ? &*at : nullptr;
}

void heap_reader::add(u64 offset, std::string text) {
    if (facts_.report.violations.size() == most_kept) return;
    facts_.report.violations.push_back("offset " + std::to_string(offset) + ": " + std::move(text));
}

result<heap_facts> heap_reader::read() {
    system_.emplace(control_, sizeof(control_block));
    if (auto ok = read_types(); !ok) return tl::unexpected(ok.error());
    read_system();
    read_blocks();
    std::sort(facts_.objects.begin(), facts_.objects.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    count_pointers();
    read_lists();
    mark();
    compare();
    return std::move(facts_);
}

result<void> heap_reader::read_types() {
    u64 at = word(control_ + offsetof(control_block, types));
    while (at != 0) {
        if (at % 16 != 0 || at >= region_.size() || types_.size() > 0x10000) {
            return failure({errc::corrupt, "read the types of the heap", "",
                            "their list is damaged", "restore the file from a backup"});
        }
        auto type = unpack_type(region_.at<std::byte>(at), region_.size() - at);
        if (!type) return tl::unexpected(type.error());
        system_.emplace(at, region_.at<type_block>(at)->header.second);
        const u64 number = (*type)->number;
        if (!types_.emplace(number, std::move(*type)).second)
            add(at, "a type's number is given twice");
        at = region_.at<type_block>(at)->next;
    }
    return {};
}

// The other blocks of the heap's own.
void heap_reader::read_system() {
    const auto walk = [&](u64 at, u64 least, u64 next_at, const char* what, auto&& visit) {
        while (at != 0) {
            if (at % 16 != 0 || at + least > region_.size() || system_.contains(at)) {
                add(at, std::string("the list of ") + what + " is damaged");
                return;
            }
            system_.emplace(at, word(at + 8));
            visit(at);
            at = word(at + next_at);
        }
    };
    walk(word(control_ + offsetof(control_block, roots)), sizeof(root_block),
         offsetof(root_block, next), "roots", [](u64) {});
    walk(word(control_ + offsetof(control_block, orphans)), sizeof(orphan_block),
         offsetof(orphan_block, next), "orphans", [](u64) {});
}

void heap_reader::read_blocks() {
    audit_report report;
    committed::view books(region_);
    heap_audit audit(region_, books, report);
    audit.read_runs();
    audit.read_free();
    each_block(region_, [&](u64 block, u64 room) {
        const auto state = state_word::unpack(word(block));
        heap_facts::object o{block + header_bytes, 0, state, 0, false, false};
        if (state.type == system_type) {
            const auto known = system_.find(block);
            if (known == system_.end()) {
                add(block, "a block of the heap's own that no list leads to");
                o.bytes = word(block + 8);
            } else {
                o.bytes = known->second;
                system_.erase(known);
            }
        } else if (state.type == proxy_type) {
            o.bytes = proxy_bytes;
        } else if (const auto type = types_.find(state.type); type != types_.end()) {
            const u64 length = type->second->is_array ? word(o.offset) : 1;
            if (length > room) {
                add(block, "an array's length is more than its block has bytes");
                return;
            }
            o.bytes = type->second->block_bytes(length);
            if (type->second->is_array != state.has(state_word::array)) {
                add(block, "an object of type " + type->second->name + " is half an array");
                return;
            }
        } else {
            add(block, state.type == 0 ? "memory of what has died was not given back"
                                       : "an object's type is not described");
            return;
        }
        const auto place = audit.locate(block, 0);
        if (!place || !audit.fits(*place, o.bytes, 0)) {
            add(block, "an object does not fit its block");
            return;
        }
        audit.claim(*place, "an object", block);
        if (state.type == system_type) return;
        ++facts_.report.objects;
        if (state.type == proxy_type) ++facts_.report.proxies;
        facts_.report.bytes += o.bytes;
        facts_.objects.push_back(o);
    });
    for (const auto& [block, bytes] : system_) {
        add(block, "a block of the heap's own is not handed out by the allocator");
    }
    audit.finish();
    if (facts_.report.violations.empty()) {  // else what is nobody's is a consequence
        for (const violation& v : report.violations()) add(v.offset, v.text);
    }
}

template <class Visit>
void heap_reader::each_pointer(const heap_facts::object& o, Visit&& visit) const {
    if (o.state.type == proxy_type) return;
    const heap_type& type = *types_.at(o.state.type);
    if (type.pointers.empty()) return;
    const bool is_array = o.state.has(state_word::array);
    const u64 length = is_array ? word(o.offset) : 1;
    const u64 first = is_array ? word(o.offset + offsetof(array_start, progress)) : 0;
    const u64 elements = o.offset + (is_array ? detail::array_head : 0);
    for (u64 i = first; i < length; ++i) {
        type.each_pointer([&](u64 at_member, const detail::member_info& m) {
            const u64 at = elements + i * type.bytes + at_member;
            visit(at, word(at), m);
        });
    }
}

void heap_reader::count_to(u64 target, u64 from, const char* what, const std::string* type) {
    heap_facts::object* const o = facts_.find(target);
    if (o == nullptr) {
        add(from, std::string(what) + " leads to offset " + std::to_string(target) +
                      ", where no object lives");
        return;
    }
    ++o->found;
    const bool is_weak = type == nullptr;
    if (is_weak != (o->state.type == proxy_type)) {
        add(from,
            std::string(what) + (is_weak ? " leads to what is no proxy" : " leads to a proxy"));
    } else if (!is_weak && types_.at(o->state.type)->name != *type) {
        add(from,
            std::string(what) + " to a " + *type + " leads to a " + types_.at(o->state.type)->name);
    }
}

void heap_reader::count_pointers() {
    for (const heap_facts::object& o : facts_.objects) {
        each_pointer(o, [&](u64 at, u64 target, const detail::member_info& m) {
            if (target == 0) return;
            const bool is_weak = m.kind == detail::member_kind::weak;
            count_to(target, at, is_weak ? "a weak pointer" : "a pointer",
                     is_weak ? nullptr : &m.type);
        });
    }
    for (u64 at = word(control_ + offsetof(control_block, roots)); at != 0;) {
        const u64 target = word(at + offsetof(root_block, target));
        const auto type = types_.find(word(at + offsetof(root_block, type)));
        if (type == types_.end()) {
            add(at, "a root's type is not described");
        } else if (target != 0) {
            count_to(target, at, "a root", &type->second->name);
        }
        at = word(at + offsetof(root_block, next));
    }
    for (const heap_facts::object& o : facts_.objects) {
        if (o.state.type != proxy_type) continue;
        const u64 target = word(o.offset);
        const heap_facts::object* const to = target == 0 ? nullptr : facts_.find(target);
        if (target == 0) continue;
        ++facts_.find(o.offset)->found;
        if (to == nullptr || !to->state.has(state_word::proxied) ||
            word(target - header_bytes + 8) != o.offset) {
            add(o.offset, "a proxy stands for what does not know it");
        }
    }
}

void heap_reader::read_lists() {
    const auto list = [&](u64 at, u16 flag, u64& number, const char* what) {
        heap_facts::object* const o = facts_.find(at);
        if (o == nullptr || o->listed || !o->state.has(flag) || o->state.count != 0) {
            add(at, std::string("what is listed as ") + what + " is not so, or is listed twice");
            return false;
        }
        o->listed = true;
        ++number;
        return true;
    };
    for (u64 block = word(control_ + offsetof(control_block, orphans)); block != 0;) {
        for (u32 i = 0; i < orphan_block::slots; ++i) {
            const u64 at = word(block + offsetof(orphan_block, slot) + 8 * u64{i});
            if (at != 0) (void)list(at, state_word::orphan, facts_.report.orphans, "an orphan");
        }
        block = word(block + offsetof(orphan_block, next));
    }
    for (u64 head : {offsetof(control_block, doomed), offsetof(control_block, waiting)}) {
        for (u64 at = word(control_ + head); at != 0;) {
            if (!list(at, state_word::doomed, facts_.report.doomed, "doomed")) break;
            at = word(at - header_bytes + 8);
        }
    }
}

void heap_reader::mark() {
    std::vector<heap_facts::object*> open;
    const auto reach = [&](u64 offset) {
        heap_facts::object* const o = facts_.find(offset);
        if (o == nullptr || o->reachable) return;
        o->reachable = true;
        open.push_back(o);
    };
    for (u64 at = word(control_ + offsetof(control_block, roots)); at != 0;) {
        reach(word(at + offsetof(root_block, target)));
        at = word(at + offsetof(root_block, next));
    }
    for (const u64 offset : held_) reach(offset);
    for (const heap_facts::object& o : facts_.objects) {
        if (o.listed) reach(o.offset);
    }
    while (!open.empty()) {
        const heap_facts::object o = *open.back();
        open.pop_back();
        ++facts_.report.reachable;
        if (o.state.type == proxy_type) continue;
        if (o.state.has(state_word::proxied)) reach(word(o.offset - header_bytes + 8));
        each_pointer(o, [&](u64, u64 target, const detail::member_info&) {
            if (target != 0) reach(target);
        });
    }
    facts_.report.unreachable = facts_.report.objects - facts_.report.reachable;
}

void heap_reader::compare() {
    for (const heap_facts::object& o : facts_.objects) {
        if (o.state.count != o.found) {
            add(o.offset, "the count is " + std::to_string(o.state.count) + ", but " +
                              std::to_string(o.found) + " pointers lead here");
        } else if (o.state.count == 0 && !o.listed) {
            add(o.offset, "nothing leads here, and it is neither an orphan nor doomed");
        } else if (!o.listed &&
                   (o.state.has(state_word::orphan) || o.state.has(state_word::doomed))) {
            add(o.offset, "it says that it is an orphan or doomed, and is not listed");
        }
    }
}

}  // namespace hf::nv
