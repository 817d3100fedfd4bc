#include "heap/mend.hpp"

#include "heap/look.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <algorithm>
#include <unordered_set>

namespace hf::nv {
namespace {

using what = heap_finding::what;

/// Limits on the findings repaired, and pointers cut, in one transaction.
constexpr std::size_t most_mended = 500;
/// Upper bound on repair rounds. Every round but the last fixes at least one finding.
constexpr unsigned most_rounds = 100;

/// The part of a round done by one transaction.
class mending {
   public:
    mending(transaction& t, const heap_facts& facts, u64 control, mend_tally& tally)
        : t_(t), facts_(facts), control_(control), tally_(tally) {}

    void mend(const heap_finding& f) {
        switch (f.kind) {
            case what::count:
                return set_count(*facts_.find(f.offset));
            case what::unknown:
                ++tally_.listed;
                return set_flags(*facts_.find(f.offset), facts_.find(f.offset)->unknown_flags());
            case what::flags:
                ++tally_.listed;
                return set_flags(*facts_.find(f.offset), state_word::orphan | state_word::doomed);
            case what::proxied:
                ++tally_.proxies;
                set_flags(*facts_.find(f.offset), state_word::proxied);
                return;
            case what::slot:
            case what::list:
                ++tally_.listed;
                return store(f.offset, 0);
            case what::proxy:
                ++tally_.proxies;
                return store(f.offset, 0);
            case what::pointer:
                ++tally_.pointers;
                return store(f.offset, 0);
            case what::progress:
                ++tally_.listed;
                return store(f.offset + offsetof(array_start, progress), 0);
            case what::dead:
                ++tally_.dead;
                return t_.release(t_.base() + f.offset, f.bytes);
            case what::other:
                return;
        }
    }
    void cut(u64 pointer) { store(pointer, 0); }

   private:
    void store(u64 at, u64 value) { t_.store(reinterpret_cast<u64*>(t_.base() + at), value); }
    [[nodiscard]] u64 load(u64 at) { return t_.load(reinterpret_cast<const u64*>(t_.base() + at)); }
    void set_state(const heap_facts::object& o, state_word s) {
        store(o.offset - header_bytes, s.pack());
    }
    void set_flags(const heap_facts::object& o, unsigned without) {
        state_word s = o.state;
        s.flags &= static_cast<u16>(~without);
        set_state(o, s);
    }
    void set_count(const heap_facts::object& o) {
        if (o.found == 0) return lose(o);
        ++tally_.counts;
        state_word s = o.state;
        s.count = o.found;
        set_state(o, s);
    }
    void lose(const heap_facts::object& o) {
        ++tally_.lost;
        if (o.state.type == proxy_type) {
            store(o.offset - header_bytes, 0);
            t_.release(t_.base() + o.offset - header_bytes, proxy_bytes);
            return;
        }
        const u64 second = o.offset - header_bytes + 8;
        if (o.state.has(state_word::proxied)) {
            const heap_facts::object* const proxy = facts_.find(load(second));
            // Another object's proxy is not changed; its own loses a count, found by the next
            // round.
            if (proxy != nullptr && proxy->state.type == proxy_type &&
                load(proxy->offset) == o.offset) {
                store(proxy->offset, 0);
            }
        }
        const u16 keeps = o.state.flags & state_word::array;
        set_state(o, {0, o.state.type, static_cast<u16>(keeps | state_word::doomed)});
        const u64 head = control_ + offsetof(control_block, doomed);
        store(second, load(head));
        store(head, o.offset);
    }

    transaction& t_;
    const heap_facts& facts_;
    const u64 control_;
    mend_tally& tally_;
};

class mender {
   public:
    mender(transactional_region& up, u64 control, const mend_options& options)
        : up_(up), control_(control), options_(options) {}

