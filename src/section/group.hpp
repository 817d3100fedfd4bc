// section/group.hpp: the file of a group of regions brought up: epochs, undo log, heap, table.
//
// Purpose. Puts together what a cut needs and makes it. A group is one file (region/), so all its
// named regions have one epoch record, one journal, and one deciding step (rule C3).
//
//   stores     memory                    log                      a cut is durable
//   announced  the file itself           undo, by line            when end_cut() returns
//   announced  private copy of the file  redo journal, by line    when the journal says so
//   tracked    private copy of the file  redo journal, by page    when the journal says so
//
// Announced stores go in place where the medium is memory, unless the options choose a private
// image; on a disk every image is private.
//
// Words that are never announced (HF_TRANSIENT members, section::mutex) have no copy but the one in
// memory. So where stores are announced, private pages are kept until the file is closed; tracked
// stores have every changed byte captured, and their pages are dropped when the budget needs it.
//
// In graph mode stores are announced, and the log is that of section/graph; no cut is made. The
// epoch record serves only to distinguish an orderly close from a crash.
//
// Two modes, one file. The table has the mode of the newest session. A crash can be undone only in
// the mode that has the log, so a file that was not closed in order is refused in the other one.
// After an orderly close neither log has an entry that counts, and either mode may open it.
//  T3  A new mode is durable in the table before the session begins (O1), while the file is clean.
//  The word is written back even if it is right already: a process that was killed may have stored
//  it and not written it back.
//  Before T3 the old mode opens the file, after T3 both do, after O1 only the new one. Without T3 a
//  crash could leave a file that is not clean, with the old mode in its table: recovery would look
//  into the wrong log.
//
// Persist order in place. Let e be the running epoch.
//  U0  the undo entry of a line is durable (first_touch.hpp), then
//  U1  the line is stored to. The gate closes;
//  U2  all lines that were touched in e are written back and fenced;
//  U3  the epoch record says e + 1, durably (epoch/write_back.hpp, E2);
//  U4  tags and logs are empty for e + 1, and the gate opens.
// The gate is closed from U2 to U4, so e + 1 stores to no line while e is written back. A crash
// before U3 leaves e interrupted: recovery applies its log and has the cut before e. After
// U3 the record names e + 1, in which nothing was stored; entries of e carry the number e and are
// not applied.
//
// Recovery in place.
//  R1  the entries of the interrupted epoch are copied back, written back and fenced;
//  O1  then the session begins under a new epoch, in the superblock, and O2 in the epoch record.
//  Cut short before O1, R1 runs again on the same entries: an entry holds the line as it was at the
//  cut, whatever the line holds now, so applying it twice changes nothing.
//
// Growth. A segment that was appended after the last cut survives a crash in place, while the runs
// laid into it do not: its lines go back to zeros, one free run (heap/layout.hpp, H1).
#pragma once

#include <holdfast/section.h>

#include "epoch/epoch_manager.hpp"
#include "section/first_touch.hpp"
#include "section/graph_sections.hpp"
#include "section/heap/heap.hpp"
#include "section/heap/layout.hpp"

#include <memory>
#include <string>
#include <tuple>

namespace hf::section {

struct group_options {
    bool announced = false;
    bool is_private = false;  ///< a redo journal, though the medium is memory
    u64 bytes = u64{64} << 20;
    u64 max_bytes = 0;
    std::string program;
    bool keep_unreachable = false;
    flush_policy flush = flush_policy::automatic;
    group_mode mode = group_mode::epoch;
    graph::graph_options graph = {};  ///< in graph mode
    journal::geometry journal = {};   ///< tests want small ones
    u64 memory = 0;                   ///< as region_options::memory; tests want little
};

class group {
   public:
    /// Opens or creates, recovers, and reclaims memory that no root reaches. `me`: the record of
    /// the calling thread, which is outside; no other thread uses the group yet.
    [[nodiscard]] static result<std::unique_ptr<group>> open(const std::filesystem::path& path,
                                                             const group_options& options,
                                                             thread_record& me);
    group(const group&) = delete;
    group& operator=(const group&) = delete;

    /// True if cut() need not wait for the disk. Call while the gate is still open.
    [[nodiscard]] bool is_ready();
    /// The cut: U2 to U4. The gate is closed. False: the disk is full, and the epoch goes on.
    [[nodiscard]] bool cut(const thread_table& threads);
    /// After the last cut; no thread is inside. Marks the file clean. In graph mode errc::busy: a
    /// thread has ended inside a section.
    [[nodiscard]] result<void> close();

    /// By a thread that is inside.
    [[nodiscard]] change change_by(thread_record& r) noexcept {
        return {r, undo_.get(), graph_.get(), epoch()};
    }
    /// Whether stores go to the file itself.
    [[nodiscard]] bool is_in_place() const noexcept { return !file_->med().is_atomic(); }
    [[nodiscard]] first_touch* undo() noexcept { return undo_.get(); }
    /// For the crash lab: the session is to end without an end.
    void forget_graph() noexcept { std::ignore = graph_.release(); }
    /// nullptr: in epoch mode.
    [[nodiscard]] graph_sections* graph() noexcept { return graph_.get(); }
    [[nodiscard]] u64 epoch() const noexcept { return epochs_->current_epoch(); }
    [[nodiscard]] epoch_manager& epochs() noexcept { return *epochs_; }
    [[nodiscard]] region& file() noexcept { return *file_; }
    [[nodiscard]] heap& memory() noexcept { return *heap_; }
    [[nodiscard]] group_table& table() noexcept { return *file_->at<group_table>(page_bytes); }
    [[nodiscard]] u16 number_of(const region_entry& r) noexcept {
        return static_cast<u16>(&r - table().regions.data());
    }
    /// Whether the address lies in the group's file.
    [[nodiscard]] bool contains(const void* p) const noexcept {
        return file_->offset_of(p) < file_->size();
    }
    [[nodiscard]] u64 undone_lines() const noexcept { return undone_; }
    [[nodiscard]] u64 reclaimed_bytes() const noexcept { return reclaimed_; }

   private:
    group() = default;
    [[nodiscard]] result<void> read_epochs(opened_region& opened);
    [[nodiscard]] result<void> begin_session(const group_options& o, bool in_place);
    [[nodiscard]] result<void> recover();
    [[nodiscard]] result<void> check_table(const group_options& o);
    [[nodiscard]] result<void> check_mode(group_mode wanted);
    void lay_table(const group_options& o);

    std::unique_ptr<region> file_;
    std::unique_ptr<epoch_manager> epochs_;
    std::unique_ptr<first_touch> undo_;  ///< nullptr: stores are found by pages, or in graph mode
    std::unique_ptr<graph_sections> graph_;
    std::unique_ptr<heap> heap_;
    u64 undone_ = 0;
    u64 reclaimed_ = 0;
};

/// Frees every block that no root reaches, following each aligned word that holds an address in a
/// block (conservatively). Returns the bytes freed. By the only thread that is inside.
[[nodiscard]] u64 reclaim_unreachable(heap& h, const group_table& table, change& by);

}  // namespace hf::section
