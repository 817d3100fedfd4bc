#include "heap_session.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"
#include "dying.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hf::kill_test {

namespace {

using std::chrono::microseconds;

class heap_session {
   public:
    heap_session(const heap_plan& plan, heap_journal& record, std::vector<desk_model> models)
        : plan_(plan), record_(record), models_(std::move(models)) {}

    int work();

   private:
    bool open();
    bool furnish();
    void judge();
    bool judge_desk(u32 w);
    void write(u32 w, const std::atomic<bool>& stop);
    void give_up_first(u32 w, u64 number, u64 drawn);
    void complain(const std::string& text) {
        record_.wrongs.add("session " + std::to_string(plan_.number) + ": " + text);
    }
    /// Reports the error of a call that must succeed.
    template <class R>
    bool went_well(const R& r, std::string_view what) {
        if (!r) complain(std::string(what) + ": " + r.error().to_string());
        return static_cast<bool>(r);
    }

    const heap_plan& plan_;
    heap_journal& record_;
    std::vector<desk_model> models_;
    std::optional<nv::heap<>> heap_;
    std::optional<nv::root<hall>> all_;
};

bool heap_session::open() {
    record_.session.now = phase::opening;
    const u64 began = now_ns();
    auto opened = nv::heap<>::open(plan_.file, plan_.options);
    if (!went_well(opened, "it could not open the heap")) return false;
    record_.session.opened_in_ns = now_ns() - began;
    record_.session.log_entries_applied = opened->numbers().recovered_records;
    heap_.emplace(std::move(*opened));
    auto root = heap_->root<hall>("hall");
    if (!went_well(root, "it found no root")) return false;
    all_.emplace(*root);
    return furnish();
}

/// Creates the roots, in one transaction, in the first session that gets this far.
bool heap_session::furnish() {
    return went_well(heap_->atomic([&](nv::tx<>& tx) {
        if (*all_) return;
        all_->set(tx, tx.make<hall>());
        const auto made = all_->get();
        for (u32 i = 0; i < accounts; ++i) made->money[i].set(tx, in_an_account);
        for (u32 w = 0; w < plan_.writers; ++w) made->desks[w].set(tx, tx.make<desk>());
    }),
                     "it could not make its desks");
}

bool heap_session::judge_desk(u32 w) {
    const std::string name = "writer " + std::to_string(w);
    const u64 returned = record_.returned[w];
    std::string text;
    u64 done = 0;
    const auto looked = heap_->read([&](nv::tx<>&) {
        const auto mine = all_->get()->desks[w].get();
        done = mine->done;
        if (done < returned || done > returned + 1) {
            text = "has done " + std::to_string(done) + " strokes, of which " +
                   std::to_string(returned) + " were told";
            return;
        }
        desk_model& model = models_[w];
        while (model.done < done) model.run(stroke_of(plan_.seed, w, model.done + 1));
        text = difference(*mine, model);
    });
    if (!went_well(looked, name)) return false;
    if (!text.empty()) complain(name + ", " + std::to_string(done) + " strokes: " + text);
    record_.settled[w] = done;
    return text.empty();
}

void heap_session::judge() {
    record_.session.now = phase::observing;
    for (u32 w = 0; w < plan_.writers; ++w) {
        if (!judge_desk(w)) return;
    }
    u64 sum = 0;
    const auto counted = heap_->read([&](nv::tx<>&) { sum = sum_of_money(*all_->get()); });
    if (!went_well(counted, "the accounts")) return;
    if (sum != accounts * in_an_account) complain("the accounts' sum is " + std::to_string(sum));
    const auto report = heap_->check();
    if (!went_well(report, "check()")) return;
    for (const std::string& v : report->violations) complain("check(): " + v);
    if (report->unreachable != 0 || report->orphans != 0 || report->doomed != 0) {
        complain("check(): " + std::to_string(report->unreachable) + " objects leaked, " +
                 std::to_string(report->orphans) + " orphans and " +
                 std::to_string(report->doomed) + " dead ones left");
    }
    record_.objects = report->objects;
    record_.judged = true;
}

/// A transaction without a commit must have no effect: sometimes runs one with other strokes that
/// aborts or throws first.
void heap_session::give_up_first(u32 w, u64 number, u64 drawn) {
    const auto half_done = [&](nv::tx<>& tx) {
        const auto all = all_->get();
        for (u64 i = 0; i < 3; ++i) {
            run(tx, *all, *all->desks[w].get(), stroke_of(plan_.seed, w, number + 1000 + i));
        }
    };
    if (drawn % 2 == 0) {
        const auto ended = heap_->atomic([&](nv::tx<>& tx) {
            half_done(tx);
            tx.abort();
        });
        if (ended || ended.error().code != errc::aborted) complain("abort() did not abort");
        return;
    }
    try {
        (void)heap_->atomic([&](nv::tx<>& tx) {
            half_done(tx);
            throw std::runtime_error("half done");
        });
        complain("an exception did not come out of atomic()");
    } catch (const std::runtime_error&) {  // expected
    }
}

void heap_session::write(u32 w, const std::atomic<bool>& stop) {
    u64 number = 0;
    if (!went_well(heap_->read([&](nv::tx<>&) { number = all_->get()->desks[w].get()->done; }),
                   "a desk")) {
        return;
    }
    if (number < record_.returned[w]) {
        return complain("writer " + std::to_string(w) + ": " + std::to_string(number) +
                        " strokes are there, of which " + std::to_string(record_.returned[w]) +
                        " were told");
    }
    record_.returned[w] = number;
    splitmix64 random(plan_.seed + plan_.number * most_writers + w);
    // Objects that may be destroyed in the heap, but are kept alive by these references.
    std::array<nv::ref<thing>, 8> kept;
    while (!stop && record_.wrongs.count() == 0) {
        const stroke s = stroke_of(plan_.seed, w, ++number);
        if (random() % 64 == 0) give_up_first(w, number, random());
        const u64 place = random() % (4 * kept.size());
        const auto done = heap_->atomic([&](nv::tx<>& tx) {
            const auto all = all_->get();
            run(tx, *all, *all->desks[w].get(), s);
            if (place >= kept.size()) return;
            const auto t = all->desks[w].get()->things.find(s.key);
            if (t) kept[place] = t->value.get();
        });
        if (!went_well(done, "a stroke")) return;
        record_.returned[w] = number;
        if (random() % 256 != 0) continue;
        u64 sum = 0;
        if (!went_well(heap_->read([&](nv::tx<>&) { sum = sum_of_money(*all_->get()); }),
                       "the accounts")) {
            return;
        }
        if (sum != accounts * in_an_account) {
            complain("a transaction saw the accounts' sum as " + std::to_string(sum));
        }
    }
}

int heap_session::work() {
    if (plan_.stops_at_points) stop_at_points(record_.session, plan_.die_at_point);
    if (!open()) return 1;
    if (plan_.judges) judge();
    std::atomic<bool> stop{false};
    record_.session.now = phase::working;
    {
        std::vector<std::jthread> threads;
        for (u32 w = 0; w < plan_.writers; ++w) {
            threads.emplace_back([this, w, &stop] { write(w, stop); });
        }
        while (!record_.session.shall_close) std::this_thread::sleep_for(microseconds(200));
        stop = true;
    }
    record_.session.now = phase::closing;
    all_.reset();
    if (!went_well(heap_->close(), "it could not close the heap")) return 1;
    record_.session.now = phase::closed;
    return 0;
}

}  // namespace

int work_on_heap(const heap_plan& plan, heap_journal& record, std::vector<desk_model> models) {
    return heap_session(plan, record, std::move(models)).work();
}

}  // namespace hf::kill_test
