// tools/demo/ledger.hpp: what must be in the store, what may be, and what is.
#pragma once

#include "loader.hpp"
#include "package_index.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace hf::demo {

/// What a look at the whole store says, byte for byte.
struct comparison {
    std::uint64_t durable = 0;       ///< records that must be there
    std::uint64_t durable_lost = 0;  ///< ... and are not: the promise is broken
    std::uint64_t altered = 0;       ///< not as they were stored: broken, whatever was promised
    std::uint64_t holes = 0;         ///< there, though one acknowledged before it is not: broken
    std::uint64_t strangers = 0;     ///< there, though never sent: broken
    std::uint64_t lost = 0;          ///< acknowledged, not durable: within the promise
    std::uint64_t lost_bytes = 0;
    std::uint64_t survived = 0;   ///< acknowledged, not known to be durable, and there
    std::uint64_t in_flight = 0;  ///< sent and not answered
    std::uint64_t in_flight_kept = 0;

    [[nodiscard]] bool promise_kept() const noexcept {
        return durable_lost + altered + holes + strangers == 0;
    }
};

class ledger {
   public:
    explicit ledger(const package_index& index)
        : index_(index), fates_(index.packages.size(), fate::unsent) {}

    /// Packages that are not in the store, as far as is known.
    [[nodiscard]] std::vector<std::uint32_t> to_do() const;
    /// Takes over what a load was told. If the server was not killed, all that was acknowledged
    /// must be there.
    void add(const loader& done, bool killed);
    /// Reads everything back. Afterwards what was found counts as durable, and what was not as
    /// unsent. nullopt: the server does not answer.
    [[nodiscard]] std::optional<comparison> compare(std::uint16_t port);

    [[nodiscard]] std::uint64_t durable() const;

   private:
    enum class fate : std::uint8_t { unsent, in_flight, acknowledged, durable };
    enum class finding : std::uint8_t { absent, exact, altered };

    [[nodiscard]] std::optional<std::vector<finding>> look(std::uint16_t port) const;

    const package_index& index_;
    std::vector<fate> fates_;
    std::vector<std::vector<std::uint32_t>> orders_;  ///< of each connection, since the last look
};

}  // namespace hf::demo
