// The store's own record: blocks of unique numbers, and flush_all.
#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "store/store_impl.hpp"

#include <algorithm>

namespace hf {

namespace {

error numbers_spent() {
    return {errc::no_space, "write a record", "the store's unique numbers",
            "all of them have been given out", "copy the records into a new store"};
}

}  // namespace

result<void> store::impl::load() {
    std::string bytes;
    const auto found = records.get(master_key, bytes);
    if (!found) {
        return failure(found.error());
    }
    if (*found) {
        const auto decoded = detail::decode_master(bytes);
        if (!decoded) {
            return failure({errc::corrupt, "open the store",
                            "the store's own record (the empty key)", "it cannot be decoded",
                            "restore the file from a backup"});
        }
        master = *decoded;
    }
    short_headers.store(master.short_headers, std::memory_order_release);
    flush_mark.store(master.flush_mark, std::memory_order_release);
    flush_at.store(master.flush_at, std::memory_order_release);
    const u64 block = records.generation() + master.spent_blocks;
    if (block >= detail::unique_numbers::block_count) {
        return failure(numbers_spent());
    }
    numbers.open_block(block, detail::unique_numbers::left_out);
    return {};
}

result<ticket> store::impl::write_master(const detail::master_record& next) {
    char bytes[detail::master_record_bytes];
    detail::encode(next, bytes);
    const auto put = records.put(master_key, {bytes, sizeof bytes});
    if (!put) {
        return failure(put.error());
    }
    master = next;
    return put->written_in;
}

result<void> store::impl::say_short_headers() {
    if (short_headers.load(std::memory_order_acquire)) [[likely]] {
        return {};
    }
    const ranked_guard lock(lock_rank::store_master, master_mutex);
    if (master.short_headers) return {};
    auto next = master;
    next.short_headers = true;
    if (const auto written = write_master(next); !written) {
        return failure(written.error());
    }
    short_headers.store(true, std::memory_order_release);
    return {};
}

result<u64> store::impl::draw_unique() {
    if (auto said = say_short_headers(); !said) [[unlikely]] {
        return failure(std::move(said.error()));
    }
    if (const auto number = numbers.draw()) [[likely]] {
        return *number;
    }
    const ranked_guard lock(lock_rank::store_master, master_mutex);
    for (;;) {
        if (const auto number = numbers.draw()) {
            return *number;  // possibly from a block that another thread has opened
        }
        auto next = master;
        ++next.spent_blocks;
        const u64 block = records.generation() + next.spent_blocks;
        if (block >= detail::unique_numbers::block_count) {
            return failure(numbers_spent());
        }
        if (const auto written = write_master(next); !written) {
            return failure(written.error());
        }
        if (auto durable = records.sync(); !durable) {
            return failure(std::move(durable.error()));
        }
        numbers.open_block(block, detail::unique_numbers::left_out);
    }
}

result<store::reply> store::impl::flush_now(u64 due) {
    const auto mark = draw_unique();  // before the lock, which it may take itself
    if (!mark) {
        return failure(mark.error());
    }
    const ranked_guard lock(lock_rank::store_master, master_mutex);
    // Otherwise records stored after the other thread's mark would be flushed, too.
    if (due != 0 && master.flush_at != due) return reply{outcome::stored, 0, 0};
    auto next = master;
    next.flush_mark = std::max(next.flush_mark, *mark);
    next.flush_at = 0;
    const auto written = write_master(next);
    if (!written) {
        return failure(written.error());
    }
    HF_ASSERT(master.flush_mark >= flush_mark.load(std::memory_order_relaxed),
              "I3: the mark on the medium is behind the one in memory");
    flush_mark.store(next.flush_mark, std::memory_order_release);
    flush_at.store(0, std::memory_order_release);
    dead_from.store(0, std::memory_order_release);
    return reply{outcome::stored, *written, 0};
}

result<store::reply> store::impl::flush_later(u64 when) {
    const ranked_guard lock(lock_rank::store_master, master_mutex);
    auto next = master;
    next.flush_at = when;
    const auto written = write_master(next);
    if (!written) {
        return failure(written.error());
    }
    flush_at.store(when, std::memory_order_release);
    return reply{outcome::stored, *written, 0};
}

result<void> store::impl::settle_flush() {
    const u64 due = flush_at.load(std::memory_order_acquire);
    if (due == 0 || now() < due) [[likely]] {
        return {};
    }
    const auto flushed = flush_now(due);
    if (flushed) return {};
    if (flushed.error().code != errc::denied) return failure(flushed.error());
    // Open for inspection: nothing is stored any more, so all that is there was stored before.
    flush_mark.store(~u64{0}, std::memory_order_release);
    flush_at.store(0, std::memory_order_release);
    return {};
}

result<store::reply> store::flush_all(std::uint64_t when) {
    if (when <= impl_->now()) return impl_->flush_now();
    // The mark of a flush that is due is stored first: flush_later() replaces the time of it.
    if (auto settled = impl_->settle_flush(); !settled) return failure(std::move(settled.error()));
    return impl_->flush_later(when);
}

}  // namespace hf
