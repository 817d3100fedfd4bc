// A CLHT does what a std::map does, whatever is done in which order, openings included.
#include "clht_fixture.hpp"

#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <map>

namespace hf::test {
namespace {

struct step {
    u8 what;
    u16 key;
};

void show(const step& s, std::ostream& out) { out << int{s.what} << ' ' << s.key; }

}  // namespace
}  // namespace hf::test

namespace rc {
template <>
struct Arbitrary<hf::test::step> {
    static Gen<hf::test::step> arbitrary() {
        return gen::build<hf::test::step>(
            gen::set(&hf::test::step::what, gen::inRange<hf::u8>(0, 60)),
            gen::set(&hf::test::step::key, gen::inRange<hf::u16>(0, 300)));
    }
};
}  // namespace rc

namespace hf::test {
namespace {

template <class Store, class Model, class ToKey, class ToValue>
void play(const std::vector<step>& steps, ToKey to_key, ToValue to_value) {
    scratch_directory dir;
    Store t(dir / "store.hf");
    Model model;
    u64 number = 0;
    for (const step& s : steps) {
        const auto k = to_key(s.key);
        const auto v = to_value(++number);
        const bool there = model.contains(k);
        if (s.what < 25) {
            RC_ASSERT(t.insert(k, v) == !there);
            if (!there) model[k] = v;
        } else if (s.what < 35) {
            RC_ASSERT(t.upsert(k, v) == !there);
            model[k] = v;
        } else if (s.what < 42) {
            RC_ASSERT(t.update(k, v) == there);
            if (there) model[k] = v;
        } else if (s.what < 55) {
            RC_ASSERT(t.remove(k) == there);
            model.erase(k);
        } else if (s.what < 59) {
            const auto seen = t.get(k);
            RC_ASSERT(seen.has_value() == there);
            if (there) RC_ASSERT(*seen == model[k]);
        } else {
            t.open_again(s.key % 2 == 0,
                         s.key % 3 == 0 ? sweeping::in_background : sweeping::at_opening);
        }
    }
    must(t.space->wait_for_sweep());
    Model seen;
    t.table->for_each(*t.space, [&](const auto& k, const auto& v) {
        RC_ASSERT(seen.emplace(typename Model::key_type(k), typename Model::mapped_type(v)).second);
    });
    RC_ASSERT(seen == model);
    RC_ASSERT(t.audit() == "");
}

void check(const std::string& what, const std::function<void(const std::vector<step>&)>& property) {
    rc::detail::TestParams params;
    params.maxSuccess = 60;
    params.maxSize = 900;
    rc::detail::TestMetadata about;
    about.description = what;
    const auto found = rc::detail::checkTestable(property, about, params);
    EXPECT_TRUE(found.is<rc::detail::SuccessResult>()) << found;
}

TEST(clht_model, of_integers_is_a_map) {
    check("integers", [](const std::vector<step>& steps) {
        play<integer_clht, std::map<u64, u64>>(
            steps, [](u64 k) { return k; }, [](u64 n) { return n; });
    });
}

TEST(clht_model, of_bytes_is_a_map) {
    check("bytes", [](const std::vector<step>& steps) {
        play<byte_clht, std::map<std::string, std::string>>(
            steps, [](u64 k) { return std::string(k % 40, 'x') + std::to_string(k); },
            [](u64 n) { return std::string(n % 300, 'v') + std::to_string(n); });
    });
}

}  // namespace
}  // namespace hf::test
