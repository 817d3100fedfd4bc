#include "heap_world.hpp"

#include "base/random.hpp"

#include <algorithm>

namespace hf::kill_test {

namespace {

using kind = stroke::kind;

constexpr u64 keys = 700;

nv::cursor<thing> make_thing(nv::tx<>& tx, u64 number, u32 size, const nv::cursor<thing>& next) {
    auto more = tx.make_array<nv::p<u64>[]>(size);
    if (size != 0) {
        more[0].set(tx, number);
        more[size - 1].set(tx, number);
    }
    return tx.make<thing>(number, more, next);
}

/// The number of a thing whose array agrees with it; ~0: it does not.
u64 number_of(const nv::cursor<thing>& t) {
    const u64 number = t->number;
    const auto more = t->more.get();
    if (!more) return ~u64{0};
    const std::size_t n = more.size();
    return n == 0 || (more[0] == number && more[n - 1] == number) ? number : ~u64{0};
}

void lengthen(nv::tx<>& tx, desk& mine, const stroke& s) {
    if (mine.chained >= longest_chain) {
        mine.chain.set(tx, nullptr);
        mine.chained.set(tx, 0);
    }
    for (u32 i = 0; i < s.size; ++i) {
        mine.chain.set(tx, make_thing(tx, s.number, i, mine.chain.get()));
    }
    mine.chained.set(tx, mine.chained + s.size);
}

void watch(nv::tx<>& tx, desk& mine, const stroke& s) {
    const auto found = mine.things.find(s.key);
    if (found) {
        mine.watched[s.slot].set(tx, found->value.get());
    } else {
        mine.watched[s.slot].set(tx, nullptr);
    }
}

void act(nv::tx<>& tx, desk& mine, const stroke& s) {
    switch (s.what) {
        case kind::put_ordered:
            return mine.ordered.insert_or_assign(tx, s.key, s.number);
        case kind::erase_ordered:
            return static_cast<void>(mine.ordered.erase(tx, s.key));
        case kind::put_balanced:
            return mine.balanced.insert_or_assign(tx, s.key, s.number);
        case kind::erase_balanced:
            return static_cast<void>(mine.balanced.erase(tx, s.key));
        case kind::put_thing:
            return mine.things.insert_or_assign(tx, s.key,
                                                make_thing(tx, s.number, s.size, nullptr));
        case kind::erase_thing:
            return static_cast<void>(mine.things.erase(tx, s.key));
        case kind::watch:
            return watch(tx, mine, s);
        case kind::lengthen_chain:
            return lengthen(tx, mine, s);
        case kind::push:
            return mine.stack.push_back(tx, s.number);
        case kind::pop:
            if (!mine.stack.empty()) mine.stack.pop_back(tx);
            return;
    }
}

std::map<u64, u64> contents(const auto& of) {
    std::map<u64, u64> all;
    of.for_each([&](u64 key, const nv::p<u64>& value) { all.emplace(key, value.get()); });
    return all;
}

/// Describes the first key for which two maps differ.
std::string difference(std::string_view name, const std::map<u64, u64>& found,
                       const std::map<u64, u64>& expected, std::size_t counted) {
    std::string of(name);
    const auto [a, b] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    const auto text = [](const auto& at, const auto& end) {
        return at == end ? std::string("no more")
                         : std::to_string(at->first) + ": " + std::to_string(at->second);
    };
    if (a != found.end() || b != expected.end()) {
        return of + " has " + text(a, found.end()) + "; should be " + text(b, expected.end());
    }
    if (counted != expected.size()) {
        return of + " counts " + std::to_string(counted) + " entries and has " +
               std::to_string(expected.size());
    }
    return {};
}

std::string difference(std::string_view name, const std::vector<u64>& found,
                       const std::vector<u64>& expected) {
    if (found == expected) return {};
    const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
    return std::string(name) + " has " + std::to_string(found.size()) + " elements, should have " +
           std::to_string(expected.size()) + "; they differ from element " +
           std::to_string(at.first - found.begin()) + " on";
}

std::map<u64, u64> things_of(const desk& d) {
    std::map<u64, u64> all;
    d.things.for_each([&](u64 key, const nv::ptr<thing>& t) {
        all.emplace(key, t ? number_of(t.get()) : ~u64{0});
    });
    return all;
}

std::vector<u64> chain_of(const desk& d) {
    std::vector<u64> all;
    for (auto t = d.chain.get(); t && all.size() < 2 * longest_chain; t = t->next) {
        all.push_back(number_of(t));
    }
    return all;
}

std::vector<u64> stack_of(const desk& d) {
    std::vector<u64> all;
    for (std::size_t i = 0; i < d.stack.size(); ++i) all.push_back(d.stack[i].get());
    return all;
}

/// A weak pointer must be null once its thing is destroyed.
std::string difference_of_watched(const desk& found, const desk_model& expected) {
    std::vector<u64> alive;
    for (const auto& [key, number] : expected.things) alive.push_back(number);
    for (u32 i = 0; i < watched_things; ++i) {
        const auto t = found.watched[i].get();
        const u64 is = t ? number_of(t) : 0;
        const bool lives = std::ranges::find(alive, expected.watched[i]) != alive.end();
        const u64 should = lives ? expected.watched[i] : 0;
        if (is != should) {
            return "weak pointer " + std::to_string(i) + " leads to thing " + std::to_string(is) +
                   "; should be " + std::to_string(should);
        }
    }
    return {};
}

}  // namespace

stroke stroke_of(u64 seed, u32 writer, u64 number) {
    splitmix64 random(splitmix64(seed + writer)() ^ number);
    stroke s;
    s.number = number;
    s.what = static_cast<kind>(random() % stroke::kinds);
    s.key = random() % keys;
    s.slot = static_cast<u32>(random() % watched_things);
    s.from = static_cast<u32>(random() % accounts);
    s.to = static_cast<u32>(random() % accounts);
    s.amount = random() % 10;
    s.size = static_cast<u32>(s.what == kind::lengthen_chain ? 1 + random() % 5
                              : random() % 50 == 0           ? random() % 9'000
                                                             : random() % 40);
    return s;
}

void desk_model::run(const stroke& s) {
    done = s.number;
    switch (s.what) {
        case kind::put_ordered:
            ordered[s.key] = s.number;
            break;
        case kind::erase_ordered:
            ordered.erase(s.key);
            break;
        case kind::put_balanced:
            balanced[s.key] = s.number;
            break;
        case kind::erase_balanced:
            balanced.erase(s.key);
            break;
        case kind::put_thing:
            things[s.key] = s.number;
            break;
        case kind::erase_thing:
            things.erase(s.key);
            break;
        case kind::watch: {
            const auto found = things.find(s.key);
            watched[s.slot] = found == things.end() ? 0 : found->second;
            break;
        }
        case kind::lengthen_chain:
            if (chain.size() >= longest_chain) chain.clear();
            chain.insert(chain.end(), s.size, s.number);
            break;
        case kind::push:
            stack.push_back(s.number);
            break;
        case kind::pop:
            if (!stack.empty()) stack.pop_back();
            break;
    }
}

void run(nv::tx<>& tx, hall& all, desk& mine, const stroke& s) {
    act(tx, mine, s);
    all.money[s.from].set(tx, all.money[s.from] - s.amount);
    all.money[s.to].set(tx, all.money[s.to] + s.amount);
    mine.done.set(tx, s.number);
}

std::string difference(const desk& found, const desk_model& expected) {
    // In the heap the newest is first.
    const std::vector<u64> chain(expected.chain.rbegin(), expected.chain.rend());
    for (std::string text :
         {difference("the B+ tree", contents(found.ordered), expected.ordered,
                     found.ordered.size()),
          difference("the red-black tree", contents(found.balanced), expected.balanced,
                     found.balanced.size()),
          difference("the hash table", things_of(found), expected.things, found.things.size()),
          difference("the vector", stack_of(found), expected.stack),
          difference("the chain", chain_of(found), chain),
          difference_of_watched(found, expected)}) {
        if (!text.empty()) return text;
    }
    return found.chained == expected.chain.size() ? "" : "the chain's length is wrong";
}

u64 sum_of_money(const hall& all) {
    u64 sum = 0;
    for (u32 i = 0; i < accounts; ++i) sum += all.money[i];
    return sum;
}

}  // namespace hf::kill_test
