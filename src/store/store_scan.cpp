// Iterates over all records.
#include "store/store_impl.hpp"

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

result<std::size_t> store::purge(std::size_t count) {
    if (count == 0) {
        return 0;
    }
    if (auto settled = impl_->settle_flush(); !settled) {
        return failure(std::move(settled.error()));
    }
    const std::lock_guard lock(impl_->purge_mutex);
    struct {
        impl* self;
        u64 at;
        std::size_t bytes = 0;
        std::vector<std::string> dead = {};
    } c{impl_.get(), impl_->now()};
    // In an ordered index the store's own record is the first one, and is not counted.
    const std::size_t about = impl_->purge_cursor.empty() ? count + 1 : count;
    const auto walked = impl_->records.walk(
        impl_->purge_cursor, about, [&c](std::string_view key, std::string_view bytes) {
            if (key == impl::master_key) return true;
            if (c.self->look(bytes, c.at).state == detail::sighting_state::dead) {
                c.dead.emplace_back(key);
            }
            c.bytes += bytes.size();
            return c.bytes < purge_bytes;
        });
    if (!walked) {
        return failure(walked.error());
    }
    for (const auto& key : c.dead) {
        impl_->sweep(key, c.at);
    }
    return c.dead.size();
}

}  // namespace hf
