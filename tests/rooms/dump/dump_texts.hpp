// tests/rooms/dump/dump_texts.hpp: lines as a dump's text, and back.
#pragma once

#include "dump/dump_text.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace hf::test {

using detail::dump_line;
using detail::dump_reader;
using detail::dump_totals;
using detail::dump_writer;

struct owned_line {
    bool is_record;
    u32 flags;
    u64 expires;
    u64 cas;
    std::string key;
    std::string data;
    friend bool operator==(const owned_line&, const owned_line&) = default;
};

inline std::string written(const std::vector<owned_line>& lines, u64 flush_at = 0) {
    std::string text;
    dump_writer w([&text](std::string_view part) {
        text += part;
        return result<void>{};
    });
    must(w.begin(flush_at));
    for (const auto& l : lines) {
        must(w.add({l.is_record, l.flags, l.expires, l.cas, l.key, l.data}));
    }
    const dump_totals totals = must(w.end());
    EXPECT_EQ(totals.bytes, text.size());
    return text;
}

inline result<std::vector<owned_line>> read(const std::string& text) {
    std::size_t at = 0;
    dump_reader r(
        [&](std::span<char> into) -> result<std::size_t> {
            const std::size_t at_once = text.size() < 1'000'000 ? 1000 : 100'000;
            const std::size_t n = std::min({into.size(), at_once, text.size() - at});
            std::memcpy(into.data(), text.data() + at, n);
            at += n;
            return n;
        },
        "test.dump");
    std::vector<owned_line> lines;
    for (dump_line l;;) {
        const auto more = r.next(l);
        if (!more) return tl::unexpected(more.error());
        if (!*more) return lines;
        lines.push_back(
            {l.is_record, l.flags, l.expires, l.cas, std::string(l.key), std::string(l.data)});
    }
}

inline std::string all_bytes() {
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    return all;
}

inline const std::vector<owned_line> some{{true, 7, 1'800'000'000, 1, "a key", "hello"},
                                          {true, ~0U, ~0ULL, ~0ULL, "b" + all_bytes(), all_bytes()},
                                          {false, 0, 0, 0, "c", ""},
                                          {true, 0, 0, 5, std::string("d\0", 2), "\\x41\\"}};

}  // namespace hf::test
