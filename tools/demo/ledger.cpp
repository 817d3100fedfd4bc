#include "ledger.hpp"

#include "client.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace hf::demo {

std::vector<std::uint32_t> ledger::to_do() const {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < fates_.size(); ++i) {
        if (fates_[i] != fate::durable) open.push_back(i);
    }
    return open;
}

void ledger::add(const loader& done, bool killed) {
    for (const auto& t : done.tracks()) {
        const std::size_t durable = killed ? t->durable : t->acknowledged;
        for (std::size_t i = 0; i < t->sent.size(); ++i) {
            fates_[t->sent[i]] = i < durable           ? fate::durable
                                 : i < t->acknowledged ? fate::acknowledged
                                                       : fate::in_flight;
        }
        orders_.push_back(t->sent);
    }
}

std::optional<std::vector<ledger::finding>> ledger::look(std::uint16_t port) const {
    constexpr std::size_t keys_of_a_get = 48;
    auto connection = client::connect(port);
    if (!connection) return std::nullopt;
    const auto count = static_cast<std::uint32_t>(index_.packages.size());
    std::vector<finding> found(count, finding::absent);
    for (std::uint32_t first = 0; first < count; first += keys_of_a_get) {
        const auto end = std::min<std::uint32_t>(first + keys_of_a_get, count);
        std::string keys;
        for (std::uint32_t i = first; i < end; ++i) keys += " " + index_.packages[i].name;
        connection->get(keys);
        std::uint32_t at = first;
        const auto visit = [&](std::string_view key, std::string_view value) {
            // The values are in the order of the request.
            while (at < end && index_.packages[at].name != key) ++at;
            if (at == end) return;
            const bool same = index_.packages[at].stanza == value;
            found[at] = same ? finding::exact : finding::altered;
        };
        if (!connection->flush()) return std::nullopt;
        if (!connection->read_values(visit)) return std::nullopt;
    }
    return found;
}

std::optional<comparison> ledger::compare(std::uint16_t port) {
    const auto found = look(port);
    if (!found) return std::nullopt;
    comparison c;
    for (const auto& order : orders_) {
        bool tail = false;
        for (const std::uint32_t i : order) {
            const bool there = (*found)[i] != finding::absent;
            if (tail && there) ++c.holes;
            tail = tail || !there;
        }
    }
    orders_.clear();
    for (std::uint32_t i = 0; i < fates_.size(); ++i) {
        const bool there = (*found)[i] != finding::absent;
        const package& p = index_.packages[i];
        c.altered += (*found)[i] == finding::altered ? 1 : 0;
        switch (fates_[i]) {
            case fate::unsent:
                c.strangers += there ? 1 : 0;
                break;
            case fate::in_flight:
                ++c.in_flight;
                c.in_flight_kept += there ? 1 : 0;
                break;
            case fate::acknowledged:
                c.survived += there ? 1 : 0;
                c.lost += there ? 0 : 1;
                c.lost_bytes += there ? 0 : p.name.size() + p.stanza.size();
                break;
            case fate::durable:
                ++c.durable;
                c.durable_lost += there ? 0 : 1;
                break;
        }
        // The recovered state is that of a completed epoch: all records in it are durable.
        fates_[i] = there ? fate::durable : fate::unsent;
    }
    return c;
}

std::uint64_t ledger::durable() const {
    return static_cast<std::uint64_t>(std::count(fates_.begin(), fates_.end(), fate::durable));
}

}  // namespace hf::demo
