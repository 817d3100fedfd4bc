// crashlab/seeded/small_region.hpp: where the structures with seeded bugs lie.
#pragma once

#include "crashlab/runtime/file.hpp"
#include "crashlab/targets/target.hpp"
#include "recovery/opening.hpp"

#include <memory>
#include <utility>

namespace hf::lab::seeded {

template <class T>
T must(tl::expected<T, error> r) {
    if (!r) throw violation(r.error().to_string());
    return std::move(*r);
}

/// A region of the lab, made if it is not there.
inline std::unique_ptr<region> open_small_region(const char* path = file_path) {
    region_options o;
    o.initial_size = u64{1} << 20;
    o.max_size = u64{4} << 20;
    o.flush = flush_policy::always;
    return must(open_region(path, o)).file;
}

/// The contents of its first segment, of one page.
template <class T>
T* first_segment(region& r) {
    static_assert(sizeof(T) <= layout::page_size);
    const auto segments = r.segments();
    const segment first =
        segments.empty() ? must(r.grow(segment_kind::heap, 1, 0)) : segments.front();
    return r.at<T>(first.offset);
}

}  // namespace hf::lab::seeded
