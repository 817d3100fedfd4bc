#include "writer.hpp"

#include "index/masstree/cell.hpp"

namespace hf::kill_test {

writer::writer(map& target, journal& record, const key_set& keys, const value_maker& values,
               u32 index, u32 session, u64 seed, bool small_values)
    : map_(target),
      journal_(record),
      keys_(keys),
      values_(values),
      own_(keys.of(index)),
      index_(index),
      session_(session),
      random_(seed),
      beliefs_(keys.size()),
      is_ordered_(map_.is_ordered()),
      small_values_(small_values) {
    for (const u32 key : own_) {
        const key_state& known = journal_.known()[key];
        of(key) = {known.present ? sureness::present : sureness::absent, known.size, known.number};
    }
    choose_mixture();
    if (has_no_epochs()) journal_.writer(index).told = only_epoch();
    const u32 unjudged = journal_.writer(index).records;
    for (u32 i = 0; i < unjudged; ++i) of(journal_.records(index)[i].key) = {};
}

/// Each session has its own mixture: some only write, some mostly empty nodes, ...
void writer::choose_mixture() {
    mixture_ = {{40, &writer::mixed_stroke}, {20, &writer::hot_stroke},
                {20, &writer::fill_stroke},  {20, &writer::drain_stroke},
                {15, &writer::churn_stroke}, {4, &writer::large_stroke},
                {4, &writer::scan_stroke},   {1, &writer::wait_stroke}};
    for (choice& c : mixture_) {
        c.weight *= random_.below(4);
        total_weight_ += c.weight;
    }
    if (total_weight_ == 0) total_weight_ = mixture_.front().weight = 1;
}

void writer::run(const std::atomic<bool>& stop, u64 strokes) {
    for (; strokes > 0 && !stop.load(std::memory_order_relaxed) && !full(); --strokes) {
        u64 drawn = random_.below(total_weight_);
        auto chosen = mixture_.begin();
        for (; drawn >= chosen->weight; ++chosen) drawn -= chosen->weight;
        (this->*chosen->work)();
    }
}

// ------------------------------------------------------------------------------------------
// strokes

void writer::mixed_stroke() {
    for (u64 n = 1 + random_.below(100); n > 0; --n) any_operation(any_key());
}

/// Repeatedly writes the same few keys: many writes of a node in one epoch, and across its end.
void writer::hot_stroke() {
    u32 hot[4];
    for (u32& key : hot) key = any_key();
    for (u64 n = 1 + random_.below(60); n > 0; --n) any_operation(hot[random_.below(4)]);
}

/// Inserts neighbours in order: splits.
void writer::fill_stroke() {
    u64 at = random_.below(own_.size());
    for (u64 n = 1 + random_.below(120); n > 0 && at < own_.size(); --n) {
        put(own_[at++], any_size());
    }
}

/// Removes neighbours in order: empty nodes and layers.
void writer::drain_stroke() {
    u64 at = random_.below(own_.size());
    for (u64 n = 1 + random_.below(200); n > 0 && at < own_.size(); --n) remove(own_[at++]);
}

/// Removes and inserts: slots and blocks that are freed and reused in one epoch.
void writer::churn_stroke() {
    const u32 key = any_key();
    const u32 size = any_size();
    for (u64 n = 1 + random_.below(12); n > 0; --n) {
        put(key, size);
        remove(key);
    }
}

void writer::large_stroke() {
    const std::vector<u32>& large = keys_.large_of(index_);
    const u32 key = large[random_.below(large.size())];
    const u64 drawn = random_.below(10);
    if (drawn < 2) return remove(key);
    if (drawn < 3) return get(key);
    u64 size = (u64{100} << 10) + random_.below(u64{400} << 10);
    if (drawn == 9) size = random_.below(u64{2} << 20);
    // Close to the size limit between blocks and extents.
    if (drawn < 6) size = (u64{64} << 10) - 400 + random_.below(800);
    if (drawn == 8) return put_if(key, static_cast<u32>(size), chance(70));
    put(key, static_cast<u32>(size));
}

/// Scans up or down from a random key. The writer's own keys must be as expected.
void writer::scan_stroke() {
    if (!is_ordered_) return walk_stroke();
    const bool forward = chance(50);
    const u32 first = static_cast<u32>(random_.below(keys_.size()));
    const std::string from(keys_[first]);
    u64 left = 1 + random_.below(400);
    // The next own key that the scan must visit.
    auto own = std::lower_bound(own_.begin(), own_.end(), first) - own_.begin();
    if (!forward && (own == std::ssize(own_) || own_[own] != first)) --own;
    std::optional<u32> last;
    const auto pass_own = [&](u32 key) {
        for (; own >= 0 && own < std::ssize(own_); own += forward ? 1 : -1) {
            const u32 mine = own_[own];
            if (forward ? mine >= key : mine <= key) break;
            check_read(mine, std::nullopt, forward ? "scan" : "scan_backward");
        }
    };
    const auto visit = [&](std::string_view key, std::string_view value) {
        const auto number = keys_.find(key);
        if (!number) {
            complain(first, "a scan met the key " + printable(key) + ", which nobody ever wrote");
            return false;
        }
        if (last && (forward ? *number <= *last : *number >= *last)) {
            complain(*number, "a scan met it after " + printable(keys_[*last]));
            return false;
        }
        last = number;
        pass_own(*number);
        if (own >= 0 && own < std::ssize(own_) && own_[own] == *number) {
            check_read(*number, value, forward ? "scan" : "scan_backward");
            own += forward ? 1 : -1;
        } else if (value.size() >= self_describing_size && !values_.read(*number, value)) {
            complain(*number, "a scan met a value of " + std::to_string(value.size()) +
                                  " bytes that is no whole value of this key");
        }
        return --left > 0;
    };
    const auto done = forward ? map_.scan(from, visit) : map_.scan_backward(from, visit);
    if (!done) complain(first, "the scan from here failed: " + done.error().to_string());
    if (done && left > 0) pass_own(forward ? keys_.size() : 0);
}

/// Visits everything, in the index's own order.
void writer::walk_stroke() {
    std::vector<bool> met(keys_.size());
    const auto visit = [&](std::string_view key, std::string_view value) {
        const auto number = keys_.find(key);
        if (!number) {
            complain(0, "a walk met the key " + printable(key) + ", which nobody ever wrote");
        } else if (std::binary_search(own_.begin(), own_.end(), *number)) {
            if (met[*number]) complain(*number, "a walk met it twice");
            met[*number] = true;
            check_read(*number, value, "walk");
        } else if (value.size() >= self_describing_size && !values_.read(*number, value)) {
            complain(*number, "a walk met a value of " + std::to_string(value.size()) +
                                  " bytes that is no whole value of this key");
        }
        return true;
    };
    std::string cursor;
    do {
        const auto done = map_.walk(cursor, 1000, visit);
        if (!done) return complain(0, "a walk failed: " + done.error().to_string());
    } while (!cursor.empty());
    for (const u32 key : own_) {
        if (!met[key]) check_read(key, std::nullopt, "walk");
    }
}

void writer::wait_stroke() {
    if (last_ticket_ == 0 || has_no_epochs()) return;
    const auto done = chance(70) ? map_.wait_durable(last_ticket_) : map_.sync();
    if (!done) complain(any_key(), "waiting failed: " + done.error().to_string());
    // Durable by this call, whatever durable_epoch() returns.
    writer_state& mine = journal_.writer(index_);
    if (mine.told < last_ticket_) mine.told.store(last_ticket_, std::memory_order_release);
    if (map_.durable_epoch() < last_ticket_) {
        complain(any_key(), "epoch " + std::to_string(last_ticket_) +
                                " was waited for, but the durable epoch is still " +
                                std::to_string(map_.durable_epoch()));
    }
}

// ---------------------------------------------------------------------------------------
// operations

void writer::any_operation(u32 key) {
    const u64 drawn = random_.below(100);
    if (drawn < 50) return put(key, any_size());
    if (drawn < 65) return remove(key);
    if (drawn < 78) return modify(key, any_size());
    if (drawn < 88) return put_if(key, any_size(), chance(70));
    get(key);
}

void writer::put(u32 key, u32 size) {
    if (full()) return;
    const value_id id = next_value(key, size);
    values_.write(id, value_);
    write_record& w = begin(write_kind::put, id);
    finish(w, map_.put(keys_[key], value_), true);
}

void writer::put_if(u32 key, u32 size, bool wanted) {
    if (full()) return;
    const value_id id = next_value(key, size);
    values_.write(id, value_);
    const auto condition = [&](std::optional<std::string_view> old) {
        check_read(key, old, "put_if");
        return wanted;
    };
    if (!wanted) {  // without a record: this value must never be found
        const auto done = map_.put_if(keys_[key], value_, condition);
        if (!done) return complain(key, "put_if failed: " + done.error().to_string());
        return check_outcome(key, *done, false);
    }
    write_record& w = begin(write_kind::put, id);
    finish(w, map_.put_if(keys_[key], value_, condition), true);
}

void writer::remove(u32 key) {
    if (full()) return;
    const bool there = of(key).sure != sureness::absent;
    write_record& w = begin(write_kind::remove, {key, 0, 0});
    if (chance(30)) {
        const auto condition = [&](std::string_view old) {
            check_read(key, old, "remove_if");
            return true;
        };
        return finish(w, map_.remove_if(keys_[key], condition), there);
    }
    finish(w, map_.remove(keys_[key]), there);
}

/// Replaces, removes or keeps the existing value.
void writer::modify(u32 key, u32 size) {
    if (full()) return;
    const u64 drawn = random_.below(10);
    const map::edit what = drawn < 8   ? map::edit::replace
                           : drawn < 9 ? map::edit::remove
                                       : map::edit::keep;
    const value_id id = next_value(key, size);
    const auto change = [&](std::optional<std::string_view> old, std::string& fresh) {
        check_read(key, old, "modify");
        if (what == map::edit::replace) values_.write(id, fresh);
        return what;
    };
    if (what == map::edit::keep) {
        const auto done = map_.modify(keys_[key], change);
        if (!done) return complain(key, "modify failed: " + done.error().to_string());
        return check_outcome(key, *done, false);
    }
    const bool removes = what == map::edit::remove;
    const bool there = of(key).sure != sureness::absent;
    write_record& w = begin(removes ? write_kind::remove : write_kind::put, id);
    finish(w, map_.modify(keys_[key], change), !removes || there);
}

void writer::get(u32 key) {
    const auto found = map_.get(keys_[key], read_);
    if (!found) return complain(key, "get failed: " + found.error().to_string());
    check_read(key, *found ? std::optional<std::string_view>(read_) : std::nullopt, "get");
}

// ------------------------------------------------------------------------------------------
// records

value_id writer::next_value(u32 key, u32 size) {
    const u64 n = journal_.writer(index_).next_number.fetch_add(1, std::memory_order_relaxed);
    return {key, size, n * journal_.writers() + index_};
}

write_record& writer::begin(write_kind kind, const value_id& id) {
    writer_state& mine = journal_.writer(index_);
    const u32 at = mine.records.load(std::memory_order_relaxed);
    write_record& w = journal_.records(index_)[at];
    w.key = id.key;
    w.size = id.size;
    w.number = id.number;
    w.since = current_epoch();
    w.ticket.store(in_flight, std::memory_order_relaxed);
    w.session = session_;
    w.kind = kind;
    mine.records.store(at + 1, std::memory_order_release);
    return w;
}

void writer::finish(write_record& w, const result<write_outcome>& done, bool change_expected) {
    if (!done) return complain(w.key, "a write failed: " + done.error().to_string());
    const u64 written_in = has_no_epochs() ? only_epoch() : done->written_in;
    w.ticket.store(done->changed ? written_in : changed_nothing, std::memory_order_release);
    check_outcome(w.key, *done, change_expected);
    check_ticket(w, written_in);
    last_ticket_ = written_in;
    const bool there = w.kind == write_kind::put;
    of(w.key) = {there ? sureness::present : sureness::absent, w.size, w.number};
    note_durable();
}

u64 writer::current_epoch() const { return has_no_epochs() ? only_epoch() : map_.current_epoch(); }

void writer::check_ticket(const write_record& w, u64 written_in) {
    if (written_in >= w.since && written_in >= last_ticket_ && written_in <= current_epoch()) {
        return;
    }
    complain(w.key, "the ticket says epoch " + std::to_string(written_in) +
                        "; the one before said " + std::to_string(last_ticket_) + ", and epoch " +
                        std::to_string(w.since) + " was running already");
}

void writer::check_outcome(u32 key, const write_outcome& done, bool change_expected) {
    const sureness sure = of(key).sure;
    if (sure == sureness::unknown) return;
    if (done.existed != (sure == sureness::present)) {
        complain(key, done.existed ? "a write found it, though it was removed"
                                   : "a write did not find it, though it was put");
    }
    if (done.changed != change_expected) {
        complain(key, done.changed ? "a write changed it against its condition"
                                   : "a write says that it changed nothing");
    }
}

void writer::note_durable() {
    if (has_no_epochs()) return;  // it was recorded before the write
    writer_state& mine = journal_.writer(index_);
    const u64 durable = map_.durable_epoch();
    if (mine.told.load(std::memory_order_relaxed) < durable) {
        mine.told.store(durable, std::memory_order_release);
    }
}

void writer::check_read(u32 key, std::optional<std::string_view> found, const char* where) {
    const belief& b = of(key);
    if (b.sure == sureness::unknown) return;
    const bool right =
        found ? b.sure == sureness::present && values_.is_value_of({key, b.size, b.number}, *found)
              : b.sure == sureness::absent;
    if (right) return;
    std::string text = std::string(where) + " found ";
    if (found) {
        text += "a value of " + std::to_string(found->size()) + " bytes";
        const auto id = values_.read(key, *found);
        text += id ? " (write " + std::to_string(id->number) + ")" : "";
    } else {
        text += "nothing";
    }
    text += b.sure == sureness::absent
                ? ", but it was removed"
                : ", but write " + std::to_string(b.number) + " put " + std::to_string(b.size);
    complain(key, text);
}

void writer::complain(u32 key, const std::string& what) {
    journal_.wrongs().add("session " + std::to_string(session_) + ", writer " +
                          std::to_string(index_) + ", key " + std::to_string(key) + " " +
                          printable(keys_[key]) + ": " + what);
}

u32 writer::any_key() { return own_[random_.below(own_.size())]; }

u32 writer::any_size() {
    if (small_values_ && chance(70)) {
        constexpr u32 longest = masstree_detail::cell_kind::longest;
        return chance(60) ? longest : static_cast<u32>(random_.below(longest + 2));
    }
    const u64 drawn = random_.below(100);
    if (drawn < 10) return static_cast<u32>(random_.below(8));
    if (drawn < 60) return static_cast<u32>(8 + random_.below(100));
    if (drawn < 92) return static_cast<u32>(100 + random_.below(900));
    return static_cast<u32>(1000 + random_.below(5000));
}

bool writer::full() const noexcept {
    return journal_.writer(index_).records.load(std::memory_order_relaxed) >= journal_.capacity();
}

}  // namespace hf::kill_test
