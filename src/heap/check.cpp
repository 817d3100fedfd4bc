#include "heap/check.hpp"

#include "alloc/committed/audit_view.hpp"
#include "heap/blocks.hpp"

#include <algorithm>

namespace hf::nv {

heap_facts::object* heap_facts::find(u64 offset) noexcept {
    const auto at = std::lower_bound(objects.begin(), objects.end(), offset,
                                     [](const object& o, u64 x) { return o.offset < x; });
    return at != objects.end() && at->offset == offset ? &*at : nullptr;
}

const heap_type* heap_facts::type_of(const object& o) const noexcept {
    const auto found = types.find(o.state.type);
    return found == types.end() ? nullptr : found->second.get();
}

void heap_reader::add(u64 offset, const std::string& text, what kind, u64 bytes) {
    ++facts_.violations;
    if (facts_.findings.size() < heap_facts::most_findings) {
        facts_.findings.push_back({offset, kind, bytes});
    }
    if (facts_.report.violations.size() == heap_facts::most_told) return;
    facts_.report.violations.push_back("offset " + std::to_string(offset) + ": " + text);
}

result<heap_facts> heap_reader::read() {
    system_.emplace(control_, sizeof(control_block));
    if (auto ok = read_types(); !ok) return tl::unexpected(ok.error());
    read_system();
    read_blocks();
    std::sort(facts_.objects.begin(), facts_.objects.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    count_pointers();
    count_roots();
    count_proxies();
    read_lists();
    mark();
    compare();
    return std::move(facts_);
}

result<void> heap_reader::read_types() {
    u64 at = word(control_ + offsetof(control_block, types));
    while (at != 0) {
        if (at % 16 != 0 || at >= region_.size() || facts_.types.size() > 0x10000) {
            return failure({errc::corrupt, "read the types of the heap", "",
                            "their list is damaged", "restore the file from a backup"});
        }
        auto type = unpack_type(region_.at<std::byte>(at), region_.size() - at);
        if (!type) return tl::unexpected(type.error());
        (*type)->block = at;
        if (!system_.emplace(at, region_.at<type_block>(at)->header.second).second) {
            add(at, "the list of types leads here a second time");
            return {};
        }
        const u64 number = (*type)->number;
        if (!facts_.types.emplace(number, std::move(*type)).second) {
            add(at, "a type's number is given twice");
        }
        at = region_.at<type_block>(at)->next;
    }
    return {};
}

// Checks the other internal blocks.
void heap_reader::read_system() {
    const auto walk = [&](u64 at, u64 least, u64 next_at, const char* name, auto&& visit) {
        while (at != 0) {
            if (at % 16 != 0 || at > region_.size() - least || system_.contains(at)) {
                add(at, std::string("the list of ") + name + " is damaged");
                return;
            }
            system_.emplace(at, word(at + 8));
            visit(at);
            at = word(at + next_at);
        }
    };
    walk(word(control_ + offsetof(control_block, roots)), sizeof(root_block),
         offsetof(root_block, next), "roots", [this](u64 block) { read_root(block); });
    walk(word(control_ + offsetof(control_block, orphans)), sizeof(orphan_block),
         offsetof(orphan_block, next), "orphans",
         [this](u64 block) { orphan_blocks_.push_back(block); });
}

void heap_reader::read_root(u64 block) {
    const u64 bytes = word(block + offsetof(root_block, name_bytes));
    if (bytes > region_.size() - block - sizeof(root_block) ||
        bytes + sizeof(root_block) > word(block + 8)) {
        add(block, "a root's name is longer than its block");
        return;
    }
    facts_.roots.push_back({block,
                            {region_.at<char>(block) + sizeof(root_block), bytes},
                            word(block + offsetof(root_block, type)),
                            word(block + offsetof(root_block, target))});
}

/// The error found; "": it is an object, or an internal block.
std::string heap_reader::look_at_block(u64 block, u64 room, heap_facts::object& o) {
    if (o.state.type == system_type) {
        const auto known = system_.find(block);
        if (known == system_.end()) return "an internal block of the heap that is on no list";
        o.bytes = known->second;
        system_.erase(known);
        return {};
    }
    if (o.state.type == proxy_type) {
        o.bytes = proxy_bytes;
        return {};
    }
    const auto found = facts_.types.find(o.state.type);
    if (found == facts_.types.end()) return "an object's type is not described";
    const heap_type& type = *found->second;
    if (type.is_array != o.state.has(state_word::array)) {
        return "an object of type " + type.name + " is half an array";
    }
    u64 length = 1;
    if (type.is_array) {
        const u64 start = header_bytes + detail::array_head;
        length = room < start ? ~u64{0} : word(o.offset);
        if (room < start || length > (room - start) / std::max<u64>(type.bytes, 1)) {
            return "an array's length is more than its block has bytes";
        }
    }
    o.bytes = type.block_bytes(length);
    return {};
}

void heap_reader::read_blocks() {
    audit_report report;
    committed::view books(region_);
    heap_audit audit(region_, books, report);
    audit.read_runs();
    audit.read_free();
    each_block(region_, [&](u64 block, u64) {
        const auto place = audit.locate(block, 0);
        if (!place || place->payload != block) {
            add(block, "the allocator's books hand out what is no block");
            return;
        }
        const auto state = state_word::unpack(word(block));
        if (state.type == 0) {
            audit.claim(*place, "memory of what has died", block);
            add(block, "memory of what has died was not given back", what::dead, place->room);
            return;
        }
        heap_facts::object o{block + header_bytes, 0, state, 0, false, false};
        if (const std::string wrong = look_at_block(block, place->room, o); !wrong.empty()) {
            audit.claim(*place, "what is no object", block);  // reported once
            add(block, wrong);
            return;
        }
        if (!audit.fits(*place, o.bytes, 0)) {
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
    facts_.books = report.heap;
    for (const violation& v : report.violations()) add(v.offset, v.text);
}

void heap_reader::count_to(u64 target, u64 from, const char* name, const std::string* type) {
    heap_facts::object* const o = facts_.find(target);
    if (o == nullptr) {
        add(from,
            std::string(name) + " leads to offset " + std::to_string(target) +
                ", where no object lives",
            what::pointer);
        return;
    }
    ++o->found;
    const bool is_weak = type == nullptr;
    if (is_weak != (o->state.type == proxy_type)) {
        add(from,
            std::string(name) + (is_weak ? " leads to what is no proxy" : " leads to a proxy"),
            what::pointer);
    } else if (!is_weak && facts_.type_of(*o)->name != *type) {
        add(from, std::string(name) + " to a " + *type + " leads to a " + facts_.type_of(*o)->name,
            what::pointer);
    }
}

void heap_reader::count_pointers() {
    for (const heap_facts::object& o : facts_.objects) {
        facts_.each_pointer(region_, o, [&](u64 at, u64 target, const detail::member_info& m) {
            if (target == 0) return;
            const bool is_weak = m.kind == detail::member_kind::weak;
            count_to(target, at, is_weak ? "a weak pointer" : "a pointer",
                     is_weak ? nullptr : &m.type);
        });
    }
}

void heap_reader::count_roots() {
    for (const heap_root& r : facts_.roots) {
        const auto type = facts_.types.find(r.type);
        if (type == facts_.types.end()) {
            add(r.block, "a root's type is not described");
        } else if (r.target != 0) {
            count_to(r.target, r.block + offsetof(root_block, target), "a root",
                     &type->second->name);
        }
    }
}

/// Both objects of a pair of an interrupted upgrade are referenced (upgrade.hpp).
void heap_reader::count_moved(heap_facts::object& o) {
    ++o.found;
    heap_facts::object* const became = facts_.find(word(o.offset - header_bytes + 8));
    if (became != nullptr && became->state.type != proxy_type &&
        !o.state.has(state_word::proxied)) {
        ++became->found;
        became->is_upgrade = o.is_upgrade = true;
    } else {
        add(o.offset, "it says that an upgrade has converted it, and does not lead to what it is");
    }
}

void heap_reader::count_proxies() {
    for (heap_facts::object& o : facts_.objects) {
        if (o.state.has(state_word::moved)) count_moved(o);
        if (o.state.type != proxy_type) {
            if (!o.state.has(state_word::proxied)) continue;
            const u64 at = word(o.offset - header_bytes + 8);
            const heap_facts::object* const proxy = facts_.find(at);
            if (proxy == nullptr || proxy->state.type != proxy_type || word(at) != o.offset) {
                add(o.offset, "what it has as its proxy does not stand for it", what::proxied);
            }
            continue;
        }
        const u64 target = word(o.offset);
        if (target == 0) continue;
        ++o.found;
        const heap_facts::object* const to = facts_.find(target);
        if (to == nullptr || !to->state.has(state_word::proxied) ||
            word(target - header_bytes + 8) != o.offset) {
            add(o.offset, "a proxy stands for what does not know it", what::proxy);
        }
    }
}

void heap_reader::read_lists() {
    const auto list = [&](u64 from, u64 at, u16 flag, u64& number, what kind) {
        heap_facts::object* const o = facts_.find(at);
        if (o == nullptr || o->listed || !o->state.has(flag) || o->state.count != 0) {
            add(from,
                "offset " + std::to_string(at) + " is listed as " +
                    (kind == what::slot ? "an orphan" : "doomed") + ", and is not, or is twice",
                kind);
            return false;
        }
        o->listed = true;
        ++number;
        return true;
    };
    for (const u64 block : orphan_blocks_) {
        for (u32 i = 0; i < orphan_block::slots; ++i) {
            const u64 slot = block + offsetof(orphan_block, slot) + 8 * u64{i};
            const u64 at = word(slot);
            if (at == 0) continue;
            (void)list(slot, at, state_word::orphan, facts_.report.orphans, what::slot);
        }
    }
    for (const u64 head : {offsetof(control_block, doomed), offsetof(control_block, waiting)}) {
        u64 from = control_ + head;
        for (u64 at = word(from); at != 0; at = word(from)) {
            if (!list(from, at, state_word::doomed, facts_.report.doomed, what::list)) break;
            from = at - header_bytes + 8;
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
    for (const heap_root& r : facts_.roots) reach(r.target);
    for (const u64 offset : held_) reach(offset);
    for (const heap_facts::object& o : facts_.objects) {
        if (o.listed || o.is_upgrade) reach(o.offset);
    }
    while (!open.empty()) {
        const heap_facts::object o = *open.back();
        open.pop_back();
        ++facts_.report.reachable;
        if (o.state.type == proxy_type) continue;
        if (o.state.has(state_word::proxied)) reach(word(o.offset - header_bytes + 8));
        facts_.each_pointer(region_, o, [&](u64, u64 target, const detail::member_info&) {
            if (target != 0) reach(target);
        });
    }
    facts_.report.unreachable = facts_.report.objects - facts_.report.reachable;
}

void heap_reader::compare() {
    for (const heap_facts::object& o : facts_.objects) {
        if (o.unknown_flags() != 0) add(o.offset, "it has unknown flags", what::unknown);
        if (o.state.has(state_word::array) && !o.state.has(state_word::doomed) &&
            word(o.offset + offsetof(array_start, progress)) != 0) {
            add(o.offset, "an array is half destroyed, and not doomed", what::progress);
        }
        if (o.state.count != o.found) {
            add(o.offset,
                "the count is " + std::to_string(o.state.count) + ", but " +
                    std::to_string(o.found) + " pointers lead here",
                what::count);
        } else if (o.state.count == 0 && !o.listed) {
            add(o.offset, "nothing leads here, and it is neither an orphan nor doomed",
                what::count);
        } else if (!o.listed &&
                   (o.state.has(state_word::orphan) || o.state.has(state_word::doomed))) {
            add(o.offset, "it says that it is an orphan or doomed, and is not listed", what::flags);
        }
    }
}

}  // namespace hf::nv
