// clht/walk.hpp: part of clht.hpp: opening, iterating, tracing, auditing.
#pragma once

#include "index/clht/clht.hpp"

#include <algorithm>
#include <new>

namespace hf {

// ---------------------------------------------------------------- creating and opening a table

template <class D, class Keys, class Shape>
error clht<D, Keys, Shape>::damaged(u64 offset, std::string why) const {
    return {errc::corrupt, "open the CLHT",
            space_.file().path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

/// Creates an empty table, durably: its root block.
template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::create_root(eager_space& space) {
    operation op(space);
    auto chunk = op.allocate(sizeof(bucket) << Shape::chunk_bits);
    if (!chunk) return chunk;
    auto root = op.allocate(sizeof(root_block));
    if (!root) {
        op.cancel(*chunk);
        return root;
    }
    const auto make_empty = [](bucket& b) {
        for (unsigned i = 0; i < slots; ++i) {
            b.key[i].store(0);
            b.value[i].store(0);
        }
        b.next.store(0);
        b.state.store(bucket::made);
    };
    auto* buckets = op.template at<bucket>(*chunk);
    for (u64 i = 0; i <= mask(Shape::chunk_bits); ++i) make_empty(buckets[i]);
    op.written(buckets, sizeof(bucket) << Shape::chunk_bits);
    auto* r = new (op.template at<root_block>(*root)) root_block{};
    r->magic = root_block::magic_value;
    r->chunk_bits = Shape::chunk_bits;
    r->inline_values = Keys::inline_values ? 1 : 0;
    make_empty(r->zero);
    r->directory[0].store(*chunk);
    op.written(r, sizeof(*r));
    op.persist_publication();
    return root;
}

template <class D, class Keys, class Shape>
result<std::unique_ptr<clht<D, Keys, Shape>>> clht<D, Keys, Shape>::open(eager_space& space,
                                                                         std::string_view root) {
    std::unique_ptr<clht> made(new clht(space));
    const auto there = find_or_create_root(
        space, root, {"open the CLHT", root_block::magic_value, format.version}, create_root);
    if (!there) return tl::unexpected(there.error());
    const u64 offset = *there;
    if (auto ok = made->load(offset); !ok) return tl::unexpected(ok.error());
    space.add_structure(*made);
    return made;
}

template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::load(u64 root_offset) {
    if (!is_block(root_offset)) return failure(damaged(root_offset, "its root is no block"));
    root_offset_ = root_offset;
    root_ = at<root_block>(root_offset);
    if (root_->magic != root_block::magic_value) {
        return failure(damaged(root_offset, "its root block is damaged"));
    }
    if (root_->chunk_bits != Shape::chunk_bits ||
        root_->inline_values != (Keys::inline_values ? 1 : 0)) {
        return failure({errc::incompatible, "open the CLHT", space_.file().path().string(),
                        "it has other keys, or chunks of another size",
                        "open it as what it was made"});
    }
    const auto put = [&](u64 chunk, u64 offset) {
        if (!is_block(offset)) return false;
        chunks_[chunk].store(at<bucket>(offset), std::memory_order_release);
        return true;
    };
    if (!put(0, root_->directory[0].load())) {
        return failure(damaged(root_offset, "its first chunk is no block"));
    }
    unsigned bits = Shape::chunk_bits;
    bool is_whole = true;  // the previous level
    for (unsigned l = 1; l <= most_chunk_bits; ++l) {
        const u64 table = root_->directory[l].load();
        if (table == 0) break;
        if (!is_whole) return failure(damaged(root_offset, "a level lacks chunks"));
        if (!is_block(table)) return failure(damaged(root_offset, "a table of chunks is no block"));
        for (u64 i = 0; i < u64{1} << (l - 1); ++i) {
            const u64 chunk = at<published>(table)[i].load();
            is_whole &= chunk != 0;
            if (chunk == 0 || put((u64{1} << (l - 1)) + i, chunk)) continue;
            return failure(damaged(table + 8 * i, "a chunk is no block"));
        }
        bits = Shape::chunk_bits + l - 1;  // all chunks of the previous level exist
    }
    begin_level(bits, bits == Shape::chunk_bits && root_->directory[1].load() == 0);
    make_directory_durable();
    return {};
}

/// After a kill: makes the directory and the chunk tables durable, which may be in the caches only.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::make_directory_durable() {
    operation op(space_);
    if (!op.is_after_a_kill()) return;
    op.written(root_, sizeof *root_);
    for (unsigned l = 1; l <= most_chunk_bits && root_->directory[l].load() != 0; ++l) {
        op.written(at<published>(root_->directory[l].load()), clht_detail::table_bytes(l));
    }
    op.persist_dependencies();
}

// ---------------------------------------------------------------------------------------- visiting

/// Collects the live entries of one chain as of one moment.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::read_chain(operation& op, bucket* first, u64 number, unsigned bits,
                                      std::vector<entry>& out) const {
    const std::size_t before_all = out.size();
    for (;;) {
        op.arrived();  // a retry is a new traversal
        out.resize(before_all);
        const u64 before = first->state.load();
        for (bucket* n = first; n != nullptr; n = next_of(n)) {
            op.took_step();
            for (unsigned i = 0; i < slots; ++i) {
                const u64 hash = n->key[i].load();
                if (is_alive(hash, number, bits)) out.push_back({hash, n->value[i].load()});
            }
        }
        const u64 behind = first->state.load();
        if (before != behind) continue;
        op.arrived();
        const bool is_held = lock_of(number == no_number ? 0 : number).is_held();
        if (!is_held && !op.is_after_a_kill()) return;
        for (bucket* n = first; n != nullptr; n = next_of(n)) op.written_line(n);
        return;
    }
}

/// Collects all entries whose hash ends in these bits, from all buckets into which they were split.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::collect(operation& op, u64 number, unsigned bits,
                                   std::vector<entry>& out) const {
    const u64 buddy = number + mask(bits) + 1;
    const std::size_t before_all = out.size();
    if (!is_made(buddy)) {
        read_chain(op, bucket_at(number), number, bits, out);
        if (!is_made(buddy)) return;
        out.resize(before_all);
    }
    collect(op, number, bits + 1, out);
    collect(op, buddy, bits + 1, out);
}

