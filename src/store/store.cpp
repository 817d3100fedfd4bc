#include "base/check.hpp"
#include "map/inspect.hpp"
#include "store/store_impl.hpp"

#include <utility>

namespace hf {
namespace {

/// The key in printable form, for an error message.
std::string printable(std::string_view key) {
    constexpr std::size_t most = 64;
    std::string text = "key \"";
    for (const char c : key.substr(0, most)) {
        text += c >= ' ' && c <= '~' ? c : '?';
    }
    text += key.size() > most ? "...\"" : "\"";
    return text;
}

}  // namespace

std::string_view to_string(store::outcome o) noexcept {
    switch (o) {
        case store::outcome::stored:
            return "stored";
        case store::outcome::not_stored:
            return "not stored";
        case store::outcome::exists:
            return "exists";
        case store::outcome::not_found:
            return "not found";
        case store::outcome::removed:
            return "removed";
        case store::outcome::touched:
            return "touched";
        case store::outcome::not_a_number:
            return "not a number";
    }
    return "unknown";
}

std::string store::record::take() noexcept {
    about = {};
    cas = 0;
    ended = end::none;
    begin_ = 0;
    return std::exchange(bytes_, {});
}

void store::draft::append(std::string_view data) {
    if (bytes_.empty()) {
        bytes_.reserve(most_header_size + data.size());
        bytes_.assign(most_header_size, '\0');
    }
    bytes_.append(data);
}

void store::draft::clear(std::size_t keep) noexcept {
    if (bytes_.capacity() > keep + most_header_size) {
        bytes_ = std::string();
    } else {
        bytes_.clear();
    }
}

store::store(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
store::store(store&&) noexcept = default;
store& store::operator=(store&&) noexcept = default;
store::~store() = default;

result<store> store::open(const std::filesystem::path& path, const store_options& options) {
    auto records = hf::map::open(path, options.map);
    if (!records) {
        return failure(std::move(records.error()));
    }
    return over(std::move(*records), options.clock);
}

result<store> store::over(hf::map records, std::function<std::uint64_t()> clock) {
    auto inside = std::make_unique<impl>(std::move(records), std::move(clock));
    if (auto loaded = inside->load(); !loaded) {
        return failure(std::move(loaded.error()));
    }
    return store(std::move(inside));
}

result<void> store::close() { return impl_->records.close(); }

u64 store::impl::now() const { return clock ? clock() : day.seconds(); }

error store::impl::damaged(const char* what, std::string_view key) {
    return {errc::corrupt, what, printable(key), "the record cannot be decoded",
            "remove the record or store it anew, or restore the file from a backup"};
}

result<void> store::impl::begin(std::string_view key, const char* what) {
    if (key.empty()) {
        return failure({errc::usage, what, "empty key", "a record's key has at least one byte",
                        "choose another"});
    }
    if (key.size() > max_key_size) {
        return failure({errc::too_large, what, printable(key),
                        "a key has at most " + std::to_string(max_key_size) + " bytes",
                        "choose a shorter one"});
    }
    return settle_flush();
}

detail::sighting store::impl::look(std::optional<std::string_view> bytes, u64 at) const noexcept {
    using detail::sighting_state;
    if (!bytes) {
        return {};
    }
    const auto decoded =
        detail::decode_record(*bytes, short_headers.load(std::memory_order_acquire));
    if (!decoded) {
        return {sighting_state::damaged, {}, {}};
    }
    const auto& [header, size] = *decoded;
    const bool dead = (header.expires != 0 && header.expires <= at) ||
                      header.unique <= flush_mark.load(std::memory_order_acquire);
    return {dead ? sighting_state::dead : sighting_state::live, header, bytes->substr(size)};
}

store::record::end store::impl::end_of(const detail::sighting& found) const noexcept {
    if (found.state != detail::sighting_state::dead) return record::end::none;
    const bool flushed = found.header.unique <= flush_mark.load(std::memory_order_acquire);
    return flushed ? record::end::flushed : record::end::expired;
}

void store::impl::sweep(std::string_view key, u64 at) {
    struct {
        const impl* self;
        u64 at;
    } c{this, at};
    const auto swept = records.remove_if(key, [&c](std::string_view bytes) {
        return c.self->look(bytes, c.at).state == detail::sighting_state::dead;
    });
    static_cast<void>(swept);
}

result<bool> store::impl::accept(std::string_view key, record& out, u64 at) {
    const auto found = look(out.bytes_, at);
    out.begin_ = out.bytes_.size() - found.data.size();
    switch (found.state) {
        case detail::sighting_state::damaged:
            return failure(damaged("read a record", key));
        case detail::sighting_state::live:
            out.about = {found.header.flags, found.header.expires};
            out.cas = found.header.unique;
            return true;
        case detail::sighting_state::absent:
        case detail::sighting_state::dead:
            break;
    }
    out.ended = end_of(found);
    sweep(key, at);
    return false;
}

/// A damaged record whose number says that it was flushed, as all older records were: it is
/// removed, as a sound one would be. Only after a flush_all; before one it stays, and is reported.
/// The number is read under the node's lock: another thread may have replaced the record since it
/// was found damaged.
bool store::impl::drop_flushed(std::string_view key, record& out) {
    if (flush_mark.load(std::memory_order_acquire) == 0) return false;
    const auto removed =
        map_inspection::remove_unverified_if(records, key, [this](std::string_view bytes) {
            return look(bytes, 0).state == detail::sighting_state::dead;
        });
    if (!removed || !removed->changed) return false;
    out.ended = record::end::flushed;
    return true;
}

result<bool> store::get(std::string_view key, record& out) {
    if (auto begun = impl_->begin(key, "read a record"); !begun) {
        return failure(std::move(begun.error()));
    }
    const u64 at = impl_->now();
    out.ended = record::end::none;
    auto found = impl_->records.get(key, out.bytes_);
    if (!found && found.error().code == errc::corrupt) {
        if (impl_->drop_flushed(key, out)) return false;
        found = impl_->records.get(key, out.bytes_);  // it may have been replaced meanwhile
    }
    if (!found || !*found) {
        return found;
    }
    return impl_->accept(key, out, at);
}

result<store::reply> store::impl::write_if(std::string_view key, draft& value, attributes about,
                                           const char* what, rule allowed,
                                           const detail::record_header& expected,
                                           bool replaces_any) {
    if (auto begun = begin(key, what); !begun) {
        return failure(std::move(begun.error()));
    }
    if (value.size() > max_data_size) {
        return failure({errc::too_large, what, printable(key),
                        "data has at most " + std::to_string(max_data_size) + " bytes",
                        "store it in parts"});
    }
    if (value.bytes_.empty()) {
        value.append({});
    }
    struct {
        const impl* self;
        rule allowed;
        const detail::record_header& expected;
        u64 at;
        u64 unique = 0;
        detail::sighting found = {};
        outcome what = outcome::not_stored;
        bool overtaken = false;
    } c{this, allowed, expected, now()};
    may_die(about.expires);
    for (;;) {
        const auto unique = draw_unique();
        if (!unique) {
            return failure(unique.error());
        }
        c.unique = *unique;
        const auto header = detail::encode({about.flags, about.expires, *unique});
        const std::size_t begin = most_header_size - header.size;
        header.view().copy(value.bytes_.data() + begin, header.size);
        const auto put = records.put_if(
            key, std::string_view(value.bytes_).substr(begin),
            [&c](std::optional<std::string_view> old) {
                c.overtaken = c.unique <= c.self->flush_mark.load(std::memory_order_acquire);
                c.found = c.self->look(old, c.at);
                c.what = c.allowed(c.found, c.expected);
                return !c.overtaken && c.what == outcome::stored;
            });
        if (!put) {
            if (make_room(put.error())) continue;
            if (put.error().code != errc::corrupt || !replaces_any) return failure(put.error());
            auto blind = records.put(key, std::string_view(value.bytes_).substr(begin));
            if (!blind) return failure(blind.error());
            // A flush that came between drawing the number and the put has taken it: again.
            if (c.unique <= flush_mark.load(std::memory_order_acquire)) continue;
            return reply{outcome::stored, blind->written_in, *unique};
        }
        if (c.overtaken) {
            continue;
        }
        if (c.found.state == detail::sighting_state::damaged && c.what != outcome::stored) {
            return failure(damaged(what, key));
        }
        if (c.found.state == detail::sighting_state::dead && c.what != outcome::stored) {
            sweep(key, c.at);
        }
        return reply{c.what, put->written_in, c.what == outcome::stored ? *unique : 0};
    }
}

result<store::reply> store::set(std::string_view key, draft& value, attributes about) {
    return impl_->write_if(
        key, value, about, "store a record",
        [](const detail::sighting&, const detail::record_header&) { return outcome::stored; }, {},
        true);
}

result<store::reply> store::add(std::string_view key, draft& value, attributes about) {
    return impl_->write_if(key, value, about, "add a record",
                           [](const detail::sighting& found, const detail::record_header&) {
                               return found.state == detail::sighting_state::absent ||
                                              found.state == detail::sighting_state::dead
                                          ? outcome::stored
                                          : outcome::not_stored;
                           });
}

result<store::reply> store::replace(std::string_view key, draft& value, attributes about) {
    return impl_->write_if(key, value, about, "replace a record",
                           [](const detail::sighting& found, const detail::record_header&) {
                               return found.state == detail::sighting_state::live
                                          ? outcome::stored
                                          : outcome::not_stored;
                           });
}

result<store::reply> store::cas(std::string_view key, draft& value, attributes about,
                                std::uint64_t unique) {
    return impl_->write_if(
        key, value, about, "compare and swap a record",
        [](const detail::sighting& found, const detail::record_header& expected) {
            if (found.state != detail::sighting_state::live) {
                return outcome::not_found;
            }
            return found.header.unique == expected.unique ? outcome::stored : outcome::exists;
        },
        {.unique = unique});
}

result<store::reply> store::set(std::string_view key, std::string_view data, attributes about) {
    draft value(data);
    return set(key, value, about);
}

result<store::reply> store::add(std::string_view key, std::string_view data, attributes about) {
    draft value(data);
    return add(key, value, about);
}

result<store::reply> store::replace(std::string_view key, std::string_view data, attributes about) {
    draft value(data);
    return replace(key, value, about);
}

result<store::reply> store::cas(std::string_view key, std::string_view data, attributes about,
                                std::uint64_t unique) {
    draft value(data);
    return cas(key, value, about, unique);
}

result<store::reply> store::remove(std::string_view key) {
    if (auto begun = impl_->begin(key, "remove a record"); !begun) {
        return failure(std::move(begun.error()));
    }
    struct {
        const impl* self;
        u64 at;
        detail::sighting_state found = detail::sighting_state::absent;
    } c{impl_.get(), impl_->now()};
    const auto gone = impl_->records.remove_if(key, [&c](std::string_view bytes) {
        c.found = c.self->look(bytes, c.at).state;
        return true;
    });
    if (!gone && gone.error().code == errc::corrupt) {
        // A record whose checksum is wrong can't be shown to a condition.
        const auto blind = impl_->records.remove(key);
        if (!blind) return failure(blind.error());
        return reply{blind->changed ? outcome::removed : outcome::not_found, blind->written_in, 0};
    }
    if (!gone) {
        return failure(gone.error());
    }
    const bool was_there = gone->changed && c.found != detail::sighting_state::dead;
    return reply{was_there ? outcome::removed : outcome::not_found, gone->written_in, 0};
}

void store::prefetch(std::span<const std::string_view> keys) const {
    impl_->records.prefetch(keys);
}
result<void> store::wait_durable(ticket t) { return impl_->records.wait_durable(t); }
result<void> store::sync() { return impl_->records.sync(); }
ticket store::durable_epoch() const noexcept { return impl_->records.durable_epoch(); }
result<void> store::check_files() const { return impl_->records.check_files(); }

statistics store::stats() const {
    statistics s = impl_->records.stats();
    std::string own;
    const auto has_own = impl_->records.get(impl::master_key, own);
    if (s.records && has_own && *has_own) *s.records -= std::min<std::uint64_t>(*s.records, 1);
    return s;
}

std::uint64_t store::now() const { return impl_->now(); }

}  // namespace hf
