// The memory that is audited, and its shadow: shared by the parts of this room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hf::section_audit {

struct audited_range {
    unsigned char* begin = nullptr;
    std::size_t size = 0;
    unsigned char* shadow = nullptr;     ///< the bytes when they were last accepted
    unsigned char* announced = nullptr;  ///< one per byte: 1 if announced since the last cut

    [[nodiscard]] bool holds(const void* p) const {
        return static_cast<const unsigned char*>(p) >= begin &&
               static_cast<const unsigned char*>(p) < begin + size;
    }
};

/// The range that p lies in; null: it is not audited. Safe in a signal handler.
[[nodiscard]] const audited_range* range_of(const void* p);

/// Enters a byte that changed without an announcement. `pc`: the instruction, or the return address
/// of the first hook afterwards (`is_exact` false). Safe in a signal handler.
void add_finding(const void* address, const void* pc, const void* hook_before, bool is_exact);

/// Checks [p, p + n) against A1 and enters findings; the bytes found are accepted.
void check_bytes(const audited_range& range, const unsigned char* p, std::size_t n, const void* pc,
                 bool is_exact);

/// Exact mode: installs the handlers, and protects a range.
void install_handlers();
void protect(const audited_range& range);
void unprotect(const audited_range& range);

}  // namespace hf::section_audit
