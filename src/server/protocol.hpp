// server/protocol.hpp: parses a command line of the memcached text protocol.
//
// Purpose. parse_request() turns a line into a request that can be executed without the text. It is
// a pure function: it allocates nothing, and its views point into the line. The framer
// (framing.hpp) finds the lines, the session (session.hpp) executes requests.
//
// It accepts what memcached 1.6 accepts, oddities included, because clients depend on them: any
// number of blanks between tokens, a line that ends at its first NUL, numbers as in C ("+5",
// "5\t"), any byte but blank, NUL and line feed in a key, ignored extra words ("set k 0 0 1 foo"),
// a `noreply` that also suppresses the error about its own line. One deliberate difference
// (docs/server.md): numbers out of range are refused, where memcached drops their upper half
// (except for client flags).
//
// Bad input. Every line yields a request; an invalid one has verb::refuse and the answer's text.
#pragma once

#include "base/bits.hpp"

#include <cstdint>
#include <string_view>

namespace hf::detail {

/// The memcached version whose answers these are, returned by `version`: clients use it to decide
/// which commands they may send, and some reject a version that begins with 0.
inline constexpr const char* memcached_version = "1.6.18";

enum class verb : u8 {
    get,
    gets,
    gat,
    gats,
    set,
    add,
    replace,
    append,
    prepend,
    cas,
    remove,
    incr,
    decr,
    touch,
    flush_all,
    stats,
    version,
    verbosity,
    no_op,
    quit,
    hang_up,  ///< a client of another protocol: close without an answer
    refuse,   ///< answer with `complaint`
};

/// Maximum key length of the protocol, in bytes.
inline constexpr std::size_t max_protocol_key = 250;
/// Maximum size of a data block that a command can announce: INT_MAX - 2, as in memcached.
inline constexpr std::int64_t max_announced_size = 0x7fff'fffd;

struct request {
    verb what = verb::refuse;
    bool quiet = false;          ///< noreply
    std::string_view complaint;  ///< refuse: the answer, without line end
    std::string_view key;        ///< commands with a single key
    std::string_view words;      ///< get, gets, gat, gats: the keys; stats: its argument
    u32 flags = 0;               ///< storage commands
    /// storage commands, gat, touch, flush_all: as the client wrote it
    std::int64_t exptime = 0;
    u64 number = 0;  ///< cas: the unique; incr, decr: the delta
    u32 size = 0;    ///< storage commands: bytes in the data block that follows
};

/// Whether a data block follows the line.
[[nodiscard]] constexpr bool has_data(verb v) noexcept { return v >= verb::set && v <= verb::cas; }

/// `line` has no line feed; a carriage return at its end is ignored.
[[nodiscard]] request parse_request(std::string_view line) noexcept;

/// Removes the first word from `words` and returns it; empty: none left.
[[nodiscard]] std::string_view take_word(std::string_view& words) noexcept;

}  // namespace hf::detail
