#include "server/protocol.hpp"

#include "store/store_number.hpp"

#include <array>
#include <optional>

namespace hf::detail {
namespace {

constexpr std::string_view bad_line = "ERROR";
constexpr std::string_view bad_format = "CLIENT_ERROR bad command line format";
constexpr std::string_view bad_exptime = "CLIENT_ERROR invalid exptime argument";

/// The words of a line, up to the maximum of any command.
struct words {
    static constexpr std::size_t most = 23;
    std::array<std::string_view, most> at;
    std::size_t count = 0;

    explicit words(std::string_view text) noexcept {
        while (count < most) {
            const auto word = take_word(text);
            if (word.empty()) {
                return;
            }
            at[count++] = word;
        }
    }
    [[nodiscard]] std::string_view last() const noexcept { return at[count - 1]; }
    [[nodiscard]] bool silenced() const noexcept { return last() == "noreply"; }
};

request refuse(std::string_view complaint, bool quiet = false) noexcept {
    request r;
    r.complaint = complaint;
    r.quiet = quiet;
    return r;
}

/// The part of the line from word `first` on.
std::string_view behind(std::string_view line, std::string_view first) noexcept {
    return line.substr(static_cast<std::size_t>(first.data() - line.data()));
}

request parse_get(verb what, const words& w, std::string_view line) noexcept {
    request r;
    r.what = what;
    std::size_t first_key = 1;
    if (what == verb::gat || what == verb::gats) {
        const auto exptime = parse_signed(w.at[1]);
        if (!exptime) {
            return refuse(bad_exptime);
        }
        r.exptime = *exptime;
        first_key = 2;
    }
    if (w.count > first_key) {
        r.words = behind(line, w.at[first_key]);
    }
    for (auto left = r.words;;) {
        const auto key = take_word(left);
        if (key.empty()) {
            return r;
        }
        if (key.size() > max_protocol_key) {
            return refuse(bad_format);
        }
    }
}

request parse_update(verb what, const words& w) noexcept {
    const std::size_t needed = what == verb::cas ? 6 : 5;
    if (w.count != needed && w.count != needed + 1) {
        return refuse(bad_line);
    }
    request r;
    r.what = what;
    r.quiet = w.silenced();
    r.key = w.at[1];
    const auto flags = parse_unsigned(w.at[2]);
    const auto exptime = parse_signed(w.at[3]);
    const auto size = parse_signed(w.at[4]);
    const auto unique = what == verb::cas ? parse_unsigned(w.at[5]) : std::optional<u64>(0);
    if (r.key.size() > max_protocol_key || !flags || !exptime || !size || !unique || *size < 0 ||
        *size > max_announced_size) {
        return refuse(bad_format, r.quiet);
    }
    r.flags = static_cast<u32>(*flags);
    r.exptime = *exptime;
    r.size = static_cast<u32>(*size);
    r.number = *unique;
    return r;
}

request parse_count(verb what, const words& w) noexcept {
    if (w.count != 3 && w.count != 4) {
        return refuse(bad_line);
    }
    request r;
    r.what = what;
    r.quiet = w.silenced();
    r.key = w.at[1];
    if (r.key.size() > max_protocol_key) {
        return refuse(bad_format, r.quiet);
    }
    const auto delta = parse_unsigned(w.at[2]);
    if (!delta) {
        return refuse("CLIENT_ERROR invalid numeric delta argument", r.quiet);
    }
    r.number = *delta;
    return r;
}

request parse_touch(const words& w) noexcept {
    if (w.count != 3 && w.count != 4) {
        return refuse(bad_line);
    }
    request r;
    r.what = verb::touch;
    r.quiet = w.silenced();
    r.key = w.at[1];
    if (r.key.size() > max_protocol_key) {
        return refuse(bad_format, r.quiet);
    }
    const auto exptime = parse_signed(w.at[2]);
    if (!exptime) {
        return refuse(bad_exptime, r.quiet);
    }
    r.exptime = *exptime;
    return r;
}

request parse_remove(const words& w) noexcept {
    if (w.count < 2 || w.count > 4) {
        return refuse(bad_line);
    }
    request r;
    r.what = verb::remove;
    r.key = w.at[1];
    if (w.count > 2) {
        // memcached once had a delay argument here; a zero is still accepted.
        const bool zero = w.at[2] == "0";
        r.quiet = w.silenced();
        if (w.count == 3 ? !zero && !r.quiet : !zero || !r.quiet) {
            return refuse("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]",
                          r.quiet);
        }
    }
    if (r.key.size() > max_protocol_key) {
        return refuse(bad_format, r.quiet);
    }
    return r;
}

request parse_flush_all(const words& w) noexcept {
    if (w.count > 3) {
        return refuse(bad_line);
    }
    request r;
    r.what = verb::flush_all;
    r.quiet = w.silenced();
    if (w.count != (r.quiet ? 2U : 1U)) {
        const auto exptime = parse_signed(w.at[1]);
        if (!exptime) {
            return refuse(bad_exptime, r.quiet);
        }
        r.exptime = *exptime;
    }
    return r;
}

request parse_verbosity(const words& w) noexcept {
    if (w.count != 2 && w.count != 3) {
        return refuse(bad_line);
    }
    if (!parse_unsigned(w.at[1])) {
        return refuse(bad_format, w.silenced());
    }
    request r;
    r.what = verb::verbosity;
    r.quiet = w.silenced();
    return r;
}

request plain(verb what) noexcept {
    request r;
    r.what = what;
    return r;
}

struct name {
    std::string_view text;
    verb what;
};

constexpr std::array names{
    name{"get", verb::get},
    name{"set", verb::set},
    name{"gets", verb::gets},
    name{"add", verb::add},
    name{"cas", verb::cas},
    name{"incr", verb::incr},
    name{"decr", verb::decr},
    name{"delete", verb::remove},
    name{"replace", verb::replace},
    name{"append", verb::append},
    name{"prepend", verb::prepend},
    name{"touch", verb::touch},
    name{"gat", verb::gat},
    name{"gats", verb::gats},
    name{"bget", verb::get},
    name{"stats", verb::stats},
    name{"version", verb::version},
    name{"verbosity", verb::verbosity},
    name{"flush_all", verb::flush_all},
    name{"mn", verb::no_op},
    name{"quit", verb::quit},
};

/// Unknown commands with these initials are refused without checking for an HTTP request.
constexpr std::string_view taken_initials = "gsacidt";

request parse_unknown(const words& w) noexcept {
    if (w.at[0] == "shutdown") {
        return refuse("ERROR: shutdown not enabled");
    }
    const bool browser = taken_initials.find(w.at[0][0]) == std::string_view::npos &&
                         w.last().substr(0, 5) == "HTTP/";
    return browser ? plain(verb::hang_up) : refuse(bad_line);
}

}  // namespace

std::string_view take_word(std::string_view& words) noexcept {
    const auto begin = words.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
        words = {};
        return {};
    }
    const auto end = words.find(' ', begin);
    const auto word = words.substr(begin, end - begin);
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end);
    return word;
}

