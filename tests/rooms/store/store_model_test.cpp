// Any sequence of operations, with restarts, has the same results as on a std::map.
#include "store/store_number.hpp"
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace hf::test {
namespace {

using outcome = store::outcome;
using u64 = std::uint64_t;

struct entry {
    std::string data;
    store::attributes about;
    u64 cas = 0;
};

/// memcached's semantics, as simply as possible.
struct model {
    std::map<std::string, entry> records;
    u64 now = 0;
    u64 flush_at = 0;

    entry* find(const std::string& key) {
        if (flush_at != 0 && flush_at <= now) {
            records.clear();
            flush_at = 0;
        }
        const auto at = records.find(key);
        if (at == records.end()) return nullptr;
        if (at->second.about.expires != 0 && at->second.about.expires <= now) {
            records.erase(at);
            return nullptr;
        }
        return &at->second;
    }
};

class pair_under_test {
   public:
    pair_under_test() { expected_.now = s_.now(); }

    void step() {
        const std::string key(1, *rc::gen::inRange('a', 'e'));
        const auto data = *rc::gen::element<std::string>(
            "", "7", "99", "-3", "x", "10   ", "18446744073709551615", std::string(5000, 'v'));
        const store::attributes about{*rc::gen::inRange(0U, 3U), expiry()};
        const auto delta = *rc::gen::element<u64>(0, 1, 5, 1000);
        entry* const old = expected_.find(key);
        switch (*rc::gen::inRange(0, 14)) {
            case 0:
                return put(must(s_->set(key, data, about)), key, {data, about}, outcome::stored);
            case 1:
                return put(must(s_->add(key, data, about)), key, {data, about},
                           old != nullptr ? outcome::not_stored : outcome::stored);
            case 2:
                return put(must(s_->replace(key, data, about)), key, {data, about},
                           old != nullptr ? outcome::stored : outcome::not_stored);
            case 3: {
                const u64 unique = (old != nullptr ? old->cas : 1) + *rc::gen::inRange<u64>(0, 2);
                const auto what = old == nullptr       ? outcome::not_found
                                  : old->cas == unique ? outcome::stored
                                                       : outcome::exists;
                return put(must(s_->cas(key, data, about, unique)), key, {data, about}, what);
            }
            case 4:
            case 5: {
                const bool at_end = *rc::gen::arbitrary<bool>();
                const auto reply =
                    at_end ? must(s_->append(key, data)) : must(s_->prepend(key, data));
                if (old == nullptr) return put(reply, key, {}, outcome::not_stored);
                return put(reply, key, {at_end ? old->data + data : data + old->data, old->about},
                           outcome::stored);
            }
            case 6:
                RC_ASSERT(must(s_->remove(key)).what ==
                          (old != nullptr ? outcome::removed : outcome::not_found));
                expected_.records.erase(key);
                return;
            case 7:
            case 8:
                return count(key, old, delta, *rc::gen::arbitrary<bool>());
            case 9: {
                RC_ASSERT(must(s_->touch(key, about.expires)).what ==
                          (old != nullptr ? outcome::touched : outcome::not_found));
                if (old != nullptr) old->about.expires = about.expires;
                return;
            }
            case 10: {
                const u64 when = *rc::gen::element<u64>(0, expected_.now + 2);
                must(s_->flush_all(when));
                if (when == 0) expected_.records.clear();
                expected_.flush_at = when;
                return;
            }
            case 11:
                return advance(*rc::gen::inRange<u64>(0, 3));
            case 12:
                return s_.reopen();
            default:
                must(s_->purge(*rc::gen::inRange<std::size_t>(0, 4)));
                return;
        }
    }

    void compare() {
        for (char c = 'a'; c < 'e'; ++c) {
            const std::string key(1, c);
            const entry* const old = expected_.find(key);
            store::record found;
            RC_ASSERT(must(s_->get(key, found)) == (old != nullptr));
            if (old != nullptr) {
                RC_ASSERT(found.data() == old->data);
                RC_ASSERT(found.about.flags == old->about.flags);
                RC_ASSERT(found.about.expires == old->about.expires);
                RC_ASSERT(found.cas == old->cas);
            }
        }
    }

   private:
    u64 expiry() { return *rc::gen::element<u64>(0, 0, expected_.now + 1, expected_.now + 3, 1); }

    void advance(u64 seconds) {
        s_.advance(seconds);
        expected_.now += seconds;
    }

    void put(const store::reply& reply, const std::string& key, entry fresh, outcome what) {
        RC_ASSERT(reply.what == what);
        if (what == outcome::stored) {
            fresh.cas = reply.number;
            expected_.records[key] = std::move(fresh);
        }
    }

    void count(const std::string& key, entry* old, u64 delta, bool up) {
        const auto reply = up ? must(s_->incr(key, delta)) : must(s_->decr(key, delta));
        const auto value = old != nullptr ? detail::parse_unsigned(old->data) : std::nullopt;
        if (!value || old->data.size() > store::max_number_size) {
            RC_ASSERT(reply.what == (old == nullptr ? outcome::not_found : outcome::not_a_number));
            return;
        }
        const u64 next = up ? *value + delta : *value - std::min(*value, delta);
        RC_ASSERT(reply.what == outcome::stored);
        RC_ASSERT(reply.number == next);
        std::string text = std::to_string(next);
        text.resize(std::max(text.size(), old->data.size()), ' ');
        old->data = text;
        store::record found;
        if (must(s_->get(key, found))) {
            RC_ASSERT(found.cas != old->cas);
            old->cas = found.cas;
        }
    }

    temporary_store s_;
    model expected_;
};

RC_GTEST_PROP(store_model, agrees_with_a_plain_map, ()) {
    pair_under_test both;
    const auto steps = *rc::gen::inRange(1, 60);
    for (int i = 0; i < steps; ++i) {
        both.step();
        both.compare();
    }
}

}  // namespace
}  // namespace hf::test
