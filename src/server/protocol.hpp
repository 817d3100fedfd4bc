// server/protocol.hpp: a command line of the memcached text protocol, understood.
//
// Purpose. parse_request() turns a line into a request that can be carried out without another look
// at the text. It is a pure function: it allocates nothing, and its views point into the line. The
// framer (framing.hpp) finds the lines, the session (session.hpp) carries requests out.
//
// What is accepted is what memcached 1.6 accepts, oddities included, because clients depend on
// them: blanks between tokens in any number, a line that ends at its first NUL, numbers as in C
// ("+5", "5\t"), any byte but blank, NUL and line feed in a key, surplus words that mean nothing
// ("set k 0 0 1 foo"), a `noreply` that also silences the complaint about its own line.
// Deliberately different, and in docs/server.md: numbers that do not fit are refused where
// memcached cuts off their upper half (but in client flags).
//
// Bad input. Every line gives a request; one that makes no sense has verb::refuse and the text to
// answer.
#pragma once

#include "base/bits.hpp"

#include <cstdint>
#include <string_view>

namespace hf::detail {

/// The one whose answers these are, and what `version` says: clients look at it to find out what
/// they may send, and some take a 0 in front for no server at all.
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
    hang_up,  ///< somebody speaks another protocol: close without a word
    refuse,   ///< answer with `complaint`
};

/// Longest key of the protocol, in bytes.
inline constexpr std::size_t max_protocol_key = 250;
/// Longest data block that a command can announce: INT_MAX - 2, as in memcached.
inline constexpr std::int64_t max_announced_size = 0x7fff'fffd;

struct request {
    verb what = verb::refuse;
    bool quiet = false;          ///< noreply
    std::string_view complaint;  ///< refuse: the answer, without line end
    std::string_view key;        ///< all commands on one key
    std::string_view words;      ///< get and its kin: the keys; stats: its argument
    u32 flags = 0;               ///< set and its kin
    std::int64_t exptime = 0;    ///< set and its kin, gat, touch, flush_all; as the client wrote it
    u64 number = 0;              ///< cas: the unique; incr, decr: the delta
    u32 size = 0;                ///< set and its kin: bytes in the data block that follows
};

/// Whether a data block follows the line.
[[nodiscard]] constexpr bool has_data(verb v) noexcept { return v >= verb::set && v <= verb::cas; }

/// `line` has no line feed; a carriage return at its end is ignored.
[[nodiscard]] request parse_request(std::string_view line) noexcept;

/// Takes the first word off `words`; empty: none left.
[[nodiscard]] std::string_view take_word(std::string_view& words) noexcept;

}  // namespace hf::detail