request parse_request(std::string_view line) noexcept {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    line = line.substr(0, line.find('\0'));
    const words w(line);
    if (w.at[0].size() < 2) {
        return refuse(bad_line);
    }
    for (const auto& known : names) {
        if (w.at[0] != known.text) {
            continue;
        }
        switch (known.what) {
            case verb::get:
            case verb::gets:
            case verb::gat:
            case verb::gats:
                return w.count < 2 ? refuse(bad_line) : parse_get(known.what, w, line);
            case verb::set:
            case verb::add:
            case verb::replace:
            case verb::append:
            case verb::prepend:
            case verb::cas:
                return parse_update(known.what, w);
            case verb::incr:
            case verb::decr:
                return parse_count(known.what, w);
            case verb::touch:
                return parse_touch(w);
            case verb::remove:
                return parse_remove(w);
            case verb::flush_all:
                return parse_flush_all(w);
            case verb::verbosity:
                return parse_verbosity(w);
            case verb::stats: {
                auto r = plain(verb::stats);
                r.words = w.at[1];
                return r;
            }
            case verb::version:
            case verb::no_op:
            case verb::quit:
            case verb::hang_up:
            case verb::refuse:
                return plain(known.what);
        }
    }
    return parse_unknown(w);
}

}  // namespace hf::detail
