// Data from 0 bytes to 64 MiB.
#include "support/temporary_store.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hf::test {
namespace {

using outcome = store::outcome;

TEST(store_size, data_of_every_order_of_magnitude_comes_back) {
    temporary_store s;
    store::record found;
    for (std::size_t size = 1; size <= std::size_t{8} << 20; size *= 4) {
        std::string data(size, '\0');
        for (std::size_t i = 0; i < size; ++i) {
            data[i] = static_cast<char>(i * 131 >> 3);
        }
        ASSERT_EQ(must(s->set("k", data)).what, outcome::stored);
        ASSERT_TRUE(must(s->get("k", found)));
        ASSERT_TRUE(found.data() == data) << size;
    }
}

TEST(store_size, the_longest_data_fits_and_one_byte_more_is_refused_and_changes_nothing) {
    temporary_store s;
    store::record found;
    must(s->set("k", "old"));
    const std::string data(store::max_data_size + 1, 'x');
    EXPECT_EQ(s->set("k", data).error().code, errc::too_large);
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data(), "old");
    EXPECT_EQ(must(s->set("k", std::string_view(data).substr(1))).what, outcome::stored);
    ASSERT_TRUE(must(s->get("k", found)));
    EXPECT_EQ(found.data().size(), store::max_data_size);
    EXPECT_EQ(must(s->append("k", "y")).what, outcome::not_stored);
    EXPECT_EQ(must(s->append("k", "y", ~std::size_t{0})).what, outcome::not_stored);
    EXPECT_EQ(must(s->touch("k", 0)).what, outcome::touched);
    EXPECT_EQ(must(s->incr("k", 1)).what, outcome::not_a_number);
}

}  // namespace
}  // namespace hf::test
