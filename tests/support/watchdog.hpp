// tests/support/watchdog.hpp: a test that hangs says where.
//
// When a test has run for as long as HF_TEST_DEADLINE says (seconds; 0 or unset: for ever), its
// name and the stack of every thread are written to standard error, those of forked children too,
// and the program aborts. ctest's own limit is a little longer: it is for what cannot even do that.
//
// No thread of its own: tests fork, and ThreadSanitizer allows that only while there is one thread.
// The alarm is a signal, and each thread is asked for its stack by another.
#pragma once

namespace hf::test {

/// To be called once, after InitGoogleTest.
void watch_tests();

}  // namespace hf::test
