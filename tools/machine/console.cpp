#include "console.hpp"

#include <charconv>

namespace hf::machine {

namespace {

/// An emulated machine is about thirty times slower than this one, and may share it.
constexpr auto console_patience = std::chrono::seconds(180);

int number_in(std::string_view text) {
    int n = -1;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
}

}  // namespace

result<std::string> console::read(std::chrono::milliseconds patience) {
    auto line = lines_.line(patience);
    if (!line) return line;
    if (line->starts_with("s= ")) server_status_ = number_in(line->substr(3));
    if (line->starts_with("s ")) {
        server_output_ += line->substr(2) + "\n";
        serving_ = serving_ || line->find("serving memcached") != std::string::npos;
    }
    return line;
}

result<void> console::await_ready(std::chrono::milliseconds patience) {
    for (;;) {
        const auto line = read(patience);
        if (!line) return tl::unexpected(line.error());
        if (*line == "ready") return {};
    }
}

result<void> console::begin(const std::vector<std::string>& words) {
    if (words.front() == "serve") {
        server_output_.clear();
        serving_ = false;
        server_status_ = -1;
    }
    return lines_.send(joined(words) + "\n");
}

result<answer> console::command(const std::vector<std::string>& words) {
    if (auto sent = begin(words); !sent) return tl::unexpected(sent.error());
    answer a;
    for (;;) {
        const auto line = read(console_patience);
        if (!line) return tl::unexpected(line.error());
        if (line->starts_with("| ")) a.output += line->substr(2) + "\n";
        if (line->starts_with("= ")) {
            a.status = number_in(line->substr(2));
            return a;
        }
    }
}

result<void> console::await_serving() {
    while (!serving_) {
        if (server_status_ >= 0) {
            return failure({errc::violation, "start the server in the virtual machine",
                            "exit status " + std::to_string(server_status_), server_output_,
                            "keep the disk's image and open it by hand"});
        }
        const auto line = read(console_patience);
        if (!line) return tl::unexpected(line.error());
    }
    return {};
}

result<int> console::await_server_end() {
    while (server_status_ < 0) {
        const auto line = read(console_patience);
        if (!line) return tl::unexpected(line.error());
    }
    return server_status_;
}

}  // namespace hf::machine
