// transaction/commit_engine.hpp: how a commit becomes durable. Chosen when the region is made.
//
// Purpose. A transaction means the same with every engine: transaction.hpp and context.hpp see to
// that. An engine gets the private copies of a transaction that owns all lines it stored to, and
// brings them to the medium and into place, so that a crash leaves all or nothing. Each has a
// constant number of fences, however many lines there are.
//
//   redo    redo_engine.cpp    one fence, or two; the record holds the new words
//   undo    undo_engine.cpp    three fences; the record holds the old words
//   shadow  shadow_engine.cpp  one fence, or two; no data in the record: lines have two slots
//   none    engines.cpp        no fence and no record: nothing is to survive, or the epoch's end
//                              alone makes it durable (medium `file`)
//
// Life of an engine. opening.hpp calls it:
//
//     recover()  ─> what a crash left is in place      before the heap is opened; a function of
//        │                                             the row, for no session has begun
//     make()  ──> open()  ──>  make_lane() for each lane that comes
//                   │          work()      before a transaction, where has_work() says so
//                   │          prepare()   all that can fail        ┐ in an attempt
//                   │          commit()    durable, and in place    ┘
//                 close()  ─> the epoch that ends next leaves a region that is clean
//
// All engines share log space (engine_lane.hpp, commit_log.hpp), records (commit_record.hpp),
// and the allocator's changes. These are set and clear operations on words in each record:
// two commits at once change different bits of one word, which a copy of the whole line would lose.
//
// Persist order. T2, for all: words in place, the allocator's included, are durable before their
// records are overwritten. The lane records their lines, and an epoch's records are overwritten in
// the next one (commit_log.hpp). The engines' own orders are in their files.
//
// Concurrency. Two commits at once change different lines (ownership), and other bits of the
// allocator's words. prepare() and commit() run on the lane's thread, inside the epoch.
#pragma once

#include "transaction/context.hpp"
#include "transaction/engine_kind.hpp"
#include "transaction/recovery.hpp"

#include <atomic>
#include <memory>
#include <string_view>

namespace hf {

/// Memory of an engine besides its logs; all zero if it has none.
struct engine_numbers {
    u64 slots = 0;               ///< second slots of pages, of 4 KiB
    u64 free_slots = 0;          ///< of these, how many belong to no page
    u64 kept_for_slots = 0;      ///< bytes that the heap leaves free for more of them
    u64 consolidated_pages = 0;  ///< in this session
    u64 consolidated_lines = 0;  ///< flushed for that
};

class commit_engine {
   public:
    explicit commit_engine(region& r) : region_(r) { shared_.log.attach(r, 0); }
    commit_engine(const commit_engine&) = delete;
    commit_engine& operator=(const commit_engine&) = delete;
    virtual ~commit_engine() = default;

    // --- a session ---
    /// The session has begun; no transaction runs yet.
    [[nodiscard]] virtual result<void> open() { return {}; }
    /// No transaction runs, and none follows. The caller ends the epoch next.
    [[nodiscard]] virtual result<void> close(epoch_manager&) { return {}; }
    /// Whether a commit is durable only when its epoch is.
    [[nodiscard]] virtual bool waits() const noexcept { return false; }
    /// The engine's state for the lane of that number.
    [[nodiscard]] virtual std::unique_ptr<engine_lane> make_lane(u16 lane) {
        return std::make_unique<engine_lane>(region_, shared_, lane);
    }

    // --- a commit, inside the epoch ---
    /// All that can fail. Where it does, or throws, nothing has changed.
    [[nodiscard]] virtual result<void> prepare(context& t) = 0;
    /// Makes it durable and writes it to its home location. `version`: of the clock, more than that
    /// of every commit that this one has read from.
    virtual void commit(context& t, u64 version) noexcept(!crashes_throw) = 0;

    [[nodiscard]] virtual engine_numbers numbers() const noexcept { return {}; }

    // --- work that no commit has to wait for ---
    [[nodiscard]] bool has_work() const noexcept {
        return has_work_.load(std::memory_order_relaxed);
    }
    /// A bounded part of it, by the owner of that lane, outside of the epoch.
    virtual void work(epoch_manager&, lane&, engine_lane&) {}

   protected:
    [[nodiscard]] region& file() const noexcept { return region_; }
    [[nodiscard]] shared_log& shared() noexcept { return shared_; }

    void set_has_work(bool has) noexcept { has_work_.store(has, std::memory_order_relaxed); }

   private:
    std::atomic<bool> has_work_{false};
    region& region_;
    shared_log shared_;
};

/// All that is known of an engine without a session.
struct engine_row {
    engine_kind kind;
    std::string_view name;
    /// Writes to their home locations, durably, the changes that had committed when a crash cut the
    /// epoch short. Is run again after another crash. errc::corrupt: a record is damaged; nothing
    /// has been changed.
    result<applied_records> (*recover)(region& r, u64 interrupted_epoch);
    std::unique_ptr<commit_engine> (*make)(region& r);
};

/// The row of a known engine.
[[nodiscard]] const engine_row& row_of(engine_kind kind) noexcept;
/// The row of the engine that the region's superblock names. errc::incompatible: it is unknown.
[[nodiscard]] result<const engine_row*> engine_of(const region& r);
/// The error of an engine that is unknown.
[[nodiscard]] error unknown_engine(const region& r);

/// `durable`: something of the region is to survive. The engine `none` where nothing is, where
/// epochs reach the medium whole, or where stores go in place before the commit.
[[nodiscard]] std::unique_ptr<commit_engine> make_engine(engine_kind kind, region& r, bool durable,
                                                         detail::isolation kept);

// Each in a file of its own; for the table of engines.
[[nodiscard]] std::unique_ptr<commit_engine> make_redo_engine(region& r);
[[nodiscard]] std::unique_ptr<commit_engine> make_undo_engine(region& r);
[[nodiscard]] std::unique_ptr<commit_engine> make_shadow_engine(region& r);

}  // namespace hf
