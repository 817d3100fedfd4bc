// pthread_setcanceltype() in front of the C library's: remembers which threads may be cancelled at
// any instruction.
//
// Such a thread must not be inside the runtime when it ends: a claimed line would stay claimed, the
// gate's flag up, or a lock held that is in no list. So it must neither take a lock (locked.hpp;
// POSIX names no lock function as safe for it either) nor announce a store (section_c.cpp): the
// process ends with a message that names the source line.
#include "section/inside_runtime.hpp"
#include "section/locks/real.hpp"

extern "C" int pthread_setcanceltype(int type, int* before) {
    const int result = hf::section::real::libc().setcanceltype(type, before);
    if (result == 0) {
        hf::section::detail::is_cancelled_anywhere = type == PTHREAD_CANCEL_ASYNCHRONOUS;
    }
    return result;
}
