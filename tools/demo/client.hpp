// tools/demo/client.hpp: a connection to a memcached server, with the commands that the demo and
// tests/campaigns/power use.
//
// The server may be killed at any moment: functions then return false or nullopt without a message.
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

    /// Appends a `set` to the buffer that flush() sends.
    void set(std::string_view key, std::string_view value);
    /// Appends a `delete` to it.
    void remove(std::string_view key);
    /// Appends a `get` of several keys, each preceded by a blank.
    void get(std::string_view keys_with_blanks);
    [[nodiscard]] bool flush();

    /// The next line, without its end.
    [[nodiscard]] std::optional<std::string_view> read_line();
    /// Reads the answer to one get(), and visits each value. False: the connection is lost.
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
    std::size_t read_ = 0;  ///< position in in_
};

/// A number of the statistics; 0 if it is missing.
[[nodiscard]] std::uint64_t number(const client::statistics& all, const char* name);

}  // namespace hf::demo
