// sync/fork.hpp: notices that an object was made by the parent of this process.
//
// Purpose. A child of fork() has copies of its parent's objects, and shares the mappings of their
// regions. It has none of the parent's other threads, which end epochs and write journals. So a
// child must not operate on a region that its parent opened: its stores would corrupt the parent's
// data, and a wait for an epoch would never end. It may open regions of its own.
//
//     process_mark made_in;                       // a member
//     if (made_in.is_inherited()) return leave_to_parent(impl_, "close the map");
//
// Every operation takes its thread's slot first (thread_slots.hpp), which is refused in a child:
// the process ends with one line. Destructors and close() leave an inherited object as it is.
// Plain memory, whose stores no operation announces, refuses commit() and abort().
//
// Concurrency. The number of forks changes only in a child, before it has a second thread.
// Not noticed: children of vfork() and clone(), which run no handlers of pthread_atfork().
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <memory>
#include <string>
#include <utility>

namespace hf {

namespace detail {
inline constinit u64 forks_before = 0;  ///< between the first process and this one
}  // namespace detail

class process_mark {
   public:
    [[nodiscard]] bool is_inherited() const noexcept { return forks_ != detail::forks_before; }

   private:
    u64 forks_ = detail::forks_before;
};

/// The error of an operation on an object that the parent made.
[[nodiscard]] inline error inherited(std::string what, std::string where = "") {
    return {errc::usage, std::move(what), std::move(where),
            "this process is a child of fork(), and its parent opened it",
            "use it in the parent only; a child may open regions of its own"};
}

/// For close(): forgets an object that the parent made. Its destructor must not run: it would close
/// the parent's region, and wait for threads that the child does not have.
template <class T>
tl::unexpected<error> leave_to_parent(std::unique_ptr<T>& object, std::string what) {
    static_cast<void>(object.release());  // NOLINT(bugprone-unused-return-value)
    return failure(inherited(std::move(what)));
}

}  // namespace hf
