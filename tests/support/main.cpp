// The main() of every test program.
#include "support/watchdog.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    hf::test::watch_tests();
    return RUN_ALL_TESTS();
}
