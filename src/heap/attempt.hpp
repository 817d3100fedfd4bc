// heap/attempt.hpp: an attempt of a transaction on objects: creates them, changes their
// reference counts, and at its end destroys those without references.
//
//   while it runs                        add_count(): accumulated by object (count_map.hpp)
//   end: settle()                        stores changed counts: decreased ones first, because
//                                        destructions may cancel increments of others
//     count 0, held by a ref             becomes an orphan, recorded in a durable slot
//     count 0                            destroyed: nv_destroy(), its pointers' targets are
//                                        decremented, its memory is freed; and so on, by a list,
//                                        not by recursion
//     count 0, forsaken                  its pointers were copied elsewhere: its memory is freed,
//                                        and nothing of it is stored, however large it is
//     more than `most_deaths`            doomed: put on a durable list, for small transactions
//     later
//
// All of it is part of the transaction: a crash leaves all or nothing.
#pragma once

#include "heap/count_map.hpp"
#include "heap/held_table.hpp"
#include "heap/type_table.hpp"
#include "persist/persist_point.hpp"
#include "region/region.hpp"

#include <algorithm>
#include <vector>

namespace hf::nv {

namespace detail {

class attempt {
   public:
    attempt(core& of, transaction& t);
    attempt(const attempt&) = delete;
    attempt& operator=(const attempt&) = delete;
    ~attempt() = default;

    /// Limits on destructions in one transaction, and on the pointers that they decrement. Both are
    /// less where the region keeps little room for the commit record.
    static constexpr u32 most_deaths = crashes_throw ? 3 : 1000;  // few in the crash lab
    static constexpr u64 most_pointers = crashes_throw ? 8 : 16'384;

    [[nodiscard]] transaction& running() const noexcept { return t_; }
    [[nodiscard]] core& of() const noexcept { return core_; }

    void add(u64 offset, int by);
    /// A full heap ends the transaction (errc::no_space), or make() returns null.
    enum class where_full : u8 { fail, null };
    [[nodiscard]] std::byte* make(const type_info& type, u64 elements,
                                  where_full then = where_full::fail);
    /// As detail::forsake(): the object has one pointer, which this attempt removes.
    void forsake(u64 offset);
    [[nodiscard]] u64 proxy(u64 offset);
    [[nodiscard]] held_object* hold(u64 offset, bool strongly);
    [[nodiscard]] bool is_alive(held_object& h);
    [[nodiscard]] u16 type_number(const type_info& type);
    /// Reads descriptions that other transactions have added since.
    void read_types();

    /// Call it before the commit.
    void settle();
    void committed() {
        if (!counts_.empty() || doomed_ != 0 || !new_types_.empty()) tell_others();
    }
    void rolled_back() noexcept;
    /// True if a destruction is left to another transaction.
    [[nodiscard]] bool has_doomed() const noexcept { return doomed_ != 0; }

    // --- transactions of the heap itself ---
    /// Destroys an object of the doomed list; false: the list is empty.
    [[nodiscard]] bool destroy_doomed();
    /// Moves objects from the list of those whose type was unknown back to the doomed list.
    void revive_waiting();
    /// Destroys an orphan without references. False: not an orphan. slot 0: the one in the table.
    bool reclaim(u64 offset, u64 slot);
    /// Sets pointers of up to `elements` elements to null; returns the end of the range.
    [[nodiscard]] u64 cut_pointers(u64 offset, u64 first, u64 elements);
    [[nodiscard]] bool has_elements(u64 offset, u64 from);

    // --- for upgrades: upgrade.hpp ---
    void begin_upgrade(u16 from, const type_info& to);
    /// Makes the new object, lets f fill it, and stores a link from the old one to it.
    void convert(u64 offset, const type_info& to, const converter& f);
    /// Redirects the pointer to the converted object. False: its target was not converted.
    bool redirect(u64 pointer, u16 from);
    /// Destroys a converted object that is not referenced any more.
    void bury(u64 offset);

    [[nodiscard]] bool is_full() const noexcept {
        return deaths_ >= std::min<u64>(most_deaths, max_pointers_) || pointers_ >= max_pointers_;
    }

    template <class T>
    [[nodiscard]] T* at(u64 offset) const noexcept {
        return reinterpret_cast<T*>(t_.base() + offset);
    }
    [[nodiscard]] object_header* header_of(u64 offset) const noexcept {
        return at<object_header>(offset - header_bytes);
    }
    [[nodiscard]] control_block& control() const noexcept;
    /// Target of a list of the heap: ends the transaction (errc::corrupt) if `bytes` bytes of the
    /// heap cannot be there.
    template <class T>
    [[nodiscard]] T* listed(u64 offset, u64 bytes = sizeof(T)) const {
        if (!can_lie_at(offset, bytes)) [[unlikely]]
            list_is_damaged();
        return at<T>(offset);
    }

   private:
    [[nodiscard]] bool can_lie_at(u64 offset, u64 bytes) const noexcept;
    [[noreturn]] static void list_is_damaged();
    /// Headers of objects made by this transaction are stored in place: no other thread sees them.
    [[nodiscard]] state_word state_of(const counted& c);
    void set_state(const counted& c, state_word s);
    [[nodiscard]] u64 second_of(const counted& c);
    void set_second(const counted& c, u64 value);

    /// Registers an object made by this transaction, with `by` pointers to it.
    void note_fresh(u64 offset, int by);
    void apply(u32 index);
    void lose_last(u32 index, state_word s);
    void make_orphan(u32 index, state_word s);
    void doom(u32 index, state_word s);
    void die(u32 index, state_word s);
    void free_forsaken(u32 index, state_word s);
    void let_go_of_proxy(u32 index, state_word& s);
    /// Elements of an array, 1 for other objects. Ends the transaction (errc::corrupt) where they
    /// would reach past the region's end.
    [[nodiscard]] u64 length_of(u64 offset, const heap_type& type, state_word s);
    [[nodiscard]] bool count_down(u64 offset, const heap_type& type, state_word s);
    void push(u64& list, const counted& c, state_word s);
    [[nodiscard]] std::byte* allocate(u64 bytes, where_full then = where_full::fail);
    [[nodiscard]] u16 add_type(const type_info& type);
    [[nodiscard]] u64 take_slot();
    void free_slot(u64 slot);
    [[nodiscard]] const heap_type& type_of(u16 number);
    /// After a commit that made objects, changed counts or described types.
    void tell_others();
    void clear() noexcept;

    struct slot_change {
        u64 offset;  ///< of the object
        u64 before;
    };

    core& core_;
    transaction& t_;
    const u64 max_pointers_;
    count_map counts_;
    std::vector<u32> queue_;
    u32 deaths_ = 0;
    u64 pointers_ = 0;
    u32 doomed_ = 0;
    std::vector<u64> fresh_;  ///< objects made by this attempt
    std::vector<held_object*> dying_;
    std::vector<slot_change> slot_changes_;
    std::vector<u64> taken_slots_;
    std::vector<u64> freed_slots_;
    std::vector<u64> new_slots_;  ///< of orphan blocks made by this attempt
    std::vector<std::unique_ptr<heap_type>> new_types_;
};

}  // namespace detail
}  // namespace hf::nv
