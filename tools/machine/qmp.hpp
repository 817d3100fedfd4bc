// tools/machine/qmp.hpp: QEMU's control channel (QMP: JSON objects, one a line).
#pragma once

#include "channel.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <string>

namespace hf::machine {

class qmp {
   public:
    qmp() = default;
    explicit qmp(channel lines) : lines_(std::move(lines)) {}

    /// Reads the greeting and ends the mode that allows only capability negotiation.
    [[nodiscard]] result<void> begin();
    /// The command's result; an error with QEMU's reason if it is refused.
    [[nodiscard]] result<nlohmann::json> execute(
        const std::string& command, nlohmann::json arguments = nlohmann::json::object());
    /// Waits for the event; counts events since the last call, too.
    [[nodiscard]] result<nlohmann::json> await(const std::string& event,
                                               std::chrono::milliseconds patience);

   private:
    [[nodiscard]] result<nlohmann::json> read(std::chrono::milliseconds patience);

    channel lines_;
    std::deque<nlohmann::json> events_;
};

}  // namespace hf::machine
