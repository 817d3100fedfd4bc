// The slow paths of transaction.hpp.
#include "base/check.hpp"
#include "sync/spin_lock.hpp"
#include "transaction/context.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace hf {
namespace {

/// How often a transaction polls an owner before the attempt aborts. A commit takes a few hundred
/// nanoseconds after its fence; and two transactions that wait for each other must not deadlock.
constexpr unsigned most_spins = 256;

[[noreturn]] void no_memory() {
    transaction::fail({errc::no_space, "run a transaction", "",
                       "there is no memory for the copies of what it stores to",
                       "make it smaller"});
}

u64 load_in_place(const void* at, unsigned bytes) noexcept {
    switch (bytes) {
        case 8:
            return __atomic_load_n(static_cast<const u64*>(at), __ATOMIC_ACQUIRE);
        case 4:
            return __atomic_load_n(static_cast<const u32*>(at), __ATOMIC_ACQUIRE);
        case 2:
            return __atomic_load_n(static_cast<const u16*>(at), __ATOMIC_ACQUIRE);
        default:
            return __atomic_load_n(static_cast<const u8*>(at), __ATOMIC_ACQUIRE);
    }
}

unsigned word_index(const void* at) noexcept { return reinterpret_cast<u64>(at) >> 3 & 7; }
u64 line_of(const void* at) noexcept { return reinterpret_cast<u64>(at) / line_size; }

}  // namespace

void transaction::abort() {
    doom_running(false);
    throw detail::transaction_abort{false};
}
void transaction::retry() {
    doom_running(true);
    throw detail::transaction_abort{true};
}
void transaction::fail(error why) {
    doom_running(false);
    throw detail::transaction_failure{std::move(why)};
}
void transaction::meet_conflict() {
    doom_running(true);
    throw detail::transaction_conflict{};
}
void transaction::doom_running(bool begins_anew) noexcept {
    if (of_thread == nullptr) return;
    of_thread->doomed_ = true;
    of_thread->begins_anew_ = begins_anew;
}

u64 transaction::load_slowly(const void* at, unsigned bytes) {
    return context::of(*this).load_word(at, bytes);
}
void transaction::store_slowly(void* at, unsigned bytes, u64 value) {
    context::of(*this).store_word(at, bytes, value);
}
std::byte* transaction::allocate(u64 bytes) { return context::of(*this).allocate_block(bytes); }
void transaction::release(void* p, u64 bytes) { context::of(*this).release_block(p, bytes); }

void transaction::measure() noexcept {
    safe_units_ = units_before_end(context::of(*this).file().size());
}
void transaction::check_offset(u64 offset, u64 bytes) {
    measure();
    const u64 size = context::of(*this).file().size();
    if (offset % 16 == 0 && bytes <= size && offset <= size - bytes) return;
    fail({errc::corrupt, "follow a pointer", context::of(*this).file().path().string(),
          "it points to offset " + std::to_string(offset) + ", where no object can lie",
          "run holdfast check; restore the file from a backup"});
}

void context::wait_for_owner(unsigned& spins) const {
    if (++spins > most_spins) meet_conflict();
    cpu_relax();
}

void context::move_snapshot() {
    const u64 now = records_.clock.load(std::memory_order_acquire);
    if (!is_valid()) meet_conflict();
    snapshot_ = now;
}

u64 context::load_unowned(const void* at, unsigned bytes) noexcept {
    const written_line* const l = has_copies_ ? lines_.find(line_of(at)) : nullptr;
    if (l == nullptr || (l->mask >> word_index(at) & 1) == 0) return load_in_place(at, bytes);
    const auto* const copy = reinterpret_cast<const u8*>(&l->words[word_index(at)]);
    return load_in_place(copy + reinterpret_cast<u64>(at) % 8, bytes);
}

void context::store_unowned(void* at, unsigned bytes, u64 value) {
    std::memcpy(at, &value, bytes);  // little-endian: the low bytes come first
    inside_->note_once(at, bytes);
    inside_->mark_written();
}

