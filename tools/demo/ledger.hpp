// tools/demo/ledger.hpp: the records that the store must have, may have, and has.
#pragma once

#include "loader.hpp"
#include "package_index.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace hf::demo {

/// The result of comparing the whole store with the ledger, byte for byte.
struct comparison {
    std::uint64_t durable = 0;       ///< records promised as durable
    std::uint64_t durable_lost = 0;  ///< ... that are missing: a violation
    std::uint64_t altered = 0;       ///< records with other contents than were stored: a violation
    /// present, though one acknowledged before it is missing: a violation of the order
    std::uint64_t holes = 0;
    std::uint64_t strangers = 0;  ///< present, though never sent: a violation
    std::uint64_t lost = 0;       ///< acknowledged, not durable, missing: allowed
    std::uint64_t lost_bytes = 0;
    std::uint64_t survived = 0;   ///< acknowledged, not known to be durable, present
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
    /// Adds the results of a load. If the server was not killed, all acknowledged records must be
    /// there.
    void add(const loader& done, bool killed);
    /// Reads all records. Afterwards those that were found count as durable, the others as unsent.
    /// nullopt: the server does not answer.
    [[nodiscard]] std::optional<comparison> compare(std::uint16_t port);

    [[nodiscard]] std::uint64_t durable() const;

   private:
    enum class fate : std::uint8_t { unsent, in_flight, acknowledged, durable };
    enum class finding : std::uint8_t { absent, exact, altered };

    [[nodiscard]] std::optional<std::vector<finding>> look(std::uint16_t port) const;

    const package_index& index_;
    std::vector<fate> fates_;
    /// of each connection, since the last comparison
    std::vector<std::vector<std::uint32_t>> orders_;
};

}  // namespace hf::demo