    result<mend_tally> run() {
        for (unsigned round = 0; round < most_rounds; ++round) {
            auto facts = heap_reader(up_.file(), control_, nobody_).read();
            if (!facts) return tl::unexpected(facts.error());
            if (beyond_mending(*facts, options_) != 0) {
                return failure({errc::violation, "mend the heap", up_.file().path().string(),
                                first_beyond(*facts), "restore the file from a backup"});
            }
            const bool is_whole = facts->findings.empty();
            if (is_whole && (!options_.collect || facts->report.unreachable == 0)) break;
            if (auto ok = is_whole ? cut_cycles(*facts) : mend(*facts); !ok) {
                return tl::unexpected(ok.error());
            }
        }
        return tally_;
    }

   private:
    [[nodiscard]] std::string first_beyond(const heap_facts& facts) const {
        for (std::size_t i = 0; i < facts.report.violations.size(); ++i) {
            if (!can_mend(facts.findings[i], options_)) return facts.report.violations[i];
        }
        return "there is more of it than can be told";
    }
    /// Calls f(mending&, index) for each index below `all`, several in one transaction.
    template <class F>
    [[nodiscard]] result<void> in_pieces(const heap_facts& facts, std::size_t all, F&& f) {
        for (std::size_t from = 0; from < all; from += most_mended) {
            mend_tally tally;
            auto done = up_.all().atomic([&](transaction& t) {
                tally = tally_;
                mending piece(t, facts, control_, tally);
                for (std::size_t i = from; i < std::min(all, from + most_mended); ++i) f(piece, i);
            });
            if (!done) return done;
            tally_ = tally;
        }
        return {};
    }
    /// Leaves a finding to the next round if another one concerns the same object.
    [[nodiscard]] result<void> mend(const heap_facts& facts) {
        std::unordered_set<u64> met;
        std::vector<heap_finding> first;
        for (const heap_finding& f : facts.findings) {
            if (met.insert(f.offset).second) first.push_back(f);
        }
        return in_pieces(facts, first.size(),
                         [&](mending& piece, std::size_t i) { piece.mend(first[i]); });
    }
    [[nodiscard]] result<void> cut_cycles(const heap_facts& facts) {
        std::vector<u64> pointers;
        for (const heap_facts::object& o : facts.objects) {
            if (o.reachable || o.state.type == proxy_type) continue;
            ++tally_.cycles;
            facts.each_pointer(up_.file(), o, [&](u64 at, u64 target, const detail::member_info&) {
                if (target != 0) pointers.push_back(at);
            });
        }
        return in_pieces(facts, pointers.size(),
                         [&](mending& piece, std::size_t i) { piece.cut(pointers[i]); });
    }

    transactional_region& up_;
    const u64 control_;
    const mend_options options_;
    const std::vector<u64> nobody_;
    mend_tally tally_;
};

}  // namespace

bool can_mend(const heap_finding& f, const mend_options& options) noexcept {
    if (f.kind == what::pointer) return options.cut_pointers;
    return f.kind != what::other;
}

u64 beyond_mending(const heap_facts& facts, const mend_options& options) noexcept {
    return static_cast<u64>(
        std::count_if(facts.findings.begin(), facts.findings.end(),
                      [&](const heap_finding& f) { return !can_mend(f, options); }));
}

result<mend_tally> mend_heap(const std::filesystem::path& path, const mend_options& options) {
    opening_options o;
    o.file.mode = open_mode::open_existing;
    o.file.kind = discipline::transaction;
    o.rooms = heap_rooms();
    o.upgrades = transaction_upgrades();
    auto opened = open_region(path, o);
    if (!opened) return tl::unexpected(opened.error());
    transactional_region up(std::move(*opened));
    transaction_options by_hand;
    by_hand.epoch = no_clock;
    if (auto ok = transaction_opening(up, by_hand).run(); !ok) return tl::unexpected(ok.error());
    const auto control = find_control(up.file());
    if (!control) return tl::unexpected(control.error());
    auto mended = mender(up, *control, options).run();
    if (auto ok = up.close(); !ok) return tl::unexpected(ok.error());
    return mended;
}

}  // namespace hf::nv
