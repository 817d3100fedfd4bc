#include "judge.hpp"

#include "base/checksum.hpp"

#include <algorithm>

namespace hf::kill_test {

namespace {

constexpr int before_all = -1;  ///< the state before the history

/// The bounds of a session's E, with their reasons.
struct bounds {
    u64 at_least = 0;
    u64 less_than = ~u64{0};
    std::string because_of;  ///< reason for at_least
    std::string and_yet;     ///< reason for less_than
};

class court {
   public:
    court(const case_file& all, const value_maker& values)
        : all_(all), values_(values), bounds_(all.sessions.size()), newest_(all.sessions.size()) {}

    verdict hold(key_state* settled) {
        look_at_sessions();
        const auto keys = static_cast<u32>(all_.history.size());
        std::vector<u32> open;
        for (u32 key = 0; key < keys; ++key) {
            std::vector<int> could_be = explanations(key);
            settled[key] = state(key, could_be.empty() ? before_all : could_be.back());
            if (could_be.empty()) {
                accuse_of_nonsense(key);
            } else if (could_be.size() == 1) {
                settle(key, could_be.front());
            } else {
                open.push_back(key);
            }
        }
        settle_rest(open, settled);
        for (u32 s = 0; s < bounds_.size(); ++s) weigh(s);
        return std::move(out_);
    }

   private:
    void look_at_sessions() {
        std::vector<u64> oldest(bounds_.size(), ~u64{0});
        for (const auto& of_key : all_.history) {
            for (const past_write& w : of_key) {
                ++out_.writes;
                if (w.ticket == in_flight) {
                    ++out_.unsettled;
                    continue;
                }
                newest_[w.session] = std::max(newest_[w.session], w.ticket);
                oldest[w.session] = std::min(oldest[w.session], w.ticket);
            }
        }
        u64 youngest = 0;
        for (u32 s = 0; s < bounds_.size(); ++s) {
            const past_session& session = all_.sessions[s];
            if (oldest[s] <= youngest) {
                accuse("session " + std::to_string(s) + " wrote in epoch " +
                       std::to_string(oldest[s]) + ", but an earlier one had come to epoch " +
                       std::to_string(youngest));
            }
            youngest = std::max({youngest, newest_[s], session.told});
            bounds_[s].at_least =
                session.closed ? std::max(newest_[s], session.told) : session.told;
            bounds_[s].because_of =
                session.closed ? "the map was closed cleanly" : "the map called that epoch durable";
        }
    }

    /// The points of a key's history that explain the found state, oldest first.
    std::vector<int> explanations(u32 key) const {
        std::vector<int> fit;
        for (int at = before_all; at < std::ssize(all_.history[key]); ++at) {
            if (explains(state(key, at), key)) fit.push_back(at);
        }
        return fit;
    }

    [[nodiscard]] key_state state(u32 key, int at) const {
        if (at == before_all) return all_.known[key];
        const past_write& w = all_.history[key][static_cast<std::size_t>(at)];
        if (w.kind == write_kind::remove) return {};
        return {true, w.id.size, w.id.number};
    }

    [[nodiscard]] bool explains(const key_state& s, u32 key) const {
        const observation& found = all_.found[key];
        if (s.present != found.present) return false;
        if (!s.present) return true;
        if (s.size != found.size) return false;
        const value_id id{key, s.size, s.number};
        u64 tag = values_.tag(id);
        if (s.size < sizeof(tag)) tag &= (u64{1} << (8 * s.size)) - 1;
        if (tag != found.tag) return false;
        std::string bytes;
        values_.write(id, bytes);
        return checksum64(bytes.data(), bytes.size()) == found.checksum;
    }

    /// Applies J2 to a key whose state is that after write `at`.
    void settle(u32 key, int at) {
        const auto& writes = all_.history[key];
        if (at != before_all) {
            const past_write& w = writes[static_cast<std::size_t>(at)];
            bounds& b = bounds_[w.session];
            const bool acknowledged = w.ticket != in_flight;
            const u64 epoch = acknowledged ? w.ticket : w.since;
            out_.kept_in_flight += acknowledged ? 0 : 1;
            if (epoch > b.at_least) {
                b.at_least = epoch;
                b.because_of = describe(key, w) + " is there";
            }
        }
        for (std::size_t i = static_cast<std::size_t>(at + 1); i < writes.size(); ++i) {
            const past_write& w = writes[i];
            if (w.ticket == in_flight) continue;
            ++out_.lost;
            bounds& b = bounds_[w.session];
            if (w.ticket < b.less_than) {
                b.less_than = w.ticket;
                b.and_yet = describe(key, w) + " is lost; found: " + describe_found(key);
            }
        }
    }

