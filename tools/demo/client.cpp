#include "client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <utility>

namespace hf::demo {

client::~client() {
    if (socket_ >= 0) (void)close(socket_);
}

client::client(client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      out_(std::move(other.out_)),
      in_(std::move(other.in_)),
      read_(std::exchange(other.read_, 0)) {}

std::optional<client> client::connect(std::uint16_t port) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0) return std::nullopt;
    client c(made);
    const int yes = 1;
    (void)setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return std::nullopt;
    }
    return c;
}

void client::set(std::string_view key, std::string_view value) {
    out_.append("set ").append(key).append(" 0 0 ").append(std::to_string(value.size()));
    out_.append("\r\n").append(value).append("\r\n");
}

void client::remove(std::string_view key) { out_.append("delete ").append(key).append("\r\n"); }

void client::get(std::string_view keys_with_blanks) {
    out_.append("get").append(keys_with_blanks).append("\r\n");
}

bool client::flush() {
    std::string_view left = out_;
    while (!left.empty()) {
        const ssize_t n = send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
        if (n <= 0) return false;
        left.remove_prefix(static_cast<std::size_t>(n));
    }
    out_.clear();
    return true;
}

bool client::receive() {
    if (read_ > 0) {
        in_.erase(0, read_);
        read_ = 0;
    }
    constexpr std::size_t block = 64 << 10;
    const std::size_t had = in_.size();
    in_.resize(had + block);
    const ssize_t n = recv(socket_, in_.data() + had, block, 0);
    in_.resize(had + static_cast<std::size_t>(n > 0 ? n : 0));
    return n > 0;
}

std::optional<std::string_view> client::read_line() {
    for (std::size_t looked = read_;;) {
        const std::size_t end = in_.find("\r\n", looked);
        if (end != std::string::npos) {
            const std::string_view line = std::string_view(in_).substr(read_, end - read_);
            read_ = end + 2;
            return line;
        }
        // The two bytes of the line's end may arrive in different blocks.
        const std::size_t known = in_.size() - read_;
        if (!receive()) return std::nullopt;
        looked = known > 0 ? known - 1 : 0;
    }
}

std::optional<std::string_view> client::read_exactly(std::size_t bytes) {
    while (in_.size() - read_ < bytes) {
        if (!receive()) return std::nullopt;
    }
    const std::string_view block = std::string_view(in_).substr(read_, bytes);
    read_ += bytes;
    return block;
}

bool client::read_values(const visitor& visit) {
    for (;;) {
        const auto line = read_line();
        if (!line) return false;
        if (*line == "END") return true;
        // VALUE key flags bytes
        const std::size_t size_at = line->rfind(' ') + 1;
        const std::size_t key_end = line->find(' ', 6);
        std::size_t size = 0;
        if (!line->starts_with("VALUE ") || key_end == std::string_view::npos ||
            std::from_chars(line->data() + size_at, line->data() + line->size(), size).ec !=
                std::errc()) {
            return false;
        }
        const std::string key(line->substr(6, key_end - 6));
        const auto block = read_exactly(size + 2);
        if (!block) return false;
        visit(key, block->substr(0, size));
    }
}

std::optional<client::statistics> client::stats() {
    out_ += "stats\r\n";
    if (!flush()) return std::nullopt;
    statistics all;
    for (;;) {
        const auto line = read_line();
        if (!line) return std::nullopt;
        if (*line == "END") return all;
        const std::size_t blank = line->find(' ', 5);
        if (!line->starts_with("STAT ") || blank == std::string_view::npos) return std::nullopt;
        all.emplace(line->substr(5, blank - 5), line->substr(blank + 1));
    }
}

std::uint64_t number(const client::statistics& all, const char* name) {
    const auto at = all.find(name);
    std::uint64_t n = 0;
    if (at != all.end()) {
        std::from_chars(at->second.data(), at->second.data() + at->second.size(), n);
    }
    return n;
}

}  // namespace hf::demo
