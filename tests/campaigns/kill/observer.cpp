#include "observer.hpp"

#include "base/checksum.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace hf::kill_test {

namespace {

observation noted(std::string_view value) {
    observation o{true, static_cast<u32>(value.size()), 0, checksum64(value.data(), value.size())};
    std::memcpy(&o.tag, value.data(), std::min(value.size(), sizeof(o.tag)));
    return o;
}

bool same(const observation& a, const observation& b) {
    return a.present == b.present && a.size == b.size && a.checksum == b.checksum;
}

class observer {
   public:
    observer(const map& target, journal& record, const key_set& keys, u64 seed)
        : map_(target), journal_(record), keys_(keys), random_(seed) {}

    void run() {
        get_all();
        for (u32 key = 0; key < keys_.size(); ++key) {
            if (journal_.observed()[key].present) present_.push_back(key);
        }
        if (!map_.is_ordered()) return walk();
        scan({}, false, true, ~u64{0});
        scan(std::nullopt, false, false, ~u64{0});
        for (int i = 0; i < 20; ++i) {
            const auto from = static_cast<u32>(random_.below(keys_.size()));
            scan(from, random_.below(2) == 0, random_.below(2) == 0, 1 + random_.below(50));
        }
    }

   private:
    void get_all() {
        std::string value;
        for (u32 key = 0; key < keys_.size(); ++key) {
            const auto found = map_.get(keys_[key], value);
            if (!found) complain(key, "get failed: " + found.error().to_string());
            journal_.observed()[key] = found && *found ? noted(value) : observation{};
        }
    }

    /// For an index without order.
    void walk() {
        std::vector<bool> met(keys_.size());
        const auto visit = [&](std::string_view key, std::string_view value) {
            const auto number = keys_.find(key);
            if (!number) {
                complain(0, "a walk met the key " + printable(key) + ", which nobody ever wrote");
                return false;
            }
            if (met[*number]) complain(*number, "a walk met it twice");
            met[*number] = true;
            if (!same(noted(value), journal_.observed()[*number])) {
                complain(*number, "a walk met another value than get() found");
            }
            return true;
        };
        std::string cursor;
        do {
            const auto done = map_.walk(cursor, 1000, visit);
            if (!done) return complain(0, "a walk failed: " + done.error().to_string());
        } while (!cursor.empty());
        for (const u32 key : present_) {
            if (!met[key]) complain(key, "a walk did not meet it, but get() finds it");
        }
    }

    /// Scans from a key, or from the end of the map, and compares with the results of get().
    void scan(std::optional<u32> from, bool exclusive, bool forward, u64 most) {
        const char* const name = forward ? "a scan" : "a scan backward";
        auto at = first_of(from, exclusive, forward);
        const auto expected = [&]() -> std::optional<u32> {
            if (at < 0 || at >= std::ssize(present_)) return std::nullopt;
            return present_[static_cast<std::size_t>(at)];
        };
        const auto visit = [&](std::string_view key, std::string_view value) {
            const auto number = keys_.find(key);
            const auto next = expected();
            if (!number) {
                complain(0, std::string(name) + " met the key " + printable(key) +
                                ", which nobody ever wrote");
                return false;
            }
            if (next != number) {
                complain(*number, std::string(name) + " met it, but get() says that " +
                                      (next ? printable(keys_[*next]) : "the end") + " comes here");
                return false;
            }
            if (!same(noted(value), journal_.observed()[*number])) {
                complain(*number, std::string(name) + " met another value than get() found");
            }
            at += forward ? 1 : -1;
            return --most > 0;
        };
        const auto bound = from ? keys_[*from] : std::string_view();
        const auto done = forward ? map_.scan(bound, visit, exclusive)
                                  : map_.scan_backward(from ? std::optional(bound) : std::nullopt,
                                                       visit, exclusive);
        if (!done) {
            complain(from.value_or(0), std::string(name) + " failed: " + done.error().to_string());
        }
        if (done && most > 0 && expected()) {
            complain(*expected(), std::string(name) + " ended before it, but get() finds it");
        }
    }

    /// The position in present_ at which a scan has to start.
    [[nodiscard]] std::ptrdiff_t first_of(std::optional<u32> from, bool exclusive,
                                          bool forward) const {
        if (!from) return forward ? 0 : std::ssize(present_) - 1;
        const auto low =
            std::lower_bound(present_.begin(), present_.end(), *from) - present_.begin();
        const bool hit =
            low < std::ssize(present_) && present_[static_cast<std::size_t>(low)] == *from;
        if (forward) return hit && exclusive ? low + 1 : low;
        return hit && !exclusive ? low : low - 1;
    }

    void complain(u32 key, const std::string& what) {
        journal_.wrongs().add("observer, key " + std::to_string(key) + " " + printable(keys_[key]) +
                              ": " + what);
    }

    const map& map_;
    journal& journal_;
    const key_set& keys_;
    xoshiro256ss random_;
    std::vector<u32> present_;
};

}  // namespace

void observe(const map& target, journal& record, const key_set& keys, u64 seed) {
    observer(target, record, keys, seed).run();
}

}  // namespace hf::kill_test
