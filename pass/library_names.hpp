// The names of library functions that the plugin knows.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace hf::pass {

/// How a wrapped function writes.
struct wrapped_function {
    /// Bit i: the function writes through argument i. Bit 31: through any argument from the highest
    /// one named on (scanf).
    std::uint32_t written;
};

/// The entry of a function that src/section/libc wraps under hf_lib_<name>.
[[nodiscard]] std::optional<wrapped_function> find_wrapped(llvm::StringRef name);

/// True for functions that write through no pointer into memory of the program that can lie in a
/// region: they only read, or write to objects of their own (FILE, DIR, locks, attributes).
[[nodiscard]] bool is_harmless(llvm::StringRef name);

}  // namespace hf::pass
