#include "transaction/transactions.hpp"

#include "base/check.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hf {
namespace {

/// Attempts after which a transaction is serialised.
constexpr unsigned patience = 8;
constexpr u32 no_lane = ~u32{0};
/// Reading more than a few lines of other threads would cost more than it saves.
constexpr u32 most_lanes_looked_at = 16;
constexpr unsigned longest_spin = 12;  // 2^12 pauses, some tens of microseconds

std::atomic<u64> objects{0};

void count(std::atomic<u64>& n) noexcept {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

transactions::transactions(epoch_manager& epochs, committed_heap& heap, commit_engine& engine,
                           detail::isolation kept)
    : epochs_(epochs),
      heap_(heap),
      base_(reinterpret_cast<u64>(epochs.file().base())),
      waits_(engine.waits()),
      number_(objects.fetch_add(1, std::memory_order_relaxed) + 1),
      kept_(kept),
      only_lane_(no_lane),
      records_(kept),
      engine_(engine),
      places_(std::make_unique<std::array<std::atomic<place*>, max_lanes>>()) {}

transactions::~transactions() {
    for (std::atomic<place*>& p : *places_) delete p.load(std::memory_order_acquire);
}

// Once for each thread. (A call in place_of() would have that save registers each time.)
[[gnu::cold, gnu::noinline]] transactions::place& transactions::make_place(const lane& l) {
    const auto number = static_cast<u16>(l.index);
    auto* const p = new place(records_, heap_, engine_.make_lane(number), number, number_, kept_);
    (*places_)[l.index].store(p, std::memory_order_release);
    return *p;
}

inline transactions::place& transactions::place_of(const lane& l) {
    place* const p = (*places_)[l.index].load(std::memory_order_relaxed);
    return p != nullptr ? *p : make_place(l);
}

[[gnu::cold, gnu::noinline]] void transactions::take_turn(place& p, unsigned attempt) {
    if (attempt >= patience) {
        p.turn = std::unique_lock(turn_);
        turn_taken_.store(1, std::memory_order_release);
        return;
    }
    while (turn_taken_.load(std::memory_order_acquire) != 0) [[unlikely]] {
        turn_taken_.wait(1, std::memory_order_acquire);
    }
}

// Outside of the epoch: who has the turn may need its end.
inline void transactions::wait_for_turn(place& p, unsigned attempt) {
    if (p.turn.owns_lock()) return;
    if (attempt >= patience || turn_taken_.load(std::memory_order_acquire) != 0) [[unlikely]] {
        take_turn(p, attempt);
    }
}

inline void transactions::accept_writer(place& p, lane& mine) {
    if (auto ok = epochs_.accepts_writes(); !ok) transaction::fail(ok.error());
    epochs_.slow_writer();
    const u64 now = epochs_.current_epoch();
    const bool is_full = p.running.wants_boundary();
    if (is_full || p.running.engine_state().is_used_up(now)) epochs_.end_epoch(now);
    if (is_full && waits_) {
        if (auto ok = epochs_.wait_durable(now); !ok) transaction::fail(ok.error());
    }
    if (engine_.has_work()) [[unlikely]] {
        engine_.work(epochs_, mine, p.running.engine_state());
    }
    const u64 durable = epochs_.durable_epoch();
    p.running.settle(durable);
    if (is_full || settled_.load(std::memory_order_relaxed) != durable) [[unlikely]] {
        settle_all(durable);
    }
}

/// Hands out memory that idle or ended threads have freed: once an epoch, by the first writer after
/// it, and where memory has run out. Otherwise no other thread would get it, and the region would
/// grow instead.
void transactions::settle_all(u64 durable) {
    settled_.store(durable, std::memory_order_relaxed);
    if (records_.unsettled.load(std::memory_order_relaxed) == 0) return;
    for (u32 i = 0; i < epochs_.lanes_used(); ++i) {
        place* const p = (*places_)[i].load(std::memory_order_acquire);
        if (p != nullptr) p->running.settle_for_others(durable);
    }
}

void transactions::refuse_others(const lane& l) {
    u32 before = no_lane;
    if (only_lane_.compare_exchange_strong(before, l.index) || before == l.index) return;
    transaction::fail({errc::usage, "run a transaction", "",
                       "its heap was opened with a layer that has one thread, and this is another",
                       "use the layer c_tx"});
}

transaction& transactions::begin(bool read_only, unsigned attempt) {
    lane& mine = epochs_.my_lane();
    const bool is_shared = kept_ == detail::isolation::threads;
    if (!is_shared) [[unlikely]] {
        refuse_others(mine);
    }
    place& p = place_of(mine);
    wait_for_turn(p, attempt);
    try {
        if (!read_only) accept_writer(p, mine);
    } catch (...) {
        give_turn_back(p);
        throw;
    }
    p.inside.emplace(epochs_, mine);
    p.running.start(mine, read_only, attempt != 0);
    // The layers of one thread have no owners, by which a load would find its own copies.
    if (is_shared && read_only && attempt == 0 && is_quiet()) p.running.read_by_clock();
    return p.running;
}

bool transactions::is_quiet() const noexcept {
    const u32 used = epochs_.lanes_used();
    if (used > most_lanes_looked_at) return false;
    for (u32 i = 0; i < used; ++i) {
        const place* const p = (*places_)[i].load(std::memory_order_acquire);
        if (p != nullptr && p->commits_now.load(std::memory_order_acquire)) return false;
    }
    return true;
}

void transactions::give_turn_back(place& p) noexcept {
    if (!p.turn.owns_lock()) return;
    turn_taken_.store(0, std::memory_order_release);
    turn_taken_.notify_all();
    p.turn.unlock();
}

void transactions::leave(place& p, u64 version) noexcept {
    p.running.end(version);
    p.commits_now.store(false, std::memory_order_release);
    p.inside.reset();
}

bool transactions::change(context& t) {
    place& p = *(*places_)[t.thread_number()].load(std::memory_order_relaxed);
    p.commits_now.store(true, std::memory_order_release);
    const u64 version = records_.clock.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (version != t.snapshot() + 1 && !t.is_valid()) return false;
    t.release_blocks();
    if (auto room = engine_.prepare(t); !room) transaction::fail(room.error());
    engine_.commit(t, version);
    leave(p, version);
    return true;
}

bool transactions::commit(transaction& t, ticket& done) {
    context& c = context::of(t);
    if (c.is_doomed()) {
        if (!c.begins_anew()) transaction::fail(aborted());
        roll_back(t, true);
        return false;
    }
    if (listener_ != nullptr && !t.is_read_only()) listener_->before_commit(t);
    done = c.epoch();
    place& p = *(*places_)[t.thread_number()].load(std::memory_order_relaxed);
    if (c.changes_nothing()) {
        leave(p, context::no_version);
    } else if (change(c)) {
        count(p.commits);
    } else {
        roll_back(t, true);
        return false;
    }
    give_turn_back(p);
    return true;
}

void transactions::roll_back(transaction& t, bool anew) noexcept {
    if (listener_ != nullptr) listener_->rolled_back(t);
    place& p = *(*places_)[t.thread_number()].load(std::memory_order_relaxed);
    leave(p, context::no_version);
    if (!anew) give_turn_back(p);
}

void transactions::back_off(unsigned attempt, bool asked_for) noexcept {
    count(place_of(epochs_.my_lane()).conflicts);
    if (asked_for || attempt >= longest_spin) {
        std::this_thread::sleep_for(std::chrono::microseconds(1 << std::min(attempt, 10U)));
        return;
    }
    for (unsigned i = 0; i < 1U << attempt; ++i) cpu_relax();
    if (attempt > 2) std::this_thread::yield();
}

void transactions::committed(ticket) {
    if (listener_ != nullptr) listener_->committed();
}

result<void> transactions::wait_durable(ticket when) {
    if (!waits_) return {};
    return epochs_.wait_durable(when);
}

bool transactions::durable(ticket when) const noexcept {
    return !waits_ || epochs_.durable_epoch() >= when;
}

transaction_statistics transactions::numbers() const noexcept {
    transaction_statistics sum;
    for (const auto& each : *places_) {
        const place* p = each.load(std::memory_order_acquire);
        if (p == nullptr) continue;
        sum.commits += p->commits.load(std::memory_order_relaxed);
        sum.conflicts += p->conflicts.load(std::memory_order_relaxed);
        sum.records += p->running.engine_state().records();
        sum.record_bytes += p->running.engine_state().record_bytes();
    }
    return sum;
}

}  // namespace hf
