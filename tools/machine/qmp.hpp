// tools/machine/qmp.hpp: QEMU's own control channel (QMP: JSON objects, a line each).
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

    /// Reads the greeting and leaves the mode in which nothing but capabilities is spoken of.
    [[nodiscard]] result<void> begin();
    /// What the command returns; an error with QEMU's reason if it refuses.
    [[nodiscard]] result<nlohmann::json> execute(
        const std::string& command, nlohmann::json arguments = nlohmann::json::object());
    /// Until the event has come; those that came since the last look count, too.
    [[nodiscard]] result<nlohmann::json> await(const std::string& event,
                                               std::chrono::milliseconds patience);

   private:
    [[nodiscard]] result<nlohmann::json> read(std::chrono::milliseconds patience);

    channel lines_;
    std::deque<nlohmann::json> events_;
};

}  // namespace hf::machine
