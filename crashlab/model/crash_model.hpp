// model/crash_model.hpp: the set of states that a crash at one point of a trace can leave.
//
// advance() applies the trace's events one by one. Between two events the model describes the set
// of images: each line separately (model/line.hpp), the file's length and name (old or new until
// synced). A copy of a model is a branch: the effects of a recovery on one image are explored on
// it.
//
// A killed process leaves all its stores in the caches, still possibly volatile; a fence of another
// process does not complete its flushes.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "crashlab/model/line.hpp"
#include "crashlab/trace/recorder.hpp"

#include <array>
#include <map>
#include <vector>

namespace hf::lab {

enum class persistence : u8 {
    pcso,     ///< lines are also written back spontaneously, at any moment: the default
    flushed,  ///< nothing reaches the medium unless it was flushed
    eadr,     ///< caches survive: every store, in order
};

/// A property of a file that a sync makes durable.
struct file_fact {
    u64 sure = 0;
    u64 now = 0;
};

/// A file before the first event.
struct file_start {
    u64 bytes = 0;
    bool linked = false;
};
using file_starts = std::array<file_start, most_files>;

class crash_model {
   public:
    /// `memory`: the content of all lines before the first event; it must outlive the model.
    crash_model(const std::byte* memory, persistence mode, const file_starts& files);
    /// For a single file.
    crash_model(const std::byte* memory, persistence mode, u64 file_bytes, bool linked)
        : crash_model(memory, mode, file_starts{{{file_bytes, linked}}}) {}

    /// Applies the next event; returns the line it concerned, or no_line.
    u64 advance(const event& e);
    static constexpr u64 no_line = ~u64{0};

    [[nodiscard]] const std::map<u64, line_state>& lines() const noexcept { return lines_; }
    [[nodiscard]] const line_state* find(u64 line) const noexcept;
    /// Applies the crash: volatile contents of the machine are lost.
    void forget_volatile();
    /// The state that a program on the running machine sees, with everything durable.
    [[nodiscard]] crash_model as_seen() const;
    /// From now on the line has exactly this version.
    void settle(u64 line, const version& v);

    [[nodiscard]] const file_fact& length(unsigned file = 0) const noexcept {
        return lengths_[file];
    }
    [[nodiscard]] const file_fact& name(unsigned file = 0) const noexcept { return names_[file]; }
    void settle_file(unsigned file, u64 length, bool linked) noexcept;
    [[nodiscard]] persistence mode() const noexcept { return mode_; }
    /// Promises by announced epochs, and by operations that have returned.
    [[nodiscard]] const promised& promises() const noexcept { return promises_; }
    [[nodiscard]] u32 events() const noexcept { return events_; }

   private:
    struct capture {
        u64 line;
        u64 stores;
    };

    line_state& line_at(u64 line);
    void store(const event& e);
    void flush(const event& e);
    void fence(u8 thread);
    void sync(u64 file);
    void kill();
    void end(const event& e);

    const std::byte* memory_;
    persistence mode_;
    std::map<u64, line_state> lines_;
    std::array<std::vector<capture>, max_threads> captured_;
    std::vector<capture> written_;  ///< by system calls
    std::array<file_fact, most_files> lengths_;
    std::array<file_fact, most_files> names_;
    promised promises_;
    u32 events_ = 0;
};

}  // namespace hf::lab
