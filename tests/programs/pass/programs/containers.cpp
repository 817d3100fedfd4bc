// Containers of the standard library whose nodes lie in a region, next to the same containers
// outside; exceptions; constructors and virtual functions.
#include "pass/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#ifndef FEW
#define FEW 0
#endif

namespace {

void check(bool is_right, const char* what) {
    if (is_right) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::_Exit(1);
}

/// Allocates in the arena; blocks that are freed are used again by size.
template <class T>
struct arena_allocator {
    using value_type = T;
    arena_allocator() = default;
    template <class U>
    arena_allocator(const arena_allocator<U>&) {}
    T* allocate(std::size_t n) {
        auto& freed = free_blocks()[n * sizeof(T)];
        if (freed.empty()) return static_cast<T*>(recorder_allocate(n * sizeof(T)));
        void* const block = freed.back();
        freed.pop_back();
        return static_cast<T*>(block);
    }
    void deallocate(T* p, std::size_t n) { free_blocks()[n * sizeof(T)].push_back(p); }
    static std::map<std::size_t, std::vector<void*>>& free_blocks() {
        static std::map<std::size_t, std::vector<void*>> blocks;
        return blocks;
    }
    template <class U>
    bool operator==(const arena_allocator<U>&) const {
        return true;
    }
};

using text = std::basic_string<char, std::char_traits<char>, arena_allocator<char>>;
template <class K, class V>
using tree = std::map<K, V, std::less<K>, arena_allocator<std::pair<const K, V>>>;
template <class K, class V>
using table = std::unordered_map<K, V, std::hash<K>, std::equal_to<K>,
                                 arena_allocator<std::pair<const K, V>>>;
template <class T>
using chain = std::list<T, arena_allocator<T>>;

template <class T, class... Arguments>
T& make(Arguments&&... arguments) {
    return *new (recorder_allocate(sizeof(T))) T(std::forward<Arguments>(arguments)...);
}

constexpr int rounds = FEW ? 40 : 300;

void trees() {
    auto& there = make<tree<int, text>>();
    std::map<int, std::string> here;
    unsigned seed = 1;
    for (int i = 0; i < rounds * 2; ++i) {
        seed = seed * 1103515245 + 12345;
        const int key = static_cast<int>(seed >> 16) % (rounds / 2);
        if (seed >> 8 & 1) {
            here.erase(key);
            there.erase(key);
        } else {
            const std::string value(static_cast<std::size_t>(key % 50), 'v');
            here[key] = value;
            there[key] = value.c_str();
        }
    }
    check(here.size() == there.size(), "size of a map");
    auto at = there.begin();
    for (const auto& [key, value] : here) {
        check(at->first == key && value == at->second.c_str(), "element of a map");
        ++at;
    }
    auto back = there.rbegin();
    for (auto r = here.rbegin(); r != here.rend(); ++r, ++back) {
        check(back->first == r->first, "element of a map, backwards");
    }
    there.clear();
}

void tables() {
    auto& there = make<table<int, int>>();
    for (int i = 0; i < rounds; ++i) there[i * 7] = i;
    for (int i = 0; i < rounds; i += 2) there.erase(i * 7);
    for (int i = 0; i < rounds; ++i) {
        check(there.count(i * 7) == (i % 2 ? 1U : 0U), "element of a hash table");
    }
}

void chains() {
    auto& a = make<chain<int>>();
    auto& b = make<chain<int>>();
    for (int i = 0; i < 10; ++i) a.push_back(i);
    for (int i = 0; i < 3; ++i) b.push_front(i);
    a.splice(std::next(a.begin(), 5), b, b.begin(), std::next(b.begin(), 2));
    a.reverse();
    a.swap(b);
    b.sort();
    check(a.size() == 1 && b.size() == 12, "sizes of lists");
    const int expected[] = {0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9};
    int i = 0;
    for (const int value : b) check(value == expected[i++], "element of a list");
    b.remove(1);
    check(b.size() == 10, "size after remove");
}

void strings() {
    auto& there = make<text>();
    std::string here;
    for (int i = 0; i < rounds / 4; ++i) {
        there += "abc";
        here += "abc";
        there.insert(1, "x");
        here.insert(1, "x");
        there.replace(2, 1, "yz");
        here.replace(2, 1, "yz");
    }
    check(here == there.c_str(), "contents of a string");
    // The library's own string, whose members are in libstdc++.so: short, so its bytes are inside.
    auto& plain = make<std::string>();
    plain = "short";
    plain.append("er");
    plain.resize(9, '.');
    check(plain == "shorter..", "a plain string");
}

struct shape {
    virtual ~shape() = default;
    virtual int sides() const { return 0; }
    int color = 3;
};
struct square : shape {
    int sides() const override { return 4; }
    int side = 9;
};

__attribute__((noinline)) void store_and_throw(int* p, bool throws) {
    *p = 1;
    if (throws) throw std::runtime_error("on purpose");
    *p = 2;
}

void exceptions() {
    auto& p = make<int>(0);
    for (const bool throws : {false, true}) {
        try {
            store_and_throw(&p, throws);
            check(p == 2, "a store before a return");
        } catch (const std::runtime_error&) {
            check(p == 1, "a store before a throw");
        }
    }
    auto& s = make<square>();
    check(s.sides() == 4 && s.color == 3 && s.side == 9, "an object");
    s.~square();
}

}  // namespace

int main() {
    trees();
    tables();
    chains();
    strings();
    exceptions();
    check(recorder_hooks() > 100, "hooks");
}
