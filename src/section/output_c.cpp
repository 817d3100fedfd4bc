// The C face of output that is held until it is stable: hf_output_* of holdfast/section.h.
#include "section/last_error.hpp"
#include "section/runtime.hpp"
#include "section/symbol.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hf::section {
namespace {

/// Notes the error of a call; errno stays.
void note_failure(int fd) {
    const inside_runtime in;
    const int why = errno;
    const thread_record& r = runtime::get().me();
    const std::string where = "descriptor " + std::to_string(fd);
    const std::string bytes = std::to_string(runtime::get().output().limit());
    if (why == ENOBUFS && r.depth != 0) {
        const void* const site = r.site.load(std::memory_order_relaxed);
        fail({errc::no_space, "hold output", where,
              bytes + " bytes wait already, and the section begun at " + source_of(site) +
                  " cannot wait for its own end",
              "write less inside one section, or raise hold_bytes"});
    } else if (why == ENOBUFS || why == EAGAIN || why == EMSGSIZE) {
        fail({errc::no_space, "hold output", where,
              "no room: at most " + bytes + " bytes wait until they are stable and peers read",
              "raise hold_bytes, or see hf_section_report() for a section in the way"});
    } else {
        fail({errc::io, "write output", where, std::strerror(why),
              "see the reason; what was held for it before is lost"});
    }
    errno = why;
}

}  // namespace
}  // namespace hf::section

extern "C" {

ssize_t hf_output_writev(int fd, const iovec* parts, int count) {
    using hf::section::runtime;
    if (!runtime::is_open()) return ::writev(fd, parts, count);
    const ssize_t n =
        runtime::get().hold(fd, {.parts = parts, .count = static_cast<size_t>(count)});
    if (n < 0) hf::section::note_failure(fd);
    return n;
}

ssize_t hf_output_write(int fd, const void* bytes, size_t n) {
    const iovec part{const_cast<void*>(bytes), n};
    return hf_output_writev(fd, &part, 1);
}

int hf_output_flush(void) { return hf::section::told(hf::section::runtime::get().flush_output()); }

}  // extern "C"
