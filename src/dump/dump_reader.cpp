#include <holdfast/map.hpp>
#include <holdfast/store.hpp>

#include "dump/dump_text.hpp"
#include "store/store_record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace hf::detail {
namespace {

constexpr const char* reading = "read the dump";
constexpr std::size_t read_at_once = std::size_t{256} << 10;
/// Every byte escaped, and room for the numbers.
constexpr std::size_t longest_line = 4 * (max_key_size + max_value_size) + 128;

/// Parses a decimal number without sign and leading zeros.
template <class T>
bool parse_number(std::string_view text, T& number) {
    if (text.size() > 1 && text[0] == '0') return false;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    return status == std::errc{} && end == text.data() + text.size();
}

/// -1: not a hexadecimal digit.
int hex_digit(char c) {
    const auto at = std::string_view("0123456789abcdef").find(c);
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

/// Decodes the escape at the front of the text: its byte and length; length 0: invalid.
std::pair<char, std::size_t> unescape_one(std::string_view text) {
    if (text.size() < 2) return {};
    switch (text[1]) {
        case '\\':
            return {'\\', 2};
        case 't':
            return {'\t', 2};
        case 'n':
            return {'\n', 2};
        case 'r':
            return {'\r', 2};
        default:
            break;
    }
    if (text[1] != 'x' || text.size() < 4) return {};
    const int high = hex_digit(text[2]);
    const int low = hex_digit(text[3]);
    if (high < 0 || low < 0) return {};
    const auto byte = static_cast<unsigned char>(high * 16 + low);
    const bool has_shorter = (byte >= ' ' && byte <= '~') || byte == '\t' || byte == '\n' ||
                             byte == '\r';  // T1: one text for each byte
    return has_shorter ? std::pair<char, std::size_t>{} : std::pair{static_cast<char>(byte), 4UL};
}

bool unescape(std::string_view text, std::string& out) {
    out.clear();
    while (!text.empty()) {
        const auto plain = std::find_if(text.begin(), text.end(),
                                        [](char c) { return c == '\\' || c < ' ' || c > '~'; });
        out.append(text.begin(), plain);
        text.remove_prefix(static_cast<std::size_t>(plain - text.begin()));
        if (text.empty()) break;
        if (text[0] != '\\') return false;
        const auto [byte, length] = unescape_one(text);
        if (length == 0) return false;
        out += byte;
        text.remove_prefix(length);
    }
    return true;
}

/// Splits the text at tabs into exactly N fields.
template <std::size_t N>
std::optional<std::array<std::string_view, N>> cut(std::string_view text) {
    std::array<std::string_view, N> fields;
    for (std::size_t i = 0; i < N; ++i) {
        const auto tab = text.find('\t');
        if ((tab == text.npos) != (i + 1 == N)) return std::nullopt;
        fields[i] = text.substr(0, tab);
        text.remove_prefix(tab == text.npos ? text.size() : tab + 1);
    }
    return fields;
}

}  // namespace

tl::unexpected<error> dump_reader::wrong(std::string why) const {
    return failure({errc::corrupt, reading, name_ + " in line " + std::to_string(line_),
                    std::move(why), "use a dump that is whole; nothing of this one counts"});
}

result<bool> dump_reader::fill() {
    buffer_.erase(0, std::exchange(at_, 0));
    const std::size_t before = buffer_.size();
    buffer_.resize(before + read_at_once);
    auto got = from_(std::span(buffer_).subspan(before));
    buffer_.resize(before + (got ? *got : 0));
    if (!got) return tl::unexpected(got.error());
    return *got != 0;
}

result<std::optional<std::string_view>> dump_reader::read_line() {
    ++line_;
    for (std::size_t searched = 0;;) {
        const auto found = buffer_.find('\n', at_ + searched);
        if (found != buffer_.npos) {
            const auto line = std::string_view(buffer_).substr(at_, found - at_);
            at_ = found + 1;
            return line;
        }
        searched = buffer_.size() - at_;
        if (searched > longest_line) return wrong("the line is longer than any record's");
        const auto more = fill();
        if (!more) return tl::unexpected(more.error());
        if (*more) continue;
        if (searched == 0) return std::nullopt;
        return wrong("it ends in the middle of the line");
    }
}

result<std::string_view> dump_reader::must_read_line() {
    const auto line = read_line();
    if (!line) return tl::unexpected(line.error());
    if (!*line) return wrong("it is cut off: the end line is missing");
    return **line;
}

result<void> dump_reader::read_start() {
    const auto line = must_read_line();
    if (!line) return tl::unexpected(line.error());
    if (!line->starts_with(dump_start)) return wrong("it is no dump of Holdfast's");
    const auto version = line->substr(dump_start.size());
    unsigned number = 0;
    if (!parse_number(version, number)) return wrong("its version is no number");
    if (number != dump_version) {
        return failure({errc::incompatible, reading, name_,
                        "it has version " + std::to_string(number) + ", this program knows " +
                            std::to_string(dump_version),
                        "load it with the Holdfast that wrote it, or a newer one"});
    }
    checksum_.add(*line);
    checksum_.add("\n");
    totals_.bytes += line->size() + 1;
    return {};
}

result<void> dump_reader::parse(std::string_view text, dump_line& line) {
    line = {};
    std::array<std::string_view, 2> words;  // key and data
    if (text.starts_with("record\t")) {
        const auto fields = cut<6>(text);
        if (!fields || !parse_number((*fields)[1], line.flags) ||
            !parse_number((*fields)[2], line.expires) || !parse_number((*fields)[3], line.cas)) {
            return wrong("it is no record: flags, expiry, cas, key and data are expected");
        }
        words = {(*fields)[4], (*fields)[5]};
    } else if (text.starts_with("value\t")) {
        const auto fields = cut<3>(text);
        if (!fields) return wrong("it is no value: key and data are expected");
        line.is_record = false;
        words = {(*fields)[1], (*fields)[2]};
    } else {
        return wrong("it begins with none of record, value and end");
    }
    if (!unescape(words[0], key_) || !unescape(words[1], data_)) {
        return wrong("it holds a byte or an escape that no dump has");
    }
    line.key = key_;
    line.data = data_;
    return check_limits(line);
}

result<void> dump_reader::check_limits(const dump_line& line) {
    const std::size_t most = line.is_record ? store::max_data_size : max_value_size;
    if (line.key.size() > max_key_size || line.data.size() > most ||
        (line.is_record && line.key.empty())) {
        return wrong("its key or its data has a size that no store takes");
    }
    if (line.is_record && line.cas == 0) return wrong("no record has the cas unique 0");
    if (has_last_ && key_ <= last_key_) return wrong("its key is not greater than the last one");
    has_last_ = true;
    last_key_ = key_;
    return {};
}

result<void> dump_reader::finish(std::string_view text) {
    const auto fields = cut<3>(text);
    u64 count = 0;
    if (!fields || !parse_number((*fields)[1], count) || (*fields)[2].size() != 16) {
        return wrong("it is no end line: count and checksum are expected");
    }
    u64 sum = 0;
    for (const char c : (*fields)[2]) {
        if (hex_digit(c) < 0) return wrong("its checksum is no number");
        sum = sum << 4 | static_cast<u64>(hex_digit(c));
    }
    const u64 found = totals_.records + totals_.values;
    if (count != found) {
        return wrong("it promises " + std::to_string(count) + " records, there are " +
                     std::to_string(found));
    }
    if (sum != checksum_.value()) return wrong("its checksum does not fit: the dump was altered");
    totals_.checksum = sum;
    totals_.bytes += text.size() + 1;
    const auto more = read_line();
    // Any further bytes, even an incomplete line.
    const bool follows = more ? more->has_value() : more.error().code == errc::corrupt;
    if (follows) return wrong("something follows the end line");
    if (!more) return tl::unexpected(more.error());
    return {};
}

result<bool> dump_reader::next(dump_line& line) {
    if (!begun_) {
        if (auto ok = read_start(); !ok) return tl::unexpected(ok.error());
    }
    auto text = must_read_line();
    if (!text) return tl::unexpected(text.error());
    if (!begun_ && text->starts_with("flush\t")) {
        if (!parse_number(text->substr(6), flush_at_) || flush_at_ == 0) {
            return wrong("its time is no number");
        }
        checksum_.add(*text);
        checksum_.add("\n");
        totals_.bytes += text->size() + 1;
        text = must_read_line();
        if (!text) return tl::unexpected(text.error());
    }
    begun_ = true;
    if (text->starts_with("end\t")) {
        if (auto ok = finish(*text); !ok) return tl::unexpected(ok.error());
        return false;
    }
    checksum_.add(*text);
    checksum_.add("\n");
    totals_.bytes += text->size() + 1;
    if (auto ok = parse(*text, line); !ok) return tl::unexpected(ok.error());
    ++(line.is_record ? totals_.records : totals_.values);
    return true;
}

}  // namespace hf::detail
