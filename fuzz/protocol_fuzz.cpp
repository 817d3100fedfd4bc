// Fuzzes the server's protocol, twice: in one piece, and in pieces to a client that reads slowly.
//
// The first two bytes select the size of the pieces and the number of bytes that a client may leave
// unread. Nothing may crash; both conversations must have the same answers, and the one with a
// limit must keep it.
#include "server/session.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using hf::detail::session;
using hf::detail::session_context;

constexpr std::size_t max_item_size = 600;
constexpr std::uint64_t now = 1'700'000'000;

/// The store of all conversations, in a directory that is removed as soon as the file is open.
hf::store& records() {
    static hf::store one = [] {
        const char* base = std::getenv("HF_TEST_DIR");
        std::string directory =
            std::string(base != nullptr ? base : "/dev/shm") + "/holdfast-fuzz-XXXXXX";
        if (::mkdtemp(directory.data()) == nullptr) {
            std::abort();
        }
        hf::map_options options;
        options.region.initial_size = std::uint64_t{64} << 20;
        auto map = hf::map::open(directory + "/store.hf", options);
        std::filesystem::remove_all(directory);
        if (!map) {
            std::abort();
        }
        auto opened = hf::store::over(std::move(*map), [] { return now; });
        if (!opened) {
            std::abort();
        }
        return std::move(*opened);
    }();
    return one;
}

/// The largest single answer: a record with its key and numbers.
constexpr std::size_t largest_answer = max_item_size + hf::detail::max_protocol_key + 100;

std::string converse(std::string_view stream, std::size_t piece, std::size_t bound) {
    if (!records().flush_all()) {
        std::abort();
    }
    session_context context(records());
    context.max_item_size = max_item_size;
    context.output_bound = bound;
    context.version = "fuzz";
    context.stats = [](std::string_view) { return std::optional<std::string>("END\r\n"); };
    session one(context);
    std::string carried;
    std::string answers;
    const auto take = [&] {
        do {
            carried.erase(0, one.consume(carried));
        } while (one.paused());
    };
    const auto read = [&](std::size_t most) {
        std::array<std::string_view, 2> pieces;
        while (most != 0 && one.answers().sendable() != 0) {
            one.answers().gather(pieces);
            const auto part = pieces[0].substr(0, most);
            answers += part;
            most -= part.size();
            one.answers().sent(part.size());
        }
    };
    while (!stream.empty() && !one.finished()) {
        carried += stream.substr(0, piece);
        stream.remove_prefix(std::min(piece, stream.size()));
        take();
        if (one.answers().size() > bound + largest_answer) {
            std::abort();
        }
        read(piece);
    }
    read(static_cast<std::size_t>(-1));
    for (std::size_t before = answers.size() + 1; before != answers.size();) {
        before = answers.size();
        take();
        read(static_cast<std::size_t>(-1));
    }
    return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
    const auto whole = converse(stream, stream.size(), static_cast<std::size_t>(1) << 30);
    const auto cut =
        converse(stream, std::size_t{1} + data[0], std::size_t{1} + data[1] * std::size_t{8});
    // The cas uniques of the two conversations differ.
    const bool shows_uniques = stream.find("gets") != std::string_view::npos ||
                               stream.find("gats") != std::string_view::npos;
    if (!shows_uniques && whole != cut) {
        std::abort();
    }
    return 0;
}
