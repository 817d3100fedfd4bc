// tests/rooms/dump/dumped.hpp: a store, its dump, and the store that it was loaded into.
#pragma once

#include <holdfast/store.hpp>

#include "dump/dump.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace hf::test {

inline constexpr u64 now = 1'700'000'000;

struct content {
    u32 flags;
    u64 expires;
    u64 cas;
    std::string data;
    friend bool operator==(const content&, const content&) = default;
};
using contents = std::map<std::string, content>;

class dump : public on_tmpfs {
   protected:
    [[nodiscard]] static store open(const std::filesystem::path& path) {
        store_options o;
        o.map.region.initial_size = u64{16} << 20;
        o.clock = [] { return now; };
        return must(store::open(path, o));
    }
    /// Records of all kinds and sizes; a few that must not be in a dump.
    void fill(unsigned many = 3000) const {
        store s = open(file);
        for (unsigned i = 0; i < many; ++i) {
            const std::string key = "key " + std::to_string(i);
            must(s.set(key, std::string(i % 200, static_cast<char>(i)),
                       {i, i % 3 == 0 ? now + i + 1 : 0}));
        }
        must(s.set("large", std::string(1000 * many, '\x7f')));
        must(s.set("gone", "x", {0, now - 1}));
        must(s.set(std::string("\0\t\n", 3), "odd"));
        must(s.close());
    }
    [[nodiscard]] std::string dumped(const std::filesystem::path& path, u64 at = now) const {
        std::string text;
        report = must(dump_store(path, at, [&text](std::string_view part) {
            text += part;
            return result<void>{};
        }));
        return text;
    }
    [[nodiscard]] static contents contents_of(const std::filesystem::path& path) {
        contents all;
        store s = open(path);
        must(s.scan({}, [&](std::string_view key, const store::view& r) {
            all[std::string(key)] = {r.about.flags, r.about.expires, r.cas, std::string(r.data)};
            return true;
        }));
        return all;
    }
    static detail::dump_reader reader_of(const std::string& text) {
        auto at = std::make_shared<std::size_t>(0);
        return {[&text, at](std::span<char> into) -> result<std::size_t> {
                    const std::size_t n = std::min(into.size(), text.size() - *at);
                    std::memcpy(into.data(), text.data() + *at, n);
                    *at += n;
                    return n;
                },
                "test.dump"};
    }
    result<detail::dump_totals> load(const std::string& text, const load_options& how = {}) const {
        auto reader = reader_of(text);
        return load_new(other, reader, how);
    }

    std::filesystem::path other = dir / "other.hf";
    mutable dump_report report;
};

}  // namespace hf::test