u64 context::load_word(const void* at, unsigned bytes) {
    if (kept_ != detail::isolation::threads) return load_unowned(at, bytes);
    const u64 line = line_of(at);
    const u64 index = ownership::index_of(line);
    const std::atomic<u64>& record = records_.records[index];
    for (unsigned spins = 0;;) {
        const u64 before = record.load(std::memory_order_acquire);
        if (before == mark_) {
            if (const written_line* l = lines_.find(line);
                l != nullptr && (l->mask >> word_index(at) & 1) != 0) {
                const auto* copy = reinterpret_cast<const u8*>(&l->words[word_index(at)]);
                return load_in_place(copy + reinterpret_cast<u64>(at) % 8, bytes);
            }
            return load_in_place(at, bytes);
        }
        if (ownership::is_owned(before)) {
            wait_for_owner(spins);
            continue;
        }
        if (before > snapshot_) move_snapshot();
        const u64 found = load_in_place(at, bytes);
        if (record.load(std::memory_order_relaxed) != before) continue;
        if (index != last_read_) {
            if (reads_ == reads_end_) recycle_reads();
            note_read(index);
        }
        return found;
    }
}

bool context::take_ownership(u64 index) {
    std::atomic<u64>& record = ownership_[index];
    for (unsigned spins = 0;;) {
        u64 before = record.load(std::memory_order_acquire);
        if (before == mark_) return false;
        if (ownership::is_owned(before)) {
            wait_for_owner(spins);
            continue;
        }
        if (before > snapshot_) [[unlikely]] {
            move_snapshot();
            continue;
        }
        if (owned_.size() == owned_.capacity()) [[unlikely]] {
            owned_.reserve(2 * owned_.size() + 16);
        }
        if (!record.compare_exchange_weak(before, mark_, std::memory_order_acq_rel)) continue;
        owned_.push_back({static_cast<u32>(index), before});
        return true;
    }
}

/// Adds a line whose record is not owned yet; nullptr: more than one compare-and-swap is needed, or
/// nothing is owned.
inline written_line* context::take_line(u64 line) {
    if (kept_ != detail::isolation::threads) return nullptr;
    const u64 index = ownership::index_of(line);
    std::atomic<u64>& record = ownership_[index];
    u64 before = record.load(std::memory_order_acquire);
    // An owned record's value is greater than any snapshot.
    if (before > snapshot_ || owned_.size() == owned_.capacity() || !lines_.has_room()) {
        return nullptr;
    }
    if (!record.compare_exchange_strong(before, mark_, std::memory_order_acq_rel)) return nullptr;
    owned_.push_back({static_cast<u32>(index), before});
    return &lines_.add(line);
}

written_line& context::copy_of(u64 line) {
    try {
        // A line whose record was not owned until now has no copy.
        if (kept_ == detail::isolation::threads && take_ownership(ownership::index_of(line))) {
            return lines_.add(line);
        }
        if (written_line* const known = lines_.find(line)) return *known;
        has_copies_ = true;
        return lines_.add(line);
    } catch (const std::bad_alloc&) {
        no_memory();
    }
}

void context::refuse_other_thread() {
    HF_CHECK(of_thread != nullptr, "a transaction is used by its own thread only");
    fail({errc::usage, "change the heap", "", "the transaction is one of another thread",
          "use the one that this thread's atomic() has passed"});
}

void context::refuse_store() const {
    fail({errc::usage, "store in a transaction", "",
          read_only_ ? "it was begun as one that only reads" : "the place is not in its heap",
          read_only_ ? "use atomic()" : "store in a transaction of the other heap"});
}

void context::check_store(u64 offset, unsigned bytes) {
    measure();
    if (offset >= layout::page_size && offset + bytes <= file().size()) return;
    fail({errc::corrupt, "store in a transaction", file().path().string(),
          "the place is at offset " + std::to_string(offset) + ", which is not in the heap",
          "run holdfast check; restore the file from a backup"});
}

