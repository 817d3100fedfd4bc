// mutate/mutant.hpp: which mutant a mutated program is; put in front of every file of the mutated
// tree by mutate.py.
#pragma once

#include <atomic>
#include <cstdlib>
#include <type_traits>

namespace hf {

[[nodiscard]] inline int mutant_of_environment() noexcept {
    const char* text = std::getenv("HF_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
}

/// From the environment variable HF_MUTANT, before main(); 0: the program as it was written.
inline const int mutant_number = mutant_of_environment();

/// What a compiler works out is as it was written.
[[nodiscard]] constexpr bool is_mutant(int number) noexcept {
    return !std::is_constant_evaluated() && mutant_number == number;
}

/// What stands for a call that is not made, whatever it gives back.
template <class T>
T done() {
    return T();
}

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
