#include "bench/compare/round.hpp"

#include "base/clock.hpp"
#include "bench/compare/values.hpp"
#include "bench/processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

namespace hf::bench {

namespace {

std::string_view bytes_of(const u64& key) {
    return {reinterpret_cast<const char*>(&key), sizeof(key)};
}

error wrong(u64 record, const std::string& why) {
    return {errc::violation, "trust the answers", fmt::format("record {}", record), why,
            "the figures are worth nothing; report this as a bug"};
}

/// Shared by all clients of a round.
struct meeting {
    std::latch ready;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> left;
    explicit meeting(unsigned clients) : ready(clients), left(clients) {}
};

class client {
   public:
    client(contender& c, ledger& notes, const round_plan& plan, unsigned number)
        : contender_(c), notes_(notes), plan_(plan), number_(number), values_(plan.value_size) {}

    /// `work(*this)` is the loop.
    template <class Work>
    void start(meeting& m, Work work) {
        thread_ = std::thread([this, &m, work] {
            auto made = contender_.connect();
            if (made) {
                connection_ = std::move(*made);
            } else {
                fail(made.error(), m);
            }
            m.ready.arrive_and_wait();
            begin_ns_ = now_ns();
            const u64 cpu = thread_cpu_ns();
            if (!failed_) work(*this);
            cpu_ns_ = thread_cpu_ns() - cpu;
            end_ns_ = now_ns();
            connection_.reset();
            m.left.fetch_sub(1);
        });
    }
    void join() { thread_.join(); }

    void walk(meeting& m) {
        const stream& steps = *plan_.steps;
        u64 at = (plan_.first_step + steps.size() * number_ / plan_.clients) % steps.size();
        const u64 most = plan_.operations != 0 ? plan_.operations : ~u64{0};
        begin_ticks_ = ticks();
        for (u64 i = 0; i < most && !m.stop.load(std::memory_order_relaxed); ++i) {
            const step s = steps[at];
            if (++at == steps.size()) at = 0;
            auto done = s.what() == action::put ? put(s.record()) : get(s.record());
            if (!done) [[unlikely]] {
                return fail(done.error(), m);
            }
        }
    }

    void load(meeting& m, u64 first, u64 last) {
        begin_ticks_ = ticks();
        for (u64 r = first; r < last && !m.stop.load(std::memory_order_relaxed); ++r) {
            if (auto done = put(r); !done) return fail(done.error(), m);
        }
    }

    void add_to(round_result& sum) const {
        sum.get_ns.merge(get_ns_);
        sum.put_ns.merge(put_ns_);
        sum.cpu_seconds += static_cast<double>(cpu_ns_) / 1e9;
    }
    [[nodiscard]] const std::optional<error>& failed() const { return failed_; }
    [[nodiscard]] u64 begin_ns() const { return begin_ns_; }
    [[nodiscard]] u64 end_ns() const { return end_ns_; }

   private:
    void fail(const error& e, meeting& m) {
        failed_ = e;
        m.stop.store(true);
    }

    /// Ends the operation that began at the end of the previous one.
    void finish(histogram& into) {
        const u64 now = std::max(ticks(), begin_ticks_);
        into.add(static_cast<u64>(static_cast<double>(now - begin_ticks_) * scale_));
        begin_ticks_ = now;
    }

    result<void> get(u64 record) {
        const u64 key = key_of(record);
        auto found = connection_->get(bytes_of(key), value_);
        if (!found) return tl::unexpected(found.error());
        if (!*found) return failure(wrong(record, "it is not there, though it was loaded"));
        if (!belongs_to(value_, record, plan_.value_size)) {
            return failure(wrong(record, "a get returned what was never put there"));
        }
        finish(get_ns_);
        return {};
    }

    result<void> put(u64 record) {
        const u64 key = key_of(record);
        const u64 stamp = notes_.next_stamp(number_);
        const u64 begin = begin_ticks_;
        auto done = connection_->put(bytes_of(key), values_.make(record, stamp));
        if (!done) return done;
        finish(put_ns_);
        if (notes_.watches(record)) notes_.note(number_, record, stamp, begin, begin_ticks_);
        return {};
    }

