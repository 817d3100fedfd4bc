// The thread that asks for huge pages ends whenever stop() is called.
#include "section/huge_growth.hpp"

#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

class section_huge_growth : public test::on_tmpfs {};

// A call that is missed would hang it.
TEST_F(section_huge_growth, stops_at_any_moment_of_its_thread) {
    const auto r = test::must(region::open(file, region_options{}));
    section::huge_growth growth;
    for (unsigned i = 0; i < 200; ++i) {
        growth.start(*r);
        for (volatile unsigned spins = i * 40; spins != 0;) spins = spins - 1;
        growth.stop();
    }
}

}  // namespace
}  // namespace hf
