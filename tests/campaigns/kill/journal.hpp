// tests/campaigns/kill/journal.hpp: a session's reports to its parent, in shared memory, which
// survives a kill.
//
// A writer records a write before it calls the map, and the result after the call: if it is killed
// at any instruction, all results that the map has returned are recorded (a killed process's stores
// are as visible as those of a running one). Each thread has at most one record in flight. The
// records of several sessions accumulate until an observer has read the region; then the judge
// folds them into `known`.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace hf::kill_test {

enum class write_kind : u8 { put, remove };

inline constexpr u64 in_flight = 0;              ///< no ticket yet
inline constexpr u64 changed_nothing = ~u64{0};  ///< in place of a ticket

struct write_record {
    u32 key;
    u32 size;    ///< of the value
    u64 number;  ///< of the value (value.hpp)
    u64 since;   ///< current epoch before the call
    std::atomic<u64> ticket;
    u32 session;
    write_kind kind;
};

/// The state of a key in the region.
struct key_state {
    bool present = false;
    u32 size = 0;
    u64 number = 0;
};

/// The state of a key that an observer found.
struct observation {
    bool present;
    u32 size;
    u64 tag;       ///< the value's first eight bytes, padded with zeros
    u64 checksum;  ///< of the whole value
};

enum class phase : u32 { starting, opening, working, observing, observed, closing, closed };

[[nodiscard]] constexpr std::string_view to_string(phase p) noexcept {
    constexpr std::string_view names[] = {"starting", "opening", "working", "observing",
                                          "observed", "closing", "closed"};
    return names[static_cast<u32>(p)];
}

struct alignas(64) writer_state {
    std::atomic<u32> records{0};
    /// newest epoch that the map reported as durable in this session
    std::atomic<u64> told{0};
    std::atomic<u64> next_number{1};  ///< next number of a value
};

/// Keeps the first complaints: the later ones often follow from them.
class complaints {
   public:
    static constexpr u32 kept = 16;
    static constexpr std::size_t longest = 400;

    void add(std::string_view text) noexcept {
        const u32 at = count_.fetch_add(1);
        if (at < kept) text.copy(texts_[at], std::min(text.size(), longest - 1));
    }
    [[nodiscard]] u32 count() const noexcept { return count_; }
    [[nodiscard]] std::string text(u32 index) const { return texts_[index]; }
    void clear() noexcept {
        for (char(&text)[longest] : texts_) std::fill_n(text, longest, '\0');
        count_ = 0;
    }

   private:
    std::atomic<u32> count_{0};
    char texts_[kept][longest]{};
};

/// The state of the running session.
struct session_state {
    std::atomic<phase> now{phase::starting};
    std::atomic<bool> shall_close{false};
    std::atomic<bool> background_pass{false};  ///< failed epochs are left
    std::atomic<u64> opened_in_ns{0};
    std::atomic<u64> log_entries_applied{0};
    std::atomic<u64> failed_epochs{0};
    std::atomic<bool> audited{false};         ///< for leaks, after a sweep
    std::atomic<bool> stopped_itself{false};  ///< at a persist point
    char persist_point[120]{};

    /// Call before the next session.
    void clear() noexcept {
        now = phase::starting;
        shall_close = false;
        background_pass = false;
        opened_in_ns = 0;
        log_entries_applied = 0;
        failed_epochs = 0;
        audited = false;
        stopped_itself = false;
        std::fill_n(persist_point, sizeof(persist_point), '\0');
    }
};

/// A mapping shared by the campaign and its sessions.
class journal {
   public:
    journal(u32 writers, u32 keys, u32 records_per_writer);
    ~journal();
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    [[nodiscard]] u32 writers() const noexcept { return writers_; }
    [[nodiscard]] u32 keys() const noexcept { return keys_; }
    [[nodiscard]] u32 capacity() const noexcept { return capacity_; }

    [[nodiscard]] session_state& session() const noexcept { return *session_; }
    [[nodiscard]] complaints& wrongs() const noexcept { return *complaints_; }
    [[nodiscard]] writer_state& writer(u32 index) const noexcept { return states_[index]; }
    [[nodiscard]] write_record* records(u32 writer) const noexcept {
        return records_ + std::size_t{writer} * capacity_;
    }
    /// The state of the region when it was last judged.
    [[nodiscard]] key_state* known() const noexcept { return known_; }
    [[nodiscard]] observation* observed() const noexcept { return observed_; }

    /// Resets everything for a new region.
    void clear() noexcept;

   private:
    u32 writers_;
    u32 keys_;
    u32 capacity_;
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    session_state* session_ = nullptr;
    complaints* complaints_ = nullptr;
    writer_state* states_ = nullptr;
    key_state* known_ = nullptr;
    observation* observed_ = nullptr;
    write_record* records_ = nullptr;
};

}  // namespace hf::kill_test