    contender& contender_;
    ledger& notes_;
    const round_plan& plan_;
    unsigned number_;
    std::unique_ptr<connection> connection_;
    value_maker values_;
    std::string value_;
    u64 begin_ticks_ = 0;
    u64 begin_ns_ = 0;
    u64 end_ns_ = 0;
    u64 cpu_ns_ = 0;
    double scale_ = ns_per_tick();
    histogram get_ns_;
    histogram put_ns_;
    std::optional<error> failed_;
    std::thread thread_;
};

using clients = std::vector<std::unique_ptr<client>>;

/// Stops the clients when the time is over or the user interrupts.
void supervise(meeting& m, std::chrono::milliseconds duration) {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + duration;
    while (m.left.load() != 0 && !interrupted()) {
        const auto rest = duration.count() != 0 ? end - clock::now() : clock::duration::max();
        if (rest <= clock::duration::zero()) break;
        std::this_thread::sleep_for(std::min<clock::duration>(rest, std::chrono::milliseconds(10)));
    }
    m.stop.store(true);
}

template <class Work>
result<round_result> run(contender& c, ledger& notes, const round_plan& plan, Work work) {
    if (auto begun = c.begin(); !begun) return tl::unexpected(begun.error());
    meeting m(plan.clients);
    clients all;
    for (unsigned i = 0; i < plan.clients; ++i) {
        all.push_back(std::make_unique<client>(c, notes, plan, i));
    }
    for (unsigned i = 0; i < plan.clients; ++i) {
        all[i]->start(m, [&m, &work, i](client& me) { work(me, m, i); });
    }
    supervise(m, plan.operations != 0 ? std::chrono::milliseconds(0) : plan.duration);
    for (auto& one : all) one->join();
    const u64 before_sync = now_ns();
    auto durable = c.make_durable();
    const u64 after_sync = now_ns();

    round_result sum;
    u64 begin = ~u64{0};
    u64 end = 0;
    for (const auto& one : all) {
        if (one->failed()) return tl::unexpected(*one->failed());
        begin = std::min(begin, one->begin_ns());
        end = std::max(end, one->end_ns());
        one->add_to(sum);
    }
    if (!durable) return tl::unexpected(durable.error());
    sum.gets = sum.get_ns.count();
    sum.puts = sum.put_ns.count();
    sum.sync_seconds = static_cast<double>(after_sync - before_sync) / 1e9;
    sum.seconds = static_cast<double>(end - begin) / 1e9 + sum.sync_seconds;
    return sum;
}

}  // namespace

result<round_result> run_round(contender& c, ledger& notes, const round_plan& plan) {
    return run(c, notes, plan, [](client& me, meeting& m, unsigned) { me.walk(m); });
}

result<round_result> load_records(contender& c, ledger& notes, u64 records,
                                  const round_plan& plan) {
    round_plan whole = plan;
    whole.duration = {};
    whole.operations = records;
    return run(c, notes, whole, [&](client& me, meeting& m, unsigned i) {
        me.load(m, records * i / plan.clients, records * (i + 1) / plan.clients);
    });
}

result<void> verify(contender& c, const ledger& notes, u32 value_size) {
    auto made = c.connect();
    if (!made) return tl::unexpected(made.error());
    std::string value;
    for (u64 i = 0; i < notes.watched(); ++i) {
        const u64 record = notes.record_at(i);
        const u64 key = key_of(record);
        auto found = (*made)->get(bytes_of(key), value);
        if (!found) return tl::unexpected(found.error());
        if (!*found) return failure(wrong(record, "it is gone"));
        const auto stamp = stamp_of(value, record, value_size);
        if (!stamp) return failure(wrong(record, "its value is none that was ever put"));
        if (const auto why = notes.objection(record, *stamp)) return failure(wrong(record, *why));
    }
    return {};
}

}  // namespace hf::bench
