// Iterates over all records.
#include "base/lock_order.hpp"
#include "store/store_impl.hpp"

#include <algorithm>
#include <vector>

namespace hf {

namespace {

/// A call of purge() ends early after this many bytes of values, because a scan copies what it
/// visits.
constexpr std::size_t purge_bytes = std::size_t{1} << 20;

}  // namespace

result<std::size_t> store::scan(std::string_view from, const visitor& visit, bool exclusive) {
    if (auto settled = impl_->settle_flush(); !settled) {
        return failure(std::move(settled.error()));
    }
    struct {
        const impl* self;
        const visitor& visit;
        u64 at;
        std::size_t visited = 0;
        std::optional<error> trouble = std::nullopt;
    } c{impl_.get(), visit, impl_->now()};
    const auto walked = impl_->records.scan(
        from,
        [&c](std::string_view key, std::string_view bytes) {
            if (key.empty()) {
                return true;  // the store's own record
            }
            const auto found = c.self->look(bytes, c.at);
            if (found.state == detail::sighting_state::damaged) {
                c.trouble = impl::damaged("scan the records", key);
                return false;
            }
            if (found.state != detail::sighting_state::live) {
                return true;
            }
            ++c.visited;
            return c.visit(
                key, {found.data, {found.header.flags, found.header.expires}, found.header.unique});
        },
        exclusive);
    if (!walked) {
        return failure(walked.error());
    }
    if (c.trouble) {
        return failure(std::move(*c.trouble));
    }
    return c.visited;
}

result<store::impl::walked> store::impl::purge_from(std::string& cursor, std::size_t about) {
    struct {
        impl* self;
        u64 at;
        walked done = {};
        std::size_t bytes = 0;
        std::vector<std::string> dead = {};
    } c{this, now()};
    // In an ordered index the store's own record is the first one, and is not counted.
    const auto walk = records.walk(cursor, cursor.empty() ? about + 1 : about,
                                   [&c](std::string_view key, std::string_view bytes) {
                                       if (key == impl::master_key) return true;
                                       const auto found = c.self->look(bytes, c.at);
                                       if (found.state == detail::sighting_state::dead) {
                                           c.dead.emplace_back(key);
                                       } else if (found.header.expires != 0) {
                                           c.done.next_expiry =
                                               std::min(c.done.next_expiry, found.header.expires);
                                       }
                                       ++c.done.visited;
                                       c.bytes += bytes.size();
                                       return c.bytes < purge_bytes;
                                   });
    if (!walk) {
        return failure(walk.error());
    }
    for (const auto& key : c.dead) {
        sweep(key, c.at);
    }
    c.done.freed = c.dead.size();
    return c.done;
}

void store::impl::may_die(u64 expires) noexcept {
    u64 before = dead_from.load(std::memory_order_relaxed);
    while (expires != 0 && expires < before &&
           !dead_from.compare_exchange_weak(before, expires, std::memory_order_acq_rel)) {
    }
}

/// A call ends after the first thousands of records that it has freed, or after all records were
/// visited. A record that is stored meanwhile lowers dead_from by itself.
bool store::impl::make_room(const error& why) {
    constexpr std::size_t at_once = 1024;
    constexpr std::size_t enough = 4096;
    if (why.code != errc::no_space) return false;
    const ranked_guard lock(lock_rank::store_purge, purge_mutex);
    if (now() < dead_from.load(std::memory_order_acquire)) return false;
    std::size_t freed = 0;
    u64 next_expiry = ~u64{0};
    unsigned ends = room_cursor.empty() ? 1 : 0;  // 2: all records were visited in one walk
    while (freed < enough) {
        if (room_cursor.empty() && ends == 1) dead_from.store(~u64{0}, std::memory_order_release);
        const auto some = purge_from(room_cursor, at_once);
        if (!some) break;
        freed += some->freed;
        next_expiry = std::min(next_expiry, some->next_expiry);
        if (!room_cursor.empty()) continue;
        if (ends == 1) {
            may_die(next_expiry);
            return freed != 0;
        }
        ++ends;
        next_expiry = ~u64{0};
    }
    if (ends == 1) dead_from.store(0, std::memory_order_release);  // the walk was not completed
    return freed != 0;
}

result<std::size_t> store::purge(std::size_t count) {
    if (count == 0) {
        return 0;
    }
    if (auto settled = impl_->settle_flush(); !settled) {
        return failure(std::move(settled.error()));
    }
    const ranked_guard lock(lock_rank::store_purge, impl_->purge_mutex);
    const auto done = impl_->purge_from(impl_->purge_cursor, count);
    if (!done) {
        return failure(done.error());
    }
    return done->freed;
}

}  // namespace hf
