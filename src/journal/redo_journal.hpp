// journal/redo_journal.hpp: the threads of a journal.
//
// Purpose. While the next epoch runs already, one thread makes the last one durable, and another
//  applies old records to the base file. The boundary only copies lines: it never waits for the
//  disk, as long as the disk keeps up.
// Who waits may write. A thread that ends an epoch in order to wait until it is durable, and for
//  nothing else, writes the record itself if nothing is on its way: two switches of threads would
//  take as long as half a sync of a fast disk. It takes the writing thread's place (is_writing_)
//  for one record. Whatever it can't do at once, for want of room, it leaves to that thread.
// When it does not. There are two captures: one is written, the other may be filled. While both are
//  taken is_ready() is false, the clock lets the epoch grow, and only who must have it ended waits.
//  How many lines an epoch may hold is the dirty set's business.
// Errors. A full file system, be it for a record or for the base: the journal refuses. What was
//  submitted stays where it is and is tried again until there is room; refusal() says why, nobody
//  waits meanwhile, and who closes the region loses what had not become durable, with an error.
//  Everything else, a failed sync above all, is fatal.
// Concurrency. begin() and submit() by one thread at a time, the boundary's leader; write() by the
//  one who was told to; all else by anybody. Records are written and announced by one thread at a
//  time, in their order, whoever that is.
#pragma once

#include "journal/capture.hpp"
#include "journal/copy_gate.hpp"
#include "journal/core.hpp"
#include "persist/persist_point.hpp"

#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>

namespace hf::journal {

class redo_journal {
   public:
    /// Epochs that have ended and are not durable yet, at most.
    static constexpr u64 most_under_way = 2;

    /// Owns both files from here on. The gate is shut while old records are applied.
    [[nodiscard]] static result<std::unique_ptr<redo_journal>> start(
        std::unique_ptr<block_file> journal, std::unique_ptr<block_file> base, const identity& who,
        u64 base_epoch, const geometry& shape, copy_gate gate = {});
    /// Waits for what was submitted, unless the journal refuses.
    ~redo_journal();
    redo_journal(const redo_journal&) = delete;
    redo_journal& operator=(const redo_journal&) = delete;

    /// Called with each epoch that has become durable, and with nullopt when the journal refuses,
    /// by the writing thread; {}: nobody. Returns when no call of the old one is under way.
    void set_listener(std::function<void(std::optional<u64> epoch)> listener);

    [[nodiscard]] bool is_ready() const;
    /// False: the journal refuses.
    [[nodiscard]] bool wait_ready();
    /// Waits until nothing is on its way to the disk, or the journal refuses, or `enough`: which is
    /// asked again whenever an epoch has become durable.
    void wait_idle(const std::function<bool()>& enough);
    /// The capture to fill. Waits if none is free.
    [[nodiscard]] capture& begin();
    /// The filled capture is to become durable.
    void submit();
    /// The same, by one who would only wait for that. True: write() must follow, by the same
    /// thread. False: others see to it.
    [[nodiscard]] bool submit_to_write();
    /// Makes the capture durable. Where there is no room, others try it further. Without memory
    /// the process ends.
    void write() noexcept(!crashes_throw);
    /// Called with the epoch that the base file has by now, by the applying thread, each time it
    /// has applied something. To be set before the first record.
    void set_applied_listener(std::function<void(u64 epoch)> listener);
    /// What is durable is to be applied soon, however empty the journal is. By anybody.
    void ask_to_apply();
    /// Everything submitted is durable, and in the base file. errc::no_space: the journal refuses.
    [[nodiscard]] result<void> apply_all();

    /// The base file has so many bytes now: its length is made durable before the next record.
    void base_has_grown(u64 bytes) noexcept;
    /// Makes the base durable as it is. All syncs of it go this way: a failure is told to one of
    /// them only, and whoever applies old records must not miss it.
    [[nodiscard]] result<void> sync_base() { return base_->sync(); }
    /// Why nothing becomes durable for the time being; nullopt: it does.
    [[nodiscard]] std::optional<error> refusal() const;
    [[nodiscard]] bool is_refusing() const noexcept {
        return refusing_.load(std::memory_order_relaxed);
    }

    [[nodiscard]] const core& numbers() const noexcept { return *core_; }
    [[nodiscard]] u64 last_commit_ns() const noexcept { return last_commit_ns_; }
    /// Lines up to which an epoch is no burden: a quarter of the journal as it is, and not more
    /// than 256 MiB, for they are copied.
    [[nodiscard]] u64 comfortable_lines() const noexcept;

   private:
    redo_journal() = default;
    void write_loop();
    void apply_loop();
    bool commit(capture& c);
    /// What went wrong is that there was no room: all else is fatal.
    [[nodiscard]] result<void> try_commit(const capture& c);
    [[nodiscard]] bool has_a_place(const capture& c);
    void became_durable(capture& c, u64 start);
    bool make_space(bool newest_too);
    void tell(std::optional<u64> epoch);
    void refuse(std::unique_lock<std::mutex>& lock, const error& why);
    void accept();
    void apply_what_is_due(std::unique_lock<std::mutex>& lock);
    bool shut_gate(std::unique_lock<std::mutex>& lock);
    [[nodiscard]] bool should_apply() const;
    [[nodiscard]] u64 worthwhile_segments() const noexcept;
    [[nodiscard]] u64 most_segments() const noexcept;
    /// In use: then they are applied.
    [[nodiscard]] u64 due_segments() const noexcept;

    std::unique_ptr<block_file> journal_;
    std::unique_ptr<block_file> base_;
    std::unique_ptr<core> core_;
    geometry shape_;
    copy_gate gate_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;   ///< there may be something to apply
    std::condition_variable to_write_;  ///< there may be something to write
    std::condition_variable settled_;   ///< an epoch became durable, all is applied, or refused
    capture captures_[most_under_way];
    u64 begun_ = 0;      ///< captures that were begun, submitted and written: numbers, so that
    u64 submitted_ = 0;  ///< captures_[n % most_under_way] is the n-th one's
    u64 written_ = 0;
    bool is_writing_ = false;  ///< somebody writes captures_[written_ % most_under_way]
    bool stopping_ = false;
    bool gave_up_ = false;  ///< stopping_, and what was submitted stays without a place
    bool apply_everything_ = false;
    bool was_asked_ = false;
    bool wants_space_ = false;
    bool apply_newest_too_ = false;  ///< for the space
    std::function<void(std::optional<u64>)> listener_;
    std::function<void(u64)> applied_listener_;
    std::optional<error> refusal_;
    std::optional<error> apply_refusal_;  ///< the base had no room when all was to be applied
    std::atomic<bool> refusing_{false};
    std::atomic<u64> last_commit_ns_{0};
    std::atomic<u64> base_bytes_{0};
    std::mutex listener_mutex_;
    std::thread writer_;
    std::thread applier_;
};

}  // namespace hf::journal
