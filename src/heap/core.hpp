// heap/core.hpp: a heap of typed objects over transactions (Coburn et al., "NV-Heaps", ASPLOS 2011,
// sections 2 and 3).
//
// Purpose. Objects with pointers and reference counts, destroyed when they are unreferenced,
// as part of transactions. So a crash leaves no wrong count, no leak, and no freed object
// in use. Programs see include/holdfast/heap.hpp.
//
// On the medium. layout.hpp: objects after headers; a control block with the lists of types,
// roots, orphans and doomed objects.
//
// Invariants, of every committed state.
//  J1  An object's count is the number of pointers to it: in objects that have not died,
//      and in roots. A proxy's is that of weak pointers, and one more while its object lives.
//  J2  An object of count 0 is an orphan, in a slot; or doomed, on a list; or its memory is
//      free in the allocator.
//  J3  The target of a pointer has not died. A doomed object's pointers are still counted, except
//      those of the first `progress` elements of an array.
//  J4  The type in a header is described in the heap, with the positions of the object's pointers.
//
// Persist order. None of its own: all changes are transactions (transaction/commit_engine.hpp).
//
// Concurrency. Transactions detect conflicts. For a reference made to an object that another
// transaction destroys, see held_table.hpp.
//
// Recovery, in the phase `discipline`, by small transactions: orphans are reclaimed, because their
// references ended with the process; doomed objects are destroyed, except those whose type has an
// nv_destroy() that is not known yet, which wait for the type. After an interruption the next
// recovery continues.
//
// Bad input. errc::incompatible: another brand, or a type with another layout. errc::corrupt: a
// damaged list or description. check() finds other damage (check.hpp).
//
// Limits. 65,533 types a heap; 2^32 - 1 pointers to one object.
#pragma once

#include <holdfast/heap.hpp>

#include "heap/attempt.hpp"
#include "heap/upgrade.hpp"
#include "sync/fork.hpp"
#include "transaction/opening.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace hf::nv {
struct heap_facts;
}

namespace hf::nv::detail {

class core final : public transaction_listener {
   public:
    [[nodiscard]] static result<std::unique_ptr<core>> open(opened_region opened,
                                                            std::string_view brand,
                                                            const heap_options& options,
                                                            hf::detail::isolation kept);
    ~core() override;

    [[nodiscard]] transactions& all() const noexcept { return region_.all(); }
    [[nodiscard]] region& file() const noexcept { return region_.file(); }
    [[nodiscard]] const transactional_region& lower() const noexcept { return region_; }
    [[nodiscard]] bool is_open() const noexcept { return region_.is_open(); }
    /// Whether it was opened by the parent of this process.
    [[nodiscard]] bool is_inherited() const noexcept { return made_in_.is_inherited(); }
    [[nodiscard]] control_block& control() const noexcept {
        return *reinterpret_cast<control_block*>(file().base() + control_);
    }
    [[nodiscard]] type_table& types() noexcept { return types_; }
    [[nodiscard]] held_table& refs() noexcept { return *refs_; }
    [[nodiscard]] attempt& attempt_of(transaction& t) {
        attempt* const mine = attempts_[t.thread_number()].load(std::memory_order_relaxed);
        return mine != nullptr ? *mine : make_attempt(t);
    }

    /// The handle that tells whether the heap is open; adds a reference to it.
    [[nodiscard]] held* open_mark();
    /// {offset of the pointer, number of its type}, in a transaction. nullopt: there is none.
    struct root_place {
        u64 target = 0;
        u64 type = 0;
    };
    /// Before the transaction has made a root.
    [[nodiscard]] std::optional<root_place> find_root(transaction& t, std::string_view name);
    [[nodiscard]] root_place add_root(attempt& a, std::string_view name, u16 type);
    /// Registers the type, and all types reachable by its pointers.
    [[nodiscard]] result<void> learn(const type_info& type);

