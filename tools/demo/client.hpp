// tools/demo/client.hpp: one connection to a memcached, as far as the demo and tests/power need it.
//
// It expects the server to be killed at any moment: then functions return false or nullopt, and say
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hf::demo {

class client {
   public:
    client() = default;
    ~client();
    client(client&& other) noexcept;
    client& operator=(client&&) = delete;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    [[nodiscard]] static std::optional<client> connect(std::uint16_t port);

    /// Appends a `set` to what flush() will send.
    void set(std::string_view key, std::string_view value);
    /// Appends a `delete`.
    void remove(std::string_view key);
    /// Appends a `get` of several keys, each after a blank.
    void get(std::string_view keys_with_blanks);
    [[nodiscard]] bool flush();

    /// Until the end of the line, without it.
    [[nodiscard]] std::optional<std::string_view> read_line();
    /// One answer to get(): every value found. False: the connection is lost.
    using visitor = std::function<void(std::string_view key, std::string_view value)>;
    [[nodiscard]] bool read_values(const visitor& visit);

    using statistics = std::unordered_map<std::string, std::string>;
    [[nodiscard]] std::optional<statistics> stats();

   private:
    explicit client(int socket) noexcept : socket_(socket) {}
    [[nodiscard]] bool receive();
    [[nodiscard]] std::optional<std::string_view> read_exactly(std::size_t bytes);

    int socket_ = -1;
    std::string out_;
    std::string in_;
    std::size_t read_ = 0;  ///< of in_
};

/// A number in the statistics; 0 if it is not there.
[[nodiscard]] std::uint64_t number(const client::statistics& all, const char* name);

}  // namespace hf::demo