void context::store_word(void* at, unsigned bytes, u64 value) {
    check_thread();
    if (read_only_ || !covers(at)) [[unlikely]] {
        refuse_store();
    }
    const u64 offset = reinterpret_cast<u64>(at) & window_mask;
    if (offset < layout::page_size || offset / 16 > safe_units_) [[unlikely]] {
        check_store(offset, bytes);
    }
    const u64 line = line_of(at);
    const unsigned index = word_index(at);
    written_line* l = lines_.last(line);
    if (l == nullptr) {
        if (kept_ == detail::isolation::in_place) return store_unowned(at, bytes, value);
        l = take_line(line);
        if (l == nullptr) l = &copy_of(line);
    }
    const auto bit = static_cast<u8>(1U << index);
    if (bytes == 8) [[likely]] {
        l->words[index] = value;
    } else {
        if ((l->mask & bit) == 0) {
            l->words[index] =
                load_in_place(reinterpret_cast<const u64*>(line * line_size) + index, 8);
        }
        // Little-endian: the low bytes come first.
        std::memcpy(reinterpret_cast<u8*>(&l->words[index]) + reinterpret_cast<u64>(at) % 8, &value,
                    bytes);
    }
    l->mask = static_cast<u8>(l->mask | bit);
}

bool context::store_line(std::byte* at, const std::byte* from) {
    check_thread();
    const u64 address = reinterpret_cast<u64>(at);
    const bool meets_fresh = address + line_size > fresh_ && address < fresh_ + fresh_bytes_;
    if (meets_fresh || kept_ == detail::isolation::in_place) return false;
    if (read_only_ || !covers(at)) [[unlikely]] {
        refuse_store();
    }
    const u64 offset = address & window_mask;
    if (offset < layout::page_size || offset / 16 > safe_units_) [[unlikely]] {
        check_store(offset, line_size);
    }
    const u64 line = line_of(at);
    written_line* l = lines_.last(line);
    if (l == nullptr) l = take_line(line);
    if (l == nullptr) l = &copy_of(line);
    std::memcpy(l->words.data(), from, line_size);
    l->mask = all_words;
    return true;
}

void context::recycle_reads() {
    const auto used = static_cast<std::size_t>(reads_ - read_room_.data());
    if (may_forget_) {
        // Reads are not recorded, only the clock is checked; if the snapshot must be extended, the
        // attempt restarts and records them.
        forgot_reads_ = true;
        reads_ = read_room_.data();
        return;
    }
    try {
        read_room_.resize(2 * read_room_.size());
    } catch (const std::bad_alloc&) {
        no_memory();
    }
    reads_ = read_room_.data() + used;
    reads_end_ = read_room_.data() + read_room_.size();
}

heap_batch& context::my_blocks() {
    if (blocks_ == nullptr) {
        if (spare_.empty()) {
            blocks_ = std::make_unique<heap_batch>(heap_);
        } else {
            blocks_ = std::move(spare_.back());
            spare_.pop_back();
        }
    }
    return *blocks_;
}

result<u64> context::reserve_block(u64 bytes) {
    check_thread();
    if (read_only_) {
        fail({errc::usage, "allocate in a transaction", "", "it was begun as one that only reads",
              "use atomic()"});
    }
    return my_blocks().reserve(bytes);
}

std::byte* context::hand_out(u64 offset, u64 bytes) {
    auto* const p = base() + offset;
    fresh_ = reinterpret_cast<u64>(p);
    fresh_bytes_ = bytes;
    fresh_blocks_.push_back({fresh_, bytes});
    return p;
}

