// tests/journal/on_kernel.hpp: files on a kernel whose answers are the test's.
#pragma once

#include "support/kernel.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <utility>

namespace hf::test {

class on_kernel : public ::testing::Test {
   protected:
    using call = kernel::call;
    using answer = kernel::answer;

    /// From now on it answers so; {}: it does as it is told. errno says that something was
    /// interrupted, long ago.
    void say(std::function<answer(const call&)> how) {
        script.say([how = std::move(how)](const call& c) {
            answer a = how ? how(c) : answer{};
            a.old_error = EINTR;
            return a;
        });
    }
    void SetUp() override {
        say({});
        script.forget();  // what the fixture asked
    }

    kernel::answered script{{}};
};

}  // namespace hf::test
