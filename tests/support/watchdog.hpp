// tests/support/watchdog.hpp: reports where a test hangs.
//
// When a test has run for HF_TEST_DEADLINE seconds (0 or unset: no limit), its name and the stack
// of every thread are written to standard error, including those of forked children, and the
// program aborts. ctest's own limit is a little longer, for tests that cannot even do that.
//
// It has no thread: tests fork, which ThreadSanitizer allows only with a single thread. The alarm
// is a signal, and each thread gets another signal to print its stack.
#pragma once

namespace hf::test {

/// Call once, after InitGoogleTest.
void watch_tests();

}  // namespace hf::test
