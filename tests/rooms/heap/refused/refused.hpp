// tests/rooms/heap/refused/refused.hpp: what the files beside it need: each holds one mistake, and
// says in its first line what the compiler must say to it (tests/rooms/heap/refused.cmake).
#pragma once

#include <holdfast/heap.hpp>

namespace nv = hf::nv;

struct node {
    nv::p<int> value;
    nv::ptr<node> next;
};
struct other;  ///< another brand

template <class T>
inline constexpr bool may_live = nv::check_persistent<T>();