    /// Whether J2 would hold without tightening a bound into a contradiction.
    [[nodiscard]] bool fits_bounds(u32 key, int at) const {
        const auto& writes = all_.history[key];
        if (at != before_all) {
            const past_write& w = writes[static_cast<std::size_t>(at)];
            const u64 epoch = w.ticket != in_flight ? w.ticket : w.since;
            if (epoch >= bounds_[w.session].less_than) return false;
        }
        return std::all_of(writes.begin() + at + 1, writes.end(), [&](const past_write& w) {
            return w.ticket == in_flight || w.ticket > bounds_[w.session].at_least;
        });
    }

    /// Keys with several possible points in their history (a key removed twice, an empty value put
    /// twice): the other keys have bounded E, and points outside of the bounds are excluded.
    void settle_rest(std::vector<u32> open, key_state* settled) {
        for (bool progress = true; progress;) {
            progress = false;
            std::erase_if(open, [&](u32 key) {
                const std::vector<int> could_be = explanations(key);
                std::vector<int> fit;
                std::copy_if(could_be.begin(), could_be.end(), std::back_inserter(fit),
                             [&](int at) { return fits_bounds(key, at); });
                if (fit.size() > 1) return false;
                const int at = fit.empty() ? could_be.back() : fit.front();
                settle(key, at);
                settled[key] = state(key, at);
                progress = true;
                return true;
            });
        }
    }

    /// Applies J2, J3 and J4 to one session.
    void weigh(u32 s) {
        const bounds& b = bounds_[s];
        if (b.less_than == ~u64{0}) return;
        const std::string where = "session " + std::to_string(s) + ": ";
        if (b.less_than <= b.at_least) {
            accuse(where + b.and_yet + "; but E >= " + std::to_string(b.at_least) + ", because " +
                   b.because_of);
        } else if (b.less_than + all_.may_lose - 1 < newest_[s]) {
            accuse(where + b.and_yet + "; but the session had come to epoch " +
                   std::to_string(newest_[s]) + ", and no more than the last " +
                   std::to_string(all_.may_lose) + " may be lost");
        }
    }

    void accuse_of_nonsense(u32 key) {
        std::string text = "key " + std::to_string(key) + " " + all_.name_of(key) +
                           ": no write explains what was found: " + describe_found(key) +
                           "; known before: " + describe(all_.known[key]) + "; then:";
        const auto& writes = all_.history[key];
        const std::size_t from = writes.size() > 4 ? writes.size() - 4 : 0;
        if (from > 0) text += " ...";
        for (std::size_t i = from; i < writes.size(); ++i) {
            text += " " + describe(state(key, static_cast<int>(i))) + " in epoch " +
                    (writes[i].ticket == in_flight ? "?" : std::to_string(writes[i].ticket)) + ",";
        }
        accuse(text);
    }

    void accuse(std::string text) { out_.violations.push_back(std::move(text)); }

    [[nodiscard]] static std::string describe(const key_state& s) {
        if (!s.present) return "nothing";
        return "write " + std::to_string(s.number) + " (" + std::to_string(s.size) + " bytes)";
    }

    [[nodiscard]] std::string describe(u32 key, const past_write& w) const {
        return (w.kind == write_kind::remove ? std::string("the removal")
                                             : describe(key_state{true, w.id.size, w.id.number})) +
               " of key " + std::to_string(key) + " " + all_.name_of(key) + " in epoch " +
               (w.ticket == in_flight ? ">= " + std::to_string(w.since) : std::to_string(w.ticket));
    }

    [[nodiscard]] std::string describe_found(u32 key) const {
        const observation& found = all_.found[key];
        if (!found.present) return "nothing";
        const std::vector<int> fit = explanations(key);
        if (!fit.empty()) return describe(state(key, fit.back()));
        return "a value of " + std::to_string(found.size) + " bytes";
    }

    const case_file& all_;
    const value_maker& values_;
    std::vector<bounds> bounds_;
    std::vector<u64> newest_;  ///< newest ticket of each session
    verdict out_;
};

}  // namespace

verdict judge(const case_file& all, const value_maker& values, key_state* settled) {
    return court(all, values).hold(settled);
}

std::vector<std::vector<past_write>> histories(const journal& record) {
    std::vector<std::vector<past_write>> of(record.keys());
    for (u32 w = 0; w < record.writers(); ++w) {
        const u32 count = record.writer(w).records.load(std::memory_order_acquire);
        for (u32 i = 0; i < count; ++i) {
            const write_record& r = record.records(w)[i];
            const u64 ticket = r.ticket.load(std::memory_order_acquire);
            if (ticket == changed_nothing) continue;
            of[r.key].push_back({r.session, r.kind, {r.key, r.size, r.number}, r.since, ticket});
        }
    }
    return of;
}

}  // namespace hf::kill_test
