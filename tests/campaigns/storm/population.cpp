#include "storm/population.hpp"

#include <algorithm>
#include <cstring>

namespace hf::test {

namespace {

/// A version, and two bytes of a key's number.
constexpr std::size_t least_size = 6;

u64 mix(u64 a, u64 b) noexcept {
    u64 z = a * 0x9e3779b97f4a7c15 + b * 0xbf58476d1ce4e5b9 + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Short keys first: full leaves of one layer; then two layers, and many.
std::string name_of(u32 key) {
    const u32 n = key / 8;
    switch (key % 8) {
        case 0:
        case 1:
        case 2: {
            const u64 big = __builtin_bswap64(u64{n} * 3 + key % 8);
            return {reinterpret_cast<const char*>(&big), 8};
        }
        case 3:
        case 4:
            return "k" + std::to_string(u64{n} * 2 + key % 8 - 3);
        case 5:
            return "a layer " + std::to_string(n % 13) + "/" + std::to_string(n);
        case 6:
            return "one prefix of all" + std::to_string(n);
        default:
            return "a prefix of five slices, the same for a while " + std::to_string(n % 3) + "." +
                   std::to_string(n);
    }
}

}  // namespace

population::population(u32 keys, bool small) : small_(small), lives_(keys) {
    for (u32 i = 0; i < keys; ++i) {
        names_.push_back(name_of(i));
        numbers_.emplace(names_.back(), i);
    }
}

std::optional<u32> population::find(std::string_view name) const {
    const auto it = numbers_.find(name);
    return it != numbers_.end() ? std::optional(it->second) : std::nullopt;
}

state population::state_of(u32 key, u32 version) const {
    if (version == 0) return {};
    const u64 h = mix(key, version);
    // Periods in which most keys are removed, so that leaves become empty; neighbours have the same
    // periods.
    const bool shrinking = ((version / 8) + key / 64) % 3 == 0;
    if (h % 16 < (shrinking ? 11U : 2U)) return {};
    const u64 dice = (h >> 8) % 2048;
    const u64 random = h >> 24;
    if (dice == 0) return {true, 66'000 + random % 20'000};  // in an extent
    if (dice < 8) return {true, 4096 + random % 30'000};
    if (dice < 128) return {true, 200 + random % 2000};
    if (small_ && dice < 1800) return {true, 8 - (dice % 4 == 0 ? random % 3 : 0)};
    return {true, 8 + random % 100};
}

std::string population::value_of(u32 key, u32 version) const {
    std::string v(state_of(key, version).size, static_cast<char>(mix(version, key)));
    std::memcpy(v.data(), &version, 4);
    std::memcpy(v.data() + 4, &key, std::min<std::size_t>(v.size() - 4, 4));
    return v;
}

u32 population::begin(u32 key) {
    const u32 version = lives_[key].begun.load(std::memory_order_relaxed) + 1;
    lives_[key].begun.store(version, std::memory_order_seq_cst);
    return version;
}

void population::done(u32 key, u32 version) {
    lives_[key].done.store(version, std::memory_order_seq_cst);
}

u32 population::newest(u32 key) const { return lives_[key].done.load(std::memory_order_relaxed); }

population::known population::before(u32 key) const {
    return {lives_[key].done.load(std::memory_order_seq_cst)};
}

bool population::may_be(const life& l, u32 version, u32 oldest, u32 newest) const noexcept {
    return version >= oldest && version <= newest && (version == l.kept || version >= l.first);
}

std::optional<std::string> population::judge(u32 key, known k,
                                             std::optional<std::string_view> seen) const {
    const life& l = lives_[key];
    const u32 newest = l.begun.load(std::memory_order_seq_cst);
    const auto range = [&] {
        return " of key " + std::to_string(key) + "; it may be of version " +
               std::to_string(k.oldest) + " to " + std::to_string(newest) + ", " +
               std::to_string(l.kept) + " is what the last crash left, and " +
               std::to_string(l.first) + " the first since";
    };
    if (!seen) {
        for (u32 v = k.oldest; v <= newest; ++v) {
            if (may_be(l, v, k.oldest, newest) && !state_of(key, v).present) return std::nullopt;
        }
        return "nothing was found" + range();
    }
    u32 who = 0;
    u32 version = 0;
    if (seen->size() < least_size) return "a value of no key was found" + range();
    std::memcpy(&version, seen->data(), 4);
    std::memcpy(&who, seen->data() + 4, std::min<std::size_t>(seen->size() - 4, 4));
    if (who != key) return "the value of key " + std::to_string(who) + " was found" + range();
    if (!may_be(l, version, k.oldest, newest)) {
        return "version " + std::to_string(version) + " was found" + range();
    }
    if (!state_of(key, version).present || *seen != value_of(key, version)) {
        return "garbage with the version " + std::to_string(version) + " was found" + range();
    }
    return std::nullopt;
}

void population::roll_back(const std::vector<u32>& versions) {
    for (u32 key = 0; key < size(); ++key) {
        life& l = lives_[key];
        l.kept = versions[key];
        l.first = l.begun.load() + 1;
        l.done = versions[key];
    }
}

}  // namespace hf::test
