// bench/peers/contender.hpp: one key-value store under comparison, whoever made it.
//
// Holdfast and its peers stand behind this interface, and the measured loop (compare/round.hpp)
// knows nothing else of them: two virtual calls an operation at most, the same for all. A peer is
// a module of its own (`hf_bench_peer_NAME.so`), opened at run time, so that nothing of Holdfast
// links against it; it exports the two functions at the end. This header needs no code of
// Holdfast's libraries, only their public headers.
//
// Life. Opened, on an empty directory or on what an earlier contender closed there. Then rounds:
// begin(), operations on connections, one for each thread, make_durable(), rest(). Between rest()
// and begin() it leaves processor and disk to the others. At last close(), when no connection is
// left.
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

/// When a put returns: at once, with durability at most a window behind; or durable.
enum class acknowledge : std::uint8_t { behind, durable };

struct contender_options {
    std::filesystem::path directory;  ///< there, and its own
    std::string variant;  ///< of a peer that may be set up in several ways; "" is the usual one
    acknowledge ack = acknowledge::behind;
    std::chrono::microseconds window = std::chrono::milliseconds(64);  ///< behind by this at most
    std::uint64_t records = 0;                                         ///< that it will hold
    std::uint32_t value_size = 0;
    std::uint32_t key_size = 8;  ///< the same for all
    unsigned clients = 1;        ///< connections at a time
    /// Bytes that Holdfast may take for as much, its hints included: cache to be had.
    std::uint64_t memory = 0;
};

/// One thread's way to the store.
class connection {
   public:
    connection() = default;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// Copies the value. False: no such key.
    [[nodiscard]] virtual result<bool> get(std::string_view key, std::string& value) = 0;
    /// Returns when the write is acknowledged, as the contender was opened for.
    [[nodiscard]] virtual result<void> put(std::string_view key, std::string_view value) = 0;

    /// `context` is the visitor's.
    using visitor = void (*)(void* context, std::string_view key, std::string_view value);
    /// At most so many records from this key on, in the store's own order; how many there were.
    /// Where contender::scans() says so.
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
    /// Lets background work go on, a sync every window among it.
    [[nodiscard]] virtual result<void> begin() = 0;
    /// Everything written so far.
    [[nodiscard]] virtual result<void> make_durable() = 0;
    /// Ends background work or stops it until begin(): what is left of it burdens the next round.
    [[nodiscard]] virtual result<void> rest() = 0;
    /// Waits until there is no background work left; after loading.
    [[nodiscard]] virtual result<void> settle() = 0;
    [[nodiscard]] virtual result<void> close() = 0;

    using facts = std::vector<std::pair<std::string, std::string>>;
    /// What it is and how it was set up, for the report.
    [[nodiscard]] virtual facts settings() const = 0;
    using counts = std::vector<std::pair<std::string, std::uint64_t>>;
    /// Its own counters since it was opened; they never fall. "written bytes", where there is one,
    /// is what it believes to have written to storage.
    [[nodiscard]] virtual counts counters() const = 0;
    /// Bytes of memory that it holds its data in now, as it counts them itself.
    [[nodiscard]] virtual std::uint64_t memory() const = 0;
};

/// Goes up with every change of this header.
inline constexpr unsigned contender_interface = 3;

}  // namespace hf::bench

extern "C" {
/// contender_interface as the module was compiled with it.
unsigned hf_bench_peer_interface();
/// A new contender, the caller's to delete; nullptr with the reason in `why`.
hf::bench::contender* hf_bench_peer_open(const hf::bench::contender_options& options,
                                         hf::error& why);
}
