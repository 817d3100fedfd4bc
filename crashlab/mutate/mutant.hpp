// mutate/mutant.hpp: which mutant a mutated program is; put in front of every file of the mutated
// tree by mutate.py.
#pragma once

#include <atomic>
#include <type_traits>

namespace hf {

/// From the environment variable HF_MUTANT, before main(); 0: the program as it was written.
extern const int mutant_number;

[[nodiscard]] inline bool is_mutant(int number) noexcept { return mutant_number == number; }

/// ordered_store(), or a release store, without its order.
template <class T>
void weak_store(std::atomic<T>& field, std::type_identity_t<T> value) noexcept {
    field.store(value, std::memory_order_relaxed);
}
template <class T>
void weak_store(T& field, std::type_identity_t<T> value) noexcept {
    field = value;
}

}  // namespace hf