std::byte* context::allocate_block(u64 bytes) {
    const auto offset = reserve_block(bytes);
    if (!offset) {
        // The end of the epoch also brings memory that other threads have freed. They may free and
        // allocate without end, so this is tried a few times only.
        constexpr unsigned max_boundaries = 3;
        wants_boundary_ = offset.error().code == errc::no_space &&
                          records_.unsettled.load(std::memory_order_relaxed) != 0 &&
                          boundaries_++ < max_boundaries;
        // Stores in place can't be undone by a restart.
        if (wants_boundary_ && kept_ != detail::isolation::in_place) meet_conflict();
        fail(offset.error());
    }
    return hand_out(*offset, bytes);
}

std::byte* context::try_allocate_block(u64 bytes) {
    const auto offset = reserve_block(bytes);
    if (offset) return hand_out(*offset, bytes);
    if (offset.error().code != errc::no_space) fail(offset.error());
    return nullptr;
}

void context::release_block(void* p, u64 bytes) {
    check_thread();
    if (read_only_) {
        fail({errc::usage, "free in a transaction", "", "it was begun as one that only reads",
              "use atomic()"});
    }
    releases_.push_back({reinterpret_cast<u64>(p), bytes});
}

// -------------------------------------------------------------------------------- many bytes

namespace {

/// The largest aligned piece of at most `left` bytes at `at`.
unsigned piece_at(u64 at, std::size_t left) noexcept {
    unsigned piece = 8;
    while (piece > left || at % piece != 0) piece /= 2;
    return piece;
}

}  // namespace

void transaction::load_bytes(const void* at, void* to, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(at);
    auto* out = static_cast<std::byte*>(to);
    while (bytes != 0) {
        const unsigned piece = piece_at(reinterpret_cast<u64>(from), bytes);
        u64 value = 0;
        switch (piece) {
            case 8:
                value = load(reinterpret_cast<const u64*>(from));
                break;
            case 4:
                value = load(reinterpret_cast<const u32*>(from));
                break;
            case 2:
                value = load(reinterpret_cast<const u16*>(from));
                break;
            default:
                value = load(reinterpret_cast<const u8*>(from));
        }
        std::memcpy(out, &value, piece);
        from += piece;
        out += piece;
        bytes -= piece;
    }
}

void transaction::store_bytes(void* at, const void* from, std::size_t bytes) {
    auto* to = static_cast<std::byte*>(at);
    const auto* in = static_cast<const std::byte*>(from);
    while (bytes != 0) {
        const bool is_line = bytes >= line_size && reinterpret_cast<u64>(to) % line_size == 0;
        if (is_line && context::of(*this).store_line(to, in)) {
            to += line_size;
            in += line_size;
            bytes -= line_size;
            continue;
        }
        const unsigned piece = piece_at(reinterpret_cast<u64>(to), bytes);
        u64 value = 0;
        std::memcpy(&value, in, piece);
        switch (piece) {
            case 8:
                store(reinterpret_cast<u64*>(to), value);
                break;
            case 4:
                store(reinterpret_cast<u32*>(to), static_cast<u32>(value));
                break;
            case 2:
                store(reinterpret_cast<u16*>(to), static_cast<u16>(value));
                break;
            default:
                store(reinterpret_cast<u8*>(to), static_cast<u8>(value));
        }
        to += piece;
        in += piece;
        bytes -= piece;
    }
}

void transaction::move_bytes(void* to, const void* from, std::size_t bytes) {
    std::byte buffer[256];
    auto* out = static_cast<std::byte*>(to);
    const auto* in = static_cast<const std::byte*>(from);
    const bool backwards = out > in && out < in + bytes;
    for (std::size_t done = 0; done < bytes;) {
        const std::size_t piece = std::min(sizeof buffer, bytes - done);
        const std::size_t at = backwards ? bytes - done - piece : done;
        load_bytes(in + at, buffer, piece);
        store_bytes(out + at, buffer, piece);
        done += piece;
    }
}

error transactional::other_heap() {
    return {errc::usage, "run a transaction", "", "one of another heap is running in this thread",
            "end it first: a transaction has one heap"};
}
error transactional::aborted() {
    return {errc::aborted, "commit a transaction", "", "it has aborted", "nothing of it happened"};
}

}  // namespace hf
