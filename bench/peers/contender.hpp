// bench/peers/contender.hpp: interface of a key-value store in a comparison.
//
// The measured loop (compare/round.hpp) uses Holdfast and its peers only by this interface: at most
// two virtual calls an operation, the same for all. A peer is a module (`hf_bench_peer_NAME.so`)
// that is opened at run time, so that Holdfast does not link against it; it exports the two
// functions at the end. This header needs only the public headers of Holdfast.
//
// Life cycle. A contender is opened on an empty directory, or on one that an earlier contender has
// closed. Then follow rounds: begin(), operations on connections, one for each thread,
// make_durable(), rest(). Between rest() and begin() it must not use processor or disk. Finally
// close(), when no connection is left.
#pragma once

#include <holdfast/result.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hf::bench {

/// When a put returns: at once, and it becomes durable within a window; or when it is durable.
enum class acknowledge : std::uint8_t { behind, durable };

struct contender_options {
    std::filesystem::path directory;  ///< exists; used by this contender only
    std::string variant;              ///< of a peer with several configurations; "" is the default
    acknowledge ack = acknowledge::behind;
    /// maximum lag of durability
    std::chrono::microseconds window = std::chrono::milliseconds(64);
    /// that it will have to hold
    std::uint64_t records = 0;
    std::uint32_t value_size = 0;
    std::uint32_t key_size = 8;  ///< the same for all keys
    unsigned clients = 1;        ///< maximum number of connections
    /// Memory that Holdfast may use for the data, its hints included; the budget of a cache.
    std::uint64_t memory = 0;
};

/// A thread's access to the store.
class connection {
   public:
    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// Copies the value. False: no such key.
    [[nodiscard]] virtual result<bool> get(std::string_view key, std::string& value) = 0;
    /// Returns when the write is acknowledged, according to the options.
    [[nodiscard]] virtual result<void> put(std::string_view key, std::string_view value) = 0;

    /// `context` is passed to the visitor.
    using visitor = void (*)(void* context, std::string_view key, std::string_view value);
    /// Visits at most `most` records from this key on, in the store's order; returns their number.
    /// Only if contender::scans().
    [[nodiscard]] virtual result<std::uint64_t> scan(std::string_view /*from*/,
                                                     std::uint64_t /*most*/, visitor /*visit*/,
                                                     void* /*context*/) {
        return 0;
    }
};

class contender {
   public:
    contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;
    virtual ~contender() = default;

    [[nodiscard]] virtual result<std::unique_ptr<connection>> connect() = 0;
    [[nodiscard]] virtual bool scans() const noexcept { return false; }
    /// Starts background work, including a sync in every window.
    [[nodiscard]] virtual result<void> begin() = 0;
    /// Makes everything written so far durable.
    [[nodiscard]] virtual result<void> make_durable() = 0;
    /// Stops background work until begin(); work that is left over burdens the next round.
    [[nodiscard]] virtual result<void> rest() = 0;
    /// Waits until no background work is left. Called after loading.
    [[nodiscard]] virtual result<void> settle() = 0;
    [[nodiscard]] virtual result<void> close() = 0;

    using facts = std::vector<std::pair<std::string, std::string>>;
    /// The store's version and configuration, for the report.
    [[nodiscard]] virtual facts settings() const = 0;
    using counts = std::vector<std::pair<std::string, std::uint64_t>>;
    /// The store's own counters since it was opened; they never decrease. "written bytes", if it
    /// exists, is the store's count of bytes written to storage.
    [[nodiscard]] virtual counts counters() const = 0;
    /// Memory that the store uses for its data, by its own count.
    [[nodiscard]] virtual std::uint64_t memory() const = 0;
};

/// Increment with every change of this header.
inline constexpr unsigned contender_interface = 3;

}  // namespace hf::bench

extern "C" {
/// The value of contender_interface that the module was compiled with.
unsigned hf_bench_peer_interface();
/// A new contender, which the caller must delete; nullptr with the reason in `why`.
hf::bench::contender* hf_bench_peer_open(const hf::bench::contender_options& options,
                                         hf::error& why);
}
