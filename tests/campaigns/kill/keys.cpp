#include "keys.hpp"

#include <holdfast/map.hpp>

#include "base/random.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace hf::kill_test {

namespace {

constexpr u32 large_keys_of_an_owner = 4;

class key_maker {
   public:
    key_maker(u64 seed, u32 owners) : random_(seed), owners_(owners) {}

    /// 8 bytes: exactly one slice of the trie. Owners alternate.
    void slices(u32 count) {
        for (u32 i = 0; i < count; ++i) {
            std::string key(8, '\0');
            const u64 drawn = random_();
            std::memcpy(key.data(), &drawn, 8);
            add(std::move(key), any_owner());
        }
    }

    /// 0 to 7 bytes of a small alphabet: many slices that differ only in length.
    void short_ones(u32 count) {
        add("", any_owner());
        for (u32 i = 0; i < count; ++i) {
            add(drawn_from("abcdefgh", 1 + random_.below(7)), any_owner());
        }
    }

    /// In ascending order, 64 in a row for each owner: nodes are filled from the right, and
    /// emptied.
    void names(u32 count) {
        for (u32 i = 0; i < count; ++i) {
            char name[32];
            std::snprintf(name, sizeof(name), "record/%08u", i);
            add(name, i / 64 % owners_);
        }
    }

    /// Up to 300 bytes after common prefixes: nested layers.
    void long_ones(u32 count) {
        constexpr std::size_t lengths[] = {8, 9, 16, 23, 40, 100, 250};
        constexpr u32 per_prefix = 48;
        for (u32 made = 0; made < count; made += per_prefix) {
            std::string prefix = drawn_from("xyz", lengths[random_.below(std::size(lengths))]);
            const bool shared = random_.below(2) == 0;
            const u32 owner = any_owner();
            for (u32 i = 0; i < per_prefix; ++i) {
                const std::size_t room = std::min<std::size_t>(300 - prefix.size(), 50);
                add(prefix + drawn_from("0123456789", 1 + random_.below(room)),
                    shared ? any_owner() : owner);
            }
        }
    }

    /// Of maximum length.
    void longest_ones(u32 count) {
        for (u32 i = 0; i < count; ++i) {
            add(drawn_from("pq", max_key_size - random_.below(2)), any_owner());
            add(std::string(max_key_size - 1 - i, 'r') + "!", any_owner());
        }
    }

    /// Zero bytes, 0xff bytes, and keys that are prefixes of others.
    void awkward_ones(u32 count) {
        using namespace std::string_literals;
        for (u32 i = 0; i < count; ++i) {
            add(drawn_from("\0\xff"s + "a", random_.below(25)), any_owner());
        }
    }

    [[nodiscard]] const std::map<std::string, u32>& made() const noexcept { return made_; }

   private:
    void add(std::string key, u32 owner) { made_.emplace(std::move(key), owner); }
    u32 any_owner() { return static_cast<u32>(random_.below(owners_)); }

    std::string drawn_from(std::string_view alphabet, std::size_t length) {
        std::string key(length, '\0');
        for (char& c : key) c = alphabet[random_.below(alphabet.size())];
        return key;
    }

    xoshiro256ss random_;
    u32 owners_;
    std::map<std::string, u32> made_;
};

}  // namespace

key_set::key_set(u64 seed, u32 count, u32 owners) : owned_(owners), large_(owners) {
    key_maker maker(seed, owners);
    maker.slices(count * 40 / 100);
    maker.short_ones(count * 10 / 100);
    maker.names(count * 15 / 100);
    maker.long_ones(count * 20 / 100);
    maker.awkward_ones(count * 15 / 100);
    maker.longest_ones(4);
    for (const auto& [key, owner] : maker.made()) {
        owned_[owner].push_back(size());
        keys_.push_back(key);
    }
    xoshiro256ss random(~seed);
    for (u32 owner = 0; owner < owners; ++owner) {
        for (u32 i = 0; i < large_keys_of_an_owner; ++i) {
            large_[owner].push_back(owned_[owner][random.below(owned_[owner].size())]);
        }
    }
}

std::optional<u32> key_set::find(std::string_view bytes) const noexcept {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), bytes);
    if (at == keys_.end() || *at != bytes) return std::nullopt;
    return static_cast<u32>(at - keys_.begin());
}

std::string printable(std::string_view bytes) {
    const bool readable = std::all_of(bytes.begin(), bytes.end(),
                                      [](char c) { return c > ' ' && c <= '~' && c != '"'; });
    std::string text = readable ? "\"" : "0x";
    constexpr std::size_t most = 40;
    for (const char c : bytes.substr(0, most)) {
        if (readable) {
            text += c;
        } else {
            char digits[3];
            std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(c) & 0xff);
            text += digits;
        }
    }
    if (bytes.size() > most) text += "... (" + std::to_string(bytes.size()) + " bytes)";
    if (readable) text += '"';
    return text;
}

}  // namespace hf::kill_test
