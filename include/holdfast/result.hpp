// holdfast/result.hpp: errors of the environment, and of the data.
//
// A programmer's error ends the process with a message (HF_CHECK). An error of the environment is
// returned as a result<T>: what was attempted, where, why it failed, and what to do next.
#pragma once

#include <tl/expected.hpp>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace hf {

/// Classes of errors. The number is the exit status of the command-line tool.
enum class errc : int {
    violation = 1,     ///< a check found something wrong in the data
    usage = 2,         ///< invalid options or arguments
    not_found = 3,     ///< no such file
    unsafe_file = 4,   ///< a symlink, directory, FIFO, another owner's or a world-writable file
    busy = 5,          ///< the region is open in another process
    corrupt = 6,       ///< truncated, grown, bit-flipped or not a region at all
    incompatible = 7,  ///< wrong version, byte order, discipline or feature
    no_space = 8,      ///< disk or region full
    denied = 9,        ///< no permission
    medium = 10,       ///< Holdfast cannot use this file system
    io = 11,           ///< any other error of the operating system
    too_large = 12,    ///< key or value over its limit
    aborted = 13,      ///< a transaction that called abort(); it has no effect
};

[[nodiscard]] const char* to_string(errc c) noexcept;

struct error {
    errc code = errc::io;
    std::string what;   ///< what was attempted: "open the region"
    std::string where;  ///< file, and offset if known: "data/store.hf at offset 4096"
    std::string why;    ///< the reason: "checksum of superblock 1 is wrong"
    std::string next;   ///< what to do: "restore the file from a backup"

    /// One line: "cannot <what> (<where>): <why>; <next>".
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(code); }
};

}  // namespace hf

/// Thrown by value() of a result without a value. what() is the line that error::to_string()
/// returns, so that a program which does not catch it ends with this message.
template <>
class tl::bad_expected_access<hf::error> : public std::exception {
   public:
    explicit bad_expected_access(hf::error e) : error_(std::move(e)), line_(error_.to_string()) {}
    [[nodiscard]] const char* what() const noexcept override { return line_.c_str(); }
    [[nodiscard]] const hf::error& error() const& { return error_; }
    [[nodiscard]] hf::error& error() & { return error_; }
    [[nodiscard]] const hf::error&& error() const&& { return std::move(error_); }
    [[nodiscard]] hf::error&& error() && { return std::move(error_); }

   private:
    hf::error error_;
    std::string line_;
};

namespace hf {
namespace detail {

/// result<void>. Adds value(), which some versions of tl::expected<void, E> lack.
class done : public tl::expected<void, hf::error> {
   public:
    done() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): a conversion on purpose
    done(tl::expected<void, hf::error> e) : expected(std::move(e)) {}
    using tl::expected<void, hf::error>::expected;

    void value() const {
        if (!has_value()) throw tl::bad_expected_access<hf::error>(error());
    }
};

}  // namespace detail
}  // namespace hf

/// Lets and_then() take functions that return result<void>.
template <>
struct tl::detail::is_expected_impl<hf::detail::done> : std::true_type {};

namespace hf {

template <class T>
using result = std::conditional_t<std::is_void_v<T>, detail::done, tl::expected<T, error>>;

/// failure({errc::io, "open the region", path, "..."}) converts to any result<T> without a value.
inline tl::unexpected<error> failure(error e) { return tl::unexpected<error>(std::move(e)); }

}  // namespace hf
