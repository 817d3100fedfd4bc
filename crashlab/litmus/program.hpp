// litmus/program.hpp: small lock-based programs, as steps in the order in which they happened.
#pragma once

#include "base/bits.hpp"
#include "base/random.hpp"

#include <string>
#include <vector>

namespace hf::litmus {

enum class action : u8 {
    lock,  ///< of a mutex, or a read-write lock for writing
    unlock,
    read_lock,  ///< of a read-write lock
    read_unlock,
    post,   ///< of a semaphore; a thread's creation or end
    wait,   ///< that returns; the first step of a created thread, or a join
    store,  ///< of `value` to variable `object`
};

struct step {
    unsigned thread = 0;
    action what = action::store;
    unsigned object = 0;
    u64 value = 0;
};

inline constexpr unsigned max_objects = 4;
inline constexpr unsigned max_variables = 4;

struct program_shape {
    unsigned threads = 3;
    unsigned locks = 2;  ///< at most max_objects
    unsigned variables = max_variables;
    unsigned steps = 24;
};

/// A sequence of steps that threads could have taken: a lock is acquired only while it is free, no
/// thread holds a lock at the end. Free of data races: of two stores to one variable one happens
/// before the other. Every store has a value of its own.
[[nodiscard]] std::vector<step> random_program(const program_shape& shape, xoshiro256ss& random);

[[nodiscard]] std::string to_string(const std::vector<step>& steps, std::size_t count);

}  // namespace hf::litmus
