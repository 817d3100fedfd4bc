// journal/redo_journal.hpp: the threads of a journal.
//
// Purpose. While the next epoch is already running, one thread makes the last one durable, and
// another applies old records to the base file. The boundary only copies lines: it does not wait
// for the disk, as long as the disk keeps up.
// Writing by a waiting thread. A thread that ends an epoch only to wait until it is durable writes
// the record itself, if no other write is in flight: two thread switches would take half as long as
// a sync of a fast disk. It takes the writing thread's role (is_writing_) for one record. A write
// that it cannot complete at once, for lack of space, is left to the writing thread.
// Slow disk. There are two captures: one is written, the other may be filled. While both are in use
// is_ready() is false, the clock lets the epoch grow, and only a thread that must end the epoch
// waits. The number of lines in an epoch is bounded by the dirty set.
// Errors. A full file system, for a record or for the base: the journal is out of space
// ("refuses"). Submitted captures are kept and retried until there is space; refusal() returns the
// reason, no thread waits meanwhile, and closing the region loses, with an error, what has not
// become durable. All other errors, failed syncs above all, are fatal.
// Concurrency. begin() and submit() by one thread at a time, the boundary's leader; write() by the
// thread for which submit_to_write() returned true; the rest by any thread. Records are written and
// announced by one thread at a time, in order.
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
    /// Maximum number of epochs that have ended and are not durable yet.
    static constexpr u64 most_under_way = 2;

    /// Takes ownership of both files. The gate is shut while old records are applied.
    [[nodiscard]] static result<std::unique_ptr<redo_journal>> start(
        std::unique_ptr<block_file> journal, std::unique_ptr<block_file> base, const identity& who,
        u64 base_epoch, const geometry& shape, copy_gate gate = {});
    /// Waits until everything submitted is durable, unless the journal is out of space.
    ~redo_journal();
    redo_journal(const redo_journal&) = delete;
    redo_journal& operator=(const redo_journal&) = delete;

    /// The listener is called by the writing thread with each epoch that has become durable, and
    /// with nullopt when the journal is out of space; {}: no listener. Returns when no call of the
    /// old listener is running.
    void set_listener(std::function<void(std::optional<u64> epoch)> listener);

    [[nodiscard]] bool is_ready() const;
    /// Waits until is_ready(). False: the journal is out of space.
    [[nodiscard]] bool wait_ready();
    /// Waits until no write is in flight, the journal is out of space, or enough() returns true.
    /// enough() is re-evaluated after each epoch becomes durable.
    void wait_idle(const std::function<bool()>& enough);
    /// Returns the capture to fill. Waits if none is free.
    [[nodiscard]] capture& begin();
    /// Submits the filled capture to be made durable.
    void submit();
    /// submit() for a thread that would otherwise only wait. True: the same thread must call
    /// write(). False: the writing thread will write it.
    [[nodiscard]] bool submit_to_write();
    /// Makes the capture durable. Without disk space it is left to the writing thread. Aborts
    /// without memory.
    void write() noexcept(!crashes_throw);
    /// The listener is called by the applying thread with the base file's epoch, each time records
    /// were applied. Must be set before the first record.
    void set_applied_listener(std::function<void(u64 epoch)> listener);
    /// Applies durable records soon, even if the journal has space. By any thread.
    void ask_to_apply();
    /// Returns when everything submitted is durable, and in the base file. errc::no_space: out of
    /// space.
    [[nodiscard]] result<void> apply_all();

    /// Call when the base file has grown to `bytes`: its length is made durable before the next
    /// record.
    void base_has_grown(u64 bytes) noexcept;
    /// Makes the base durable as it is. All syncs of the base must use this function: the kernel
    /// reports a failure to one of them only, and the applying thread must learn of it.
    [[nodiscard]] result<void> sync_base() { return base_->sync(); }
    /// Why nothing becomes durable at present; nullopt: it does.
    [[nodiscard]] std::optional<error> refusal() const;
    [[nodiscard]] bool is_refusing() const noexcept {
        return refusing_.load(std::memory_order_relaxed);
    }

    [[nodiscard]] const core& numbers() const noexcept { return *core_; }
    [[nodiscard]] u64 last_commit_ns() const noexcept { return last_commit_ns_; }
    /// The number of lines up to which an epoch is not too large: a quarter of the journal's
    /// current size, and at most 256 MiB, because they are copied.
    [[nodiscard]] u64 comfortable_lines() const noexcept;

   private:
    redo_journal() = default;
    void write_loop();
    void apply_loop();
    bool commit(capture& c);
    /// Returns a no-space error; all other errors are fatal.
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
    /// When more segments are in use, they are applied.
    [[nodiscard]] u64 due_segments() const noexcept;

    std::unique_ptr<block_file> journal_;
    std::unique_ptr<block_file> base_;
    std::unique_ptr<core> core_;
    geometry shape_;
    copy_gate gate_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;   ///< there may be something to apply
    std::condition_variable to_write_;  ///< there may be something to write
    /// an epoch became durable, all is applied, or out of space
    std::condition_variable settled_;
    capture captures_[most_under_way];
    u64 begun_ = 0;      ///< number of captures begun, submitted, written;
    u64 submitted_ = 0;  ///< captures_[n % most_under_way] is the n-th one
    u64 written_ = 0;
    bool is_writing_ = false;  ///< a thread writes captures_[written_ % most_under_way]
    bool stopping_ = false;
    bool gave_up_ = false;  ///< stopping_, and there is no space for what was submitted
    bool apply_everything_ = false;
    bool was_asked_ = false;
    bool wants_space_ = false;
    bool apply_newest_too_ = false;  ///< to free space
    std::function<void(std::optional<u64>)> listener_;
    std::function<void(u64)> applied_listener_;
    std::optional<error> refusal_;
    std::optional<error> apply_refusal_;  ///< apply_all() failed because the base had no space
    std::atomic<bool> refusing_{false};
    std::atomic<u64> last_commit_ns_{0};
    std::atomic<u64> base_bytes_{0};
    std::mutex listener_mutex_;
    std::thread writer_;
    std::thread applier_;
};

}  // namespace hf::journal
