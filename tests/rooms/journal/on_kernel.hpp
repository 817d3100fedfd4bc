// tests/rooms/journal/on_kernel.hpp: files on a kernel whose answers the test controls.
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

    /// From now on the kernel's answers come from `how`; {}: the real ones. errno is set to EINTR
    /// first, as a stale value.
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
        script.forget();  // calls of the fixture
    }

    kernel::answered script{{}};
};

}  // namespace hf::test
