// The two ordered maps with keys of each kind, and with so many that the tree has several levels,
// against those of the standard library.
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>

#include "base/random.hpp"
#include "heap_of_nodes.hpp"

#include <algorithm>
#include <map>

namespace hf::test {
namespace {

/// Of words that are not compared as they stand, and more than a search takes at once.
struct name {
    u64 first;
    u64 second;
    u32 third;
    friend auto operator<=>(const name&, const name&) = default;
};
/// A word that is no number.
struct reversed {
    u64 value;
    friend bool operator<(reversed a, reversed b) { return b.value < a.value; }
};

template <class K>
K key_of(u64 n) {
    if constexpr (std::is_same_v<K, name>) {
        return {n % 7, n / 7, static_cast<u32>(n)};
    } else if constexpr (std::is_same_v<K, reversed>) {
        return {n};
    } else if constexpr (std::is_floating_point_v<K>) {
        return static_cast<K>(n) / 8 - 1000;
    } else {
        return static_cast<K>(n - 15'000);
    }
}
template <class V>
struct value_as {
    static u64 of(const V& v) { return v.get(); }
    static void set(nv::tx<>& tx, V& v, u64 n) {
        v.set(tx, static_cast<typename V::value_type>(n));
    }
};
template <>
struct value_as<nv::ptr<node>> {
    static u64 of(const nv::ptr<node>& v) { return static_cast<u64>(v->value.get()); }
    static void set(nv::tx<>& tx, nv::ptr<node>& v, u64 n) {
        v.set(tx, tx.make<node>(static_cast<int>(n)));
    }
};

template <class K, class V>
struct of_a_tree {
    using key = K;
    using value = V;
    using type = nv::map<K, V>;
};
template <class K, class V>
struct of_red_and_black : of_a_tree<K, V> {
    using type = nv::rb_map<K, V>;
};

template <class V>
V& value_in(V& v) {
    return v;
}
template <class E>
auto& value_in(const nv::cursor<E>& e) {
    return e->value;
}

template <class Kind>
class ordered_map : public on_tmpfs {
   protected:
    using key_type = typename Kind::key;
    using value_type = typename Kind::value;
    using map_type = typename Kind::type;

    ordered_map() : heap(open_heap(file)), root(must(heap.template root<map_type>("map"))) {
        must(heap.atomic([&](nv::tx<>& tx) { root.set(tx, tx.make<map_type>()); }));
    }
    /// Numbers, some of them in a transaction: inserts those that are not there, erases the others.
    void toggle(const std::vector<u64>& numbers) {
        for (std::size_t begin = 0; begin < numbers.size();) {
            const std::size_t end = std::min(begin + 1 + random() % 40, numbers.size());
            std::size_t done = begin;
            must(heap.atomic([&](nv::tx<>& tx) {
                while (done > begin) flip(numbers[--done]);  // of an attempt that did not commit
                for (map_type& m = *root.get(); done < end; ++done) {
                    toggle_in(tx, m, numbers[done]);
                    flip(numbers[done]);
                }
            }));
            begin = end;
        }
    }
    void toggle_in(nv::tx<>& tx, map_type& m, u64 number) {
        const key_type key = key_of<key_type>(number);
        const auto at = m.place_of(key);
        ASSERT_EQ(static_cast<bool>(at), model.contains(key)) << number;
        if (at) {
            m.erase_at(tx, at);
        } else {
            value_as<value_type>::set(tx, value_in(m.insert_at(tx, at, key)), number);
        }
    }
    void flip(u64 number) {
        if (!model.emplace(key_of<key_type>(number), number).second)
            model.erase(key_of<key_type>(number));
    }
    void compare() {
        must(heap.read([&](nv::tx<>&) {
            const map_type& m = *root.get();
            ASSERT_EQ(m.size(), model.size());
            auto wanted = model.begin();
            m.for_each([&](const key_type& k, value_type& v) {
                ASSERT_NE(wanted, model.end());
                ASSERT_FALSE(k < wanted->first || wanted->first < k);
                ASSERT_EQ(value_as<value_type>::of(v), wanted->second);
                ++wanted;
            });
            ASSERT_EQ(wanted, model.end());
        }));
        sound(heap);
    }

    nv::heap<> heap;
    nv::root<map_type> root;
    std::map<key_type, u64> model;
    splitmix64 random{7};
};

using number = nv::p<u64>;
using kinds =
    ::testing::Types<of_a_tree<u64, number>, of_a_tree<std::int64_t, number>,
                     of_a_tree<u32, nv::p<u32>>, of_a_tree<double, nv::ptr<node>>,
                     of_a_tree<name, number>, of_a_tree<reversed, number>,
                     of_red_and_black<u64, number>, of_red_and_black<std::int64_t, number>,
                     of_red_and_black<u32, nv::p<u32>>, of_red_and_black<double, nv::ptr<node>>,
                     of_red_and_black<name, number>, of_red_and_black<reversed, number>>;
TYPED_TEST_SUITE(ordered_map, kinds);

TYPED_TEST(ordered_map, is_as_the_standard_one_when_it_has_many_levels) {
    std::vector<u64> numbers;
    for (u64 n = 0; n < 30'000; ++n) numbers.push_back(n);
    this->toggle(numbers);  // in their order, so that a tree's nodes are half full: five levels
    this->compare();
    std::erase_if(numbers, [](u64 n) { return n >= 9'000 && n < 20'000; });
    std::vector<u64> some;
    for (u64 n = 9'000; n < 20'000; ++n) some.push_back(n);
    this->toggle(some);  // whole branches go
    this->compare();
    for (std::size_t i = numbers.size(); i > 1; --i) {
        std::swap(numbers[i - 1], numbers[this->random() % i]);
    }
    some.clear();
    for (u64 i = 0; i < 20'000; ++i) some.push_back(this->random() % 30'000);
    this->toggle(some);
    this->compare();
    this->toggle(numbers);
    this->compare();
    some.clear();
    for (u64 n = 0; n < 30'000; ++n) {
        if (this->model.contains(key_of<typename TypeParam::key>(n))) some.push_back(n);
    }
    this->toggle(some);
    EXPECT_EQ(this->model.size(), 0U);
    this->compare();
    EXPECT_EQ(sound(this->heap).objects, 1U) << "the map itself";
}

}  // namespace
}  // namespace hf::test
