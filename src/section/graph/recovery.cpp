// section/graph/recovery.cpp: reads the lanes' logs after a crash and undoes what must not stay.
#include "persist/persist_point.hpp"
#include "section/graph/graph.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

namespace hf::graph {
namespace {

/// The old bytes of one store.
struct undo {
    u64 clock;
    u32 lane;
    u64 position;
    u64 section;
    u64 offset;
    u64 bytes;
    u8 size;
};

/// One lane's log as it was found.
struct found_lane {
    lane_history history;
    std::vector<undo> stores;
};

error damaged(const region& r, u64 offset, std::string why) {
    return {errc::corrupt, "undo interrupted sections",
            r.path().string() + " at offset " + std::to_string(offset), std::move(why),
            "restore the file from a backup, or salvage it with `holdfast repair`"};
}

class lane_reader {
   public:
    lane_reader(const region& r, const segment& s, u64 session)
        : region_(r),
          view_(r, s),
          of_{region_seed(r), session, u32{s.owner} - 1},
          at_(s.offset),
          segments_(r.segments()) {}

    [[nodiscard]] result<found_lane> read() {
        const auto kept = unpack_checked(view_.head().kept, kept_seed(of_.region, of_.lane));
        const auto from =
            unpack_checked(view_.head().position, position_seed(of_.region, of_.lane));
        // A segment that was added and never used is all zeros. A crash while its first log was
        // started may have left the first of the two words; no entry was written then (G6).
        const bool is_new = view_.head().kept == 0 || (kept && *kept == 0);
        if (is_new && view_.head().position == 0) return found_lane{};
        if (!kept || !from) {
            return failure(damaged(region_, at_, "the head of a section log has a wrong checksum"));
        }
        found_.history.kept = *kept;
        u64 position = *from;
        for (; position < *from + view_.capacity(); ++position) {
            const log_entry e = entry_at(position);
            if (!is_valid(e, position)) break;
            if (auto ok = take(e, position); !ok) return tl::unexpected(ok.error());
        }
        if (auto ok = check_rest(position, *from + view_.capacity()); !ok) {
            return tl::unexpected(ok.error());
        }
        return std::move(found_);
    }

   private:
    [[nodiscard]] log_entry entry_at(u64 position) const {
        log_entry e;
        std::memcpy(&e, &view_.at(position), sizeof e);
        return e;
    }
    [[nodiscard]] bool is_valid(const log_entry& e, u64 position) const {
        return e.check == entry_check(e, of_, position);
    }

    [[nodiscard]] result<void> take(const log_entry& e, u64 position) {
        if (e.kind == entry_kind::begin) {
            section_ = e.a;
            if (section_ <= found_.history.kept) return {};  // L3
            if (section_ != found_.history.kept + found_.history.sections.size() + 1) {
                return failure(damaged(region_, at_, "a section log skips a section"));
            }
            found_.history.sections.emplace_back();
            return {};
        }
        if (section_ <= found_.history.kept) return {};
        section_facts& s = found_.history.sections.back();
        switch (e.kind) {
            case entry_kind::end:
                s.completed = true;
                return {};
            case entry_kind::depends:
                s.depends_on.push_back({static_cast<u32>(e.a), e.b});
                return {};
            default:
                return take_store(e, position);
        }
    }

    [[nodiscard]] result<void> take_store(const log_entry& e, u64 position) {
        const bool fits = e.size >= 1 && e.size <= max_store_bytes && e.a >= layout::page_size &&
                          e.a < region_.size() && e.size <= region_.size() - e.a;
        const bool is_in_a_log =
            fits && std::any_of(segments_.begin(), segments_.end(), [&](const segment& s) {
                return s.kind == segment_kind::section_log && e.a >= s.offset &&
                       e.a < s.offset + s.bytes();
            });
        if (!fits || is_in_a_log) {
            return failure(damaged(region_, at_, "an undo entry points outside of the data"));
        }
        found_.stores.push_back({e.clock, of_.lane, position, section_, e.a, e.b, e.size});
        return {};
    }

