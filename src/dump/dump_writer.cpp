#include "dump/dump_text.hpp"

#include <charconv>

namespace hf::detail {
namespace {

constexpr std::size_t written_at_once = std::size_t{256} << 10;
constexpr char hex[] = "0123456789abcdef";

}  // namespace

void dump_writer::put_number(u64 number) {
    char digits[24];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
    text_.append(digits, end);
}

void dump_writer::put_escaped(std::string_view bytes) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\\') {
            text_ += "\\\\";
        } else if (byte >= ' ' && byte <= '~') {
            text_ += c;
        } else if (c == '\t') {
            text_ += "\\t";
        } else if (c == '\n') {
            text_ += "\\n";
        } else if (c == '\r') {
            text_ += "\\r";
        } else {
            text_ += "\\x";
            text_ += hex[byte >> 4];
            text_ += hex[byte & 15];
        }
    }
}

result<void> dump_writer::pass_on(std::size_t keep_below) {
    if (text_.size() < keep_below) return {};
    checksum_.add(text_);
    totals_.bytes += text_.size();
    auto done = to_(text_);
    text_.clear();
    return done;
}

result<void> dump_writer::begin(u64 flush_at) {
    text_ = dump_start;
    put_number(dump_version);
    text_ += '\n';
    if (flush_at != 0) {
        text_ += "flush\t";
        put_number(flush_at);
        text_ += '\n';
    }
    return pass_on(written_at_once);
}

result<void> dump_writer::add(const dump_line& line) {
    if (line.is_record) {
        text_ += "record\t";
        for (const u64 number : {u64{line.flags}, line.expires, line.cas}) {
            put_number(number);
            text_ += '\t';
        }
    } else {
        text_ += "value\t";
    }
    put_escaped(line.key);
    text_ += '\t';
    put_escaped(line.data);
    text_ += '\n';
    ++(line.is_record ? totals_.records : totals_.values);
    return pass_on(written_at_once);
}

result<dump_totals> dump_writer::end() {
    if (auto ok = pass_on(0); !ok) return tl::unexpected(ok.error());
    totals_.checksum = checksum_.value();
    text_ = "end\t";
    put_number(totals_.records + totals_.values);
    text_ += '\t';
    for (int i = 0; i < 16; ++i) text_ += hex[totals_.checksum >> (60 - 4 * i) & 15];
    text_ += '\n';
    totals_.bytes += text_.size();
    if (auto ok = to_(text_); !ok) return tl::unexpected(ok.error());
    return totals_;
}

}  // namespace hf::detail
