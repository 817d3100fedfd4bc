// persist/ordered.hpp: stores whose order within a line matters.
//
// A compiler may reorder and merge plain stores, which breaks PCSO (medium.hpp, I3). A release
// store is free on x86 and is neither reordered with an earlier store nor merged with a neighbour
// by today's compilers.
#pragma once

#include <atomic>
#include <type_traits>

namespace hf {

/// For fields that are not std::atomic because the struct is copied as bytes; `field` must be
/// aligned to its size.
template <class T>
    requires(std::is_trivially_copyable_v<T> && sizeof(T) <= 8)
void ordered_store(T& field, std::type_identity_t<T> value) noexcept {
    std::atomic_ref<T>(field).store(value, std::memory_order_release);
}

template <class T>
void ordered_store(std::atomic<T>& field, std::type_identity_t<T> value) noexcept {
    field.store(value, std::memory_order_release);
}

}  // namespace hf
