// What starts every test program.
#include <gtest/gtest.h>

#include "support/watchdog.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    hf::test::watch_tests();
    return RUN_ALL_TESTS();
}
