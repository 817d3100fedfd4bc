// The names of library functions that the plugin knows.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>

namespace hf::pass {

/// How a wrapped function writes.
struct wrapped_function {
    /// Bit i: the function writes through argument i.
    std::uint32_t written;
    /// It writes through all arguments from the highest of these on (scanf).
    bool writes_rest = false;
    /// It also writes through pointers that it finds in memory (the parts of an iovec, the
    /// neighbours of a list node): its arguments do not tell whether the call can be left as it is.
    bool writes_beyond = false;
};

/// The entry of a function that src/section/libc wraps under hf_lib_<name>.
[[nodiscard]] std::optional<wrapped_function> find_wrapped(llvm::StringRef name);

/// True for functions that write through no pointer into memory of the program that can lie in a
/// region: they only read, or write to objects of their own (FILE, DIR, locks, attributes).
[[nodiscard]] bool is_harmless(llvm::StringRef name);

}  // namespace hf::pass