template <class D, class Keys, class Shape>
template <class Visit>
void clht<D, Keys, Shape>::for_each_in(eager_space& space, u64 part, Visit&& visit) const {
    std::vector<entry> all;
    operation op(space);
    const bool is_zero = part + 1 == parts;
    if (is_zero) {
        read_chain(op, &root_->zero, no_number, 0, all);
    } else {
        collect(op, part, Shape::chunk_bits, all);
    }
    op.persist_dependencies();
    for (const entry& e : all) {
        if constexpr (Keys::inline_values) {
            visit(Keys::key_of_hash(is_zero ? 0 : e.hash), e.value);
        } else {
            const auto& r = *at<typename Keys::record>(e.value);
            visit(Keys::key_of(r), Keys::value_if_sound(r));
        }
    }
}

template <class D, class Keys, class Shape>
template <class Visit>
void clht<D, Keys, Shape>::for_each(eager_space& space, Visit&& visit) const {
    for (u64 part = 0; part < parts; ++part) for_each_in(space, part, visit);
}

// --------------------------------------------------------------------------------------- the sweep

/// Visits the records of a chain. Its overflow buckets are never unlinked; they are visited as
/// leaves, so has_read() declares their references as read here.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::trace_chain(const bucket* first, u64 number, unsigned bits,
                                       tracer& t) const {
    constexpr unsigned most = 1U << 16;  // a longer chain is a cycle
    unsigned seen = 0;
    const bucket* before = nullptr;  // an earlier bucket, to detect a cycle
    for (const bucket* n = first; n != nullptr && n != before && ++seen < most; n = next_of(n)) {
        if ((seen & (seen - 1)) == 0) before = n;
        if (n != first) t.has_read(n, sizeof *n);
        t.visit(n->next.load(), leaf);
        // the tracer has recorded the damage
        if (n->next.load() != 0 && !is_block(n->next.load())) return;
        if constexpr (!Keys::inline_values) {
            for (unsigned i = 0; i < slots; ++i) {
                if (is_alive(n->key[i].load(), number, bits)) t.visit(n->value[i].load(), leaf);
            }
        }
    }
}

/// Records which groups are split, because the sweep reads all buckets anyway.
template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::learn(u64 first) const {
    const stage& s = now();
    if (s.exact || first < s.size()) return;
    if (space_.is_after_a_kill()) {
        // The sweep flushes the chunk, and fences only at its end. Without this fence operations
        // could treat a split as durable that is in the caches only, end the level, and make the
        // next level durable first.
        space_.file().med().fence();
        HF_PERSIST_POINT("clht C6: a chunk that a sweep reads is durable before its groups count");
    }
    for (u64 i = first; i <= first + mask(Shape::chunk_bits); i += group) {
        bool all = true;
        // in a damaged table some may be missing
        for (u64 j = i; j < i + group; ++j) all &= is_made(j);
        // While its lock is held a split may be volatile.
        if (all && !lock_of(i).is_held()) s.set_split((i - s.size()) >> Shape::group_bits);
    }
}

