// tools/demo/loader.hpp: loads packages over several connections, and tracks which records are
// acknowledged and durable.
//
// Each connection sends its records in order, a batch at a time, and counts the answers. Another
// connection polls `stats`. Records that were acknowledged before a poll are in the epoch that its
// answer names, or an older one. Once a later answer reports that epoch as durable, all these
// records are durable. So a record counts as durable only if the server has promised it.
//
// Within a connection the epochs ascend, so a crash may lose only the last records that it sent.
#pragma once

#include "package_index.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace hf::demo {

class loader {
   public:
    /// The state of a connection. `sent` has its packages in order; the first `durable` of them are
    /// durable, the first `acknowledged` (at least `durable`) were answered; the others may or may
    /// not be stored.
    struct track {
        std::vector<std::uint32_t> sent;
        std::atomic<std::size_t> acknowledged{0};
        std::atomic<std::size_t> durable{0};
    };

    /// Starts to load the packages `to_do` at this rate per second (0: unlimited).
    loader(const package_index& index, std::vector<std::uint32_t> to_do, std::uint16_t port,
           unsigned connections, std::uint64_t rate);
    /// Call when the server is dead or all records are loaded.
    ~loader() { join(); }
    loader(const loader&) = delete;
    loader& operator=(const loader&) = delete;

    [[nodiscard]] std::size_t acknowledged() const noexcept;
    /// Whether all records are sent and answered, or all connections are lost.
    [[nodiscard]] bool is_over() const noexcept { return at_work_ == 0; }
    /// Whether the server gave an unexpected answer.
    [[nodiscard]] bool was_refused() const noexcept { return refused_; }

    void join();
    /// Call after join().
    [[nodiscard]] const std::vector<std::unique_ptr<track>>& tracks() const noexcept {
        return tracks_;
    }

   private:
    void load(track& mine);
    void watch();
    void wait_for_turn(std::size_t record) const;

    const package_index& index_;
    std::vector<std::uint32_t> to_do_;
    std::uint16_t port_;
    std::uint64_t rate_;
    std::uint64_t started_ns_;
    std::atomic<std::size_t> next_{0};
    std::atomic<unsigned> at_work_;
    std::atomic<bool> refused_{false};
    std::vector<std::unique_ptr<track>> tracks_;
    std::vector<std::thread> threads_;
};

}  // namespace hf::demo