    /// upgrade.hpp
    [[nodiscard]] result<u64> upgrade(const type_info& from, const type_info& to,
                                      const converter& f);
    [[nodiscard]] result<u64> collect();
    [[nodiscard]] result<heap_report> check();
    /// Destroys doomed objects and reclaims orphans without references, by transactions.
    [[nodiscard]] result<void> tidy_up();
    /// As tidy_up(), but optional: after an error the work is left for later.
    void tidy_up_if_needed() noexcept(!crashes_throw) {
        if (has_untidy()) [[unlikely]] {
            tidy_up_unasked();
        }
    }
    [[nodiscard]] result<void> close();

    // --- slots of orphans: volatile data ---
    [[nodiscard]] u64 take_slot();  ///< 0: there is none
    void give_slots(const std::vector<u64>& slots);

    // --- transaction_listener ---
    void before_commit(transaction& t) override;
    void committed() override;
    void rolled_back(transaction& t) noexcept override;

    template <class F>
    auto run(F&& f) {
        return all().atomic([&](transaction& t) {
            const attempt_scope scope(*this, t);
            return f(scope.counts());
        });
    }
    /// Runs a transaction without waiting for its durability.
    template <class F>
    auto run_later(F&& f) {
        ticket when = 0;
        return all().later(
            [&](transaction& t) {
                const attempt_scope scope(*this, t);
                return f(scope.counts());
            },
            when);
    }

   private:
    bool read_roots(transaction& t, u64 newest, u64 until,
                    std::vector<std::pair<std::string, u64>>& into);
    explicit core(opened_region opened) : region_(std::move(opened)) {}
    [[nodiscard]] result<void> find_control(std::string_view brand);
    [[nodiscard]] result<void> read_lists();
    [[nodiscard]] result<void> recover();
    /// Runs small transactions until f(attempt&, place&) returns false. `at`: start of the first;
    /// f advances the place to the start of the next one; a retry begins at the same place.
    template <class Place, class F>
    [[nodiscard]] result<void> in_pieces(const Place& at, F&& f);
    [[nodiscard]] bool has_untidy() const noexcept {
        return has_doomed_.load(std::memory_order_acquire) || refs_->has_queue();
    }
    void tidy_up_unasked() noexcept(!crashes_throw);
    [[nodiscard]] attempt& make_attempt(transaction& t);
    [[nodiscard]] result<void> reclaim_orphans();
    [[nodiscard]] result<void> destroy_doomed();
    [[nodiscard]] result<void> reclaim_queue();
    /// errc::violation: check() has findings, so a walk over all objects must not run.
    [[nodiscard]] result<void> check_sound(const char* task);
    [[nodiscard]] result<void> check_sound(const char* task, const heap_facts& facts) const;
    /// errc::incompatible: an upgrade is unfinished.
    [[nodiscard]] result<void> check_upgrade();
    [[nodiscard]] result<void> find_upgrade(const type_info& from, const type_info& to,
                                            upgrade_word& going_on);
    [[nodiscard]] result<void> destroy_waiting(u16 number, const type_info& type);
    template <class F>
    [[nodiscard]] result<void> in_batches(const std::vector<u64>& all, F&& f);
    [[nodiscard]] std::vector<u64> pointers_to(const std::string& type) const;
    [[nodiscard]] std::vector<u64> objects_of(u16 type, bool moved) const;

    transactional_region region_;
    /// Volatile index of the roots: those from `newest` to the end of their list.
    struct {
        std::mutex mutex;
        u64 newest = 0;  ///< offset; 0: none is in the index
        std::unordered_map<std::string, u64> places;
    } roots_;
    process_mark made_in_;
    u64 control_ = 0;
    type_table types_;
    std::shared_ptr<held_table> refs_ = std::make_shared<held_table>();
    held* open_mark_ = nullptr;
    std::array<std::atomic<attempt*>, 256> attempts_{};
    std::mutex slots_mutex_;
    std::vector<u64> slots_;
    std::atomic<bool> has_doomed_{false};
    std::atomic<bool> tidying_{false};
};

}  // namespace hf::nv::detail