template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::trace(u64 offset, u32 kind, tracer& t) const {
    if (kind == root_kind) {
        t.visit(root_->directory[0].load(), chunk_kind);
        for (u32 l = 1; l < clht_detail::directory_words; ++l) {
            t.visit(root_->directory[l].load(), table_kind | l);
        }
        trace_chain(&root_->zero, no_number, 0, t);
        return;
    }
    if ((kind & table_kind) != 0) {
        const u32 first = u32{1} << ((kind & ~table_kind) - 1);
        for (u32 i = 0; i < first; ++i) {
            t.visit(at<published>(offset)[i].load(), chunk_kind | (first + i));
        }
        return;
    }
    const auto* buckets = at<bucket>(offset);
    const u64 first = u64{kind & ~chunk_kind} << Shape::chunk_bits;
    learn(first);
    for (u64 i = 0; i <= mask(Shape::chunk_bits); ++i) {
        if (buckets[i].is_made()) trace_chain(&buckets[i], first + i, bits_of(first + i), t);
    }
}

// ----------------------------------------------------------------------------------------- audits

template <class D, class Keys, class Shape>
bool clht<D, Keys, Shape>::claim(heap_audit& a, u64 offset, u64 bytes, const char* what,
                                 u64 from) const {
    const auto place = a.locate(offset, 0);
    if (!place || place->room < bytes) {
        a.report().add(from, std::string("what should be ") + what + " is no such block");
        a.report().mark_incomplete();
        return false;
    }
    return a.claim(*place, what, from);
}

template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::audit_chain(heap_audit& a, const bucket* first, u64 number,
                                       unsigned bits) const {
    std::vector<entry> seen;
    for (const bucket* n = first; n != nullptr;) {
        const u64 here = offset_from(base_, n);
        for (unsigned i = 0; i < slots; ++i) {
            const entry e{n->key[i].load(), n->value[i].load()};
            if (!may_have_been_in(number, e.hash)) {
                a.report().add(here, "a hash stands in a bucket of others");
            }
            if (!is_alive(e.hash, number, bits)) continue;
            ++a.report().tree.records;
            if constexpr (Keys::inline_values) {
                if (number == no_number && e.hash != 1) {
                    a.report().add(here, "another key stands where that of the hash 0 is");
                }
                const bool twice = std::any_of(seen.begin(), seen.end(),
                                               [&](const entry& s) { return s.hash == e.hash; });
                if (twice) a.report().add(here, "a key stands twice in a chain of buckets");
            } else {
                if (!claim(a, e.value, sizeof(typename Keys::record), "a record", here)) continue;
                const auto& r = *at<typename Keys::record>(e.value);
                if (!Keys::is_whole(r, a.locate(e.value, 0)->room)) {
                    a.report().add(e.value, "a record is damaged");
                    continue;
                }
                if (std::max<u64>(Keys::hash(Keys::key_of(r)), 1) != e.hash) {
                    a.report().add(here, "a record lies under a hash that is not its key's");
                }
                for (const entry& s : seen) {
                    if (s.hash == e.hash &&
                        Keys::key_of(*at<typename Keys::record>(s.value)) == Keys::key_of(r)) {
                        a.report().add(here, "a key stands twice in a chain of buckets");
                    }
                }
            }
            seen.push_back(e);
        }
        const u64 next = n->next.load();
        if (next == 0 || !claim(a, next, sizeof(bucket), "an overflow bucket", here)) return;
        n = at<bucket>(next);
    }
}

template <class D, class Keys, class Shape>
void clht<D, Keys, Shape>::audit(heap_audit& a) const {
    if (!claim(a, root_offset_, sizeof(root_block), "the root of a CLHT", 0)) return;
    const u64 chunk_bytes = sizeof(bucket) << Shape::chunk_bits;
    audit_chain(a, &root_->zero, no_number, 0);
    for (u64 c = 0; c < u64{1} << most_chunk_bits; ++c) {
        const unsigned l = clht_detail::level_of_chunk(c);
        const u64 from = offset_from(base_, &root_->directory[l]);
        const u64 table = root_->directory[l].load();
        if (table == 0) break;
        if (l > 0 && clht_detail::place_of_chunk(c) == 0 &&
            !claim(a, table, clht_detail::table_bytes(l), "a table of chunks", from)) {
            return;
        }
        const u64 offset =
            l == 0 ? table : at<published>(table)[clht_detail::place_of_chunk(c)].load();
        if (offset == 0) continue;
        if (!claim(a, offset, chunk_bytes, "a chunk of buckets", from)) continue;
        for (u64 i = 0; i <= mask(Shape::chunk_bits); ++i) {
            const u64 number = (c << Shape::chunk_bits) + i;
            const bucket* b = at<bucket>(offset) + i;
            if (b->is_made()) {
                audit_chain(a, b, number, bits_of(number));
            } else if (must_be_made(number)) {
                a.report().add(offset_from(base_, b), "a bucket that has been made is not");
            }
        }
    }
}

}  // namespace hf
