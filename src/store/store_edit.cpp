// Operations that derive a record from the current one: incr, decr, touch, append, prepend.
//
// Small records are changed under the node's lock. Large ones are copied, changed, and stored if
// their cas unique is unchanged; otherwise the operation retries. The loop is lock-free: a lost
// round means that another writer has succeeded.
#include "store/store_impl.hpp"
#include "store/store_number.hpp"

#include <algorithm>
#include <utility>

namespace hf {

namespace {

using detail::sighting;
using detail::sighting_state;

/// Largest record that is changed under the node's lock, in bytes of data.
constexpr std::size_t small_data = 4096;

}  // namespace

result<store::reply> store::impl::count(std::string_view key, u64 delta, bool up) {
    const char* const what = up ? "increment a record" : "decrement a record";
    if (auto begun = begin(key, what); !begun) {
        return failure(std::move(begun.error()));
    }
    struct context {
        const impl* self;
        u64 delta;
        bool up;
        u64 at;
        u64 unique = 0;
        u64 number = 0;
        bool overtaken = false;
        bool damaged = false;
        outcome what = outcome::not_found;

        hf::map::edit operator()(std::optional<std::string_view> old, std::string& fresh) {
            const auto found = self->look(old, at);
            overtaken = unique <= self->flush_mark.load(std::memory_order_acquire);
            damaged = found.state == sighting_state::damaged;
            what = outcome::not_found;
            if (found.state == sighting_state::dead) {
                return hf::map::edit::remove;
            }
            if (found.state != sighting_state::live || overtaken) {
                return hf::map::edit::keep;
            }
            const auto value = found.data.size() <= max_number_size
                                   ? detail::parse_unsigned(found.data)
                                   : std::nullopt;
            if (!value) {
                what = outcome::not_a_number;
                return hf::map::edit::keep;
            }
            number = up ? *value + delta : *value - std::min(*value, delta);
            char digits[detail::max_digits];
            const auto printed = detail::print_decimal(number, digits);
            const std::size_t size = std::max(printed.size(), found.data.size());
            auto header = found.header;
            header.unique = unique;
            fresh.assign(detail::encode(header).view());
            fresh.append(printed);
            fresh.append(size - printed.size(), ' ');
            what = outcome::stored;
            return hf::map::edit::replace;
        }
    } c{this, delta, up, now()};
    for (;;) {
        const auto unique = draw_unique();
        if (!unique) {
            return failure(unique.error());
        }
        c.unique = *unique;
        const auto done = records.modify(key, [&c](std::optional<std::string_view> old,
                                                   std::string& fresh) { return c(old, fresh); });
        if (!done) {
            if (make_room(done.error())) continue;
            return failure(done.error());
        }
        if (c.damaged) {
            return failure(damaged(what, key));
        }
        if (!c.overtaken) {
            return reply{c.what, done->written_in, c.what == outcome::stored ? c.number : 0};
        }
    }
}

result<store::reply> store::impl::touch(std::string_view key, u64 expires, record* out) {
    if (auto begun = begin(key, "touch a record"); !begun) {
        return failure(std::move(begun.error()));
    }
    if (auto said = say_short_headers(); !said) {
        return failure(std::move(said.error()));
    }
    struct context {
        const impl* self;
        u64 expires;
        record* out;
        u64 at;
        bool large = false;
        bool damaged = false;
        outcome what = outcome::not_found;

        hf::map::edit operator()(std::optional<std::string_view> old, std::string& fresh) {
            const auto found = self->look(old, at);
            large = false;
            damaged = found.state == sighting_state::damaged;
            what = outcome::not_found;
            if (out != nullptr) {
                out->ended = self->end_of(found);
            }
            if (found.state == sighting_state::dead) {
                return hf::map::edit::remove;
            }
            if (found.state != sighting_state::live) {
                return hf::map::edit::keep;
            }
            large = found.data.size() > small_data;
            if (large) {
                return hf::map::edit::keep;
            }
            auto header = found.header;
            header.expires = expires;
            fresh.assign(detail::encode(header).view());
            if (out != nullptr) {
                out->begin_ = fresh.size();
            }
            fresh.append(found.data);
            if (out != nullptr) {
                out->bytes_.assign(fresh);
                out->about = {header.flags, header.expires};
                out->cas = header.unique;
            }
            what = outcome::touched;
            return hf::map::edit::replace;
        }
    } c{this, expires, out, now()};
    may_die(expires);
    const auto modify = [&] {
        return records.modify(key, [&c](std::optional<std::string_view> old, std::string& fresh) {
            return c(old, fresh);
        });
    };
    auto done = modify();
    while (!done && make_room(done.error())) done = modify();
    if (!done) {
        return failure(done.error());
    }
    if (c.damaged) {
        return failure(damaged("touch a record", key));
    }
    if (c.large) {
        record scratch;
        return touch_large(key, expires, out != nullptr ? *out : scratch);
    }
    return reply{c.what, done->written_in, 0};
}

result<store::reply> store::impl::touch_large(std::string_view key, u64 expires, record& out) {
    struct {
        const impl* self;
        u64 at;
        u64 unique = 0;
    } c{this, now()};
    for (;;) {
        const auto found = records.get(key, out.bytes_);
        if (!found) {
            return failure(found.error());
        }
        if (!*found) {
            return reply{outcome::not_found, records.current_epoch(), 0};
        }
        auto live = accept(key, out, c.at);
        if (!live) {
            return failure(std::move(live.error()));
        }
        if (!*live) {
            return reply{outcome::not_found, records.current_epoch(), 0};
        }
        c.unique = out.cas;
        out.about.expires = expires;
        const auto header = detail::encode({out.about.flags, expires, out.cas});
        out.bytes_.replace(0, out.begin_, header.view());
        out.begin_ = header.size;
        const auto put = records.put_if(key, out.bytes_, [&c](std::optional<std::string_view> old) {
            const auto seen = c.self->look(old, c.at);
            return seen.state == sighting_state::live && seen.header.unique == c.unique;
        });
        if (!put) {
            if (make_room(put.error())) continue;
            return failure(put.error());
        }
        if (put->changed) {
            return reply{outcome::touched, put->written_in, 0};
        }
    }
}

result<store::reply> store::impl::extend(std::string_view key, std::string_view data,
                                         std::size_t limit, bool at_end) {
    const char* const what = at_end ? "append to a record" : "prepend to a record";
    if (auto begun = begin(key, what); !begun) {
        return failure(std::move(begun.error()));
    }
    limit = std::min(limit, max_data_size);
    const u64 at = now();
    record old;
    for (;;) {
        const auto found = records.get(key, old.bytes_);
        if (!found) {
            return failure(found.error());
        }
        if (!*found) {
            return reply{outcome::not_stored, records.current_epoch(), 0};
        }
        const auto live = accept(key, old, at);
        if (!live) {
            return failure(live.error());
        }
        if (!*live || data.size() > limit || old.data().size() > limit - data.size()) {
            return reply{outcome::not_stored, records.current_epoch(), 0};
        }
        draft whole;
        whole.reserve(old.data().size() + data.size());
        whole.append(at_end ? old.data() : data);
        whole.append(at_end ? data : old.data());
        auto done = write_if(key, whole, old.about, what,
                             [](const sighting& seen, const detail::record_header& expected) {
                                 // A concurrent touch changes only the expiry, which must not be
                                 // undone.
                                 const bool same = seen.state == sighting_state::live &&
                                                   seen.header.unique == expected.unique &&
                                                   seen.header.expires == expected.expires;
                                 return same ? outcome::stored : outcome::exists;
                             },
                             {.expires = old.about.expires, .unique = old.cas});
        if (!done || done->what == outcome::stored) {
            return done;
        }
    }
}

result<store::reply> store::incr(std::string_view key, std::uint64_t delta) {
    return impl_->count(key, delta, true);
}

result<store::reply> store::decr(std::string_view key, std::uint64_t delta) {
    return impl_->count(key, delta, false);
}

result<store::reply> store::touch(std::string_view key, std::uint64_t expires) {
    return impl_->touch(key, expires, nullptr);
}

result<store::reply> store::get_and_touch(std::string_view key, std::uint64_t expires,
                                          record& out) {
    return impl_->touch(key, expires, &out);
}

result<store::reply> store::append(std::string_view key, std::string_view data, std::size_t limit) {
    return impl_->extend(key, data, limit, true);
}

result<store::reply> store::prepend(std::string_view key, std::string_view data,
                                    std::size_t limit) {
    return impl_->extend(key, data, limit, false);
}

}  // namespace hf