    /// E2: no entry after the first invalid one may say that it had been durable.
    [[nodiscard]] result<void> check_rest(u64 invalid, u64 end) const {
        for (u64 p = invalid + 1; p < end; ++p) {
            const log_entry e = entry_at(p);
            if (!is_valid(e, p)) continue;
            if (e.unfenced < max_unfenced && p - e.unfenced > invalid) {
                return failure(damaged(region_, at_, "an entry of a section log is damaged"));
            }
        }
        return {};
    }

    const region& region_;
    const lane_log_view view_;
    const log_identity of_;
    const u64 at_;
    const std::vector<segment> segments_;
    u64 section_ = 0;
    found_lane found_;
};

/// The session's number; 0: there was none.
result<u64> read_session(const region& r, const std::vector<segment>& logs) {
    const auto control = std::find_if(logs.begin(), logs.end(),
                                      [](const segment& s) { return s.owner == control_owner; });
    if (control == logs.end()) return 0;
    const u64 word = *r.at<u64>(control->offset);
    // Lanes get their logs only after a session has its number.
    if (word == 0 && logs.size() == 1) return 0;
    const auto number = unpack_checked(word, region_seed(r));
    if (!number || *number == 0) {
        return failure(damaged(r, control->offset, "the session's number has a wrong checksum"));
    }
    return *number;
}

/// Later stores first; within a lane by position.
void sort_latest_first(std::vector<undo>& all) {
    std::sort(all.begin(), all.end(), [](const undo& x, const undo& y) {
        if (x.clock != y.clock) return x.clock > y.clock;
        if (x.lane != y.lane) return x.lane > y.lane;
        return x.position > y.position;
    });
}

/// A process that was killed may have made stores outside of sections that needed no entry and were
/// not written back yet. This process reads them, so they become durable before it goes on.
void write_back_data(const region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::heap) r.med().flush(r.at<std::byte>(s.offset), s.bytes());
    }
}

u64 restore(const region& r, const std::vector<undo>& all) {
    u64 bytes = 0;
    for (const undo& u : all) {
        std::memcpy(r.at<std::byte>(u.offset), &u.bytes, u.size);
        r.med().flush(r.at<std::byte>(u.offset), u.size);
        bytes += u.size;
    }
    write_back_data(r);
    r.med().fence();
    HF_PERSIST_POINT("section_graph G5: restored bytes durable before the session's number");
    return bytes;
}

}  // namespace

void empty_logs(region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::section_log) continue;
        if (s.owner == control_owner) {
            auto& word = *r.at<u64>(s.offset);
            if (word != 0 && !unpack_checked(word, region_seed(r))) {
                ordered_store(word, pack_checked(1, region_seed(r)));
            }
            r.med().flush(&word, sizeof word);
            continue;
        }
        lane_head& head = lane_log_view(r, s).head();
        ordered_store(head.kept, 0);
        ordered_store(head.position, 0);
        r.med().flush(&head, sizeof head);
    }
    r.med().fence();
    HF_PERSIST_POINT("section_graph G8: logs of a clean file are empty before it counts as open");
}

result<graph_recovery> recover(region& r) {
    std::vector<segment> logs;
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::section_log) logs.push_back(s);
    }
    const auto session = read_session(r, logs);
    if (!session) return tl::unexpected(session.error());
    graph_recovery done;
    done.session = *session;
    if (*session == 0) return done;

    std::vector<lane_history> histories(max_lanes);
    std::vector<std::vector<undo>> stores(max_lanes);
    for (const segment& s : logs) {
        if (s.owner == control_owner) continue;
        if (s.owner > max_lanes) {
            return failure(damaged(r, s.offset, "a section log belongs to an impossible lane"));
        }
        auto lane = lane_reader(r, s, *session).read();
        if (!lane) return tl::unexpected(lane.error());
        histories[s.owner - 1U] = std::move(lane->history);
        stores[s.owner - 1U] = std::move(lane->stores);
    }
    const std::vector<u64> cut = largest_consistent_cut(histories);
    std::vector<undo> undone;
    for (u32 i = 0; i < max_lanes; ++i) {
        done.sections_undone += histories[i].kept + histories[i].sections.size() - cut[i];
        for (const undo& u : stores[i]) {
            if (u.section > cut[i]) undone.push_back(u);
        }
    }
    sort_latest_first(undone);
    done.bytes_restored = restore(r, undone);
    return done;
}

}  // namespace hf::graph
