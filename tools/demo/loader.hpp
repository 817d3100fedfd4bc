// tools/demo/loader.hpp: several connections load packages, and remember what they were told.
//
// Each connection sends its records in order, a batch at a time, and counts the answers. One more
// connection asks for `stats` again and again. What was acknowledged before it asked lies in an
// epoch no younger than the one that the answer shows; once a later answer shows that epoch as
// durable, all that is durable. So what is called durable here is what the server has promised, and
// nothing that it has not.
//
// Within a connection epochs ascend. So a crash may only take the tail of what it was told.
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
    /// What one connection did. `sent` holds packages in order; the first `durable` are durable,
    /// the first `acknowledged` (no fewer) were answered, and the others may be there or not.
    struct track {
        std::vector<std::uint32_t> sent;
        std::atomic<std::size_t> acknowledged{0};
        std::atomic<std::size_t> durable{0};
    };

    /// Begins to load the packages named in `to_do`, so many a second (0: as fast as it goes).
    loader(const package_index& index, std::vector<std::uint32_t> to_do, std::uint16_t port,
           unsigned connections, std::uint64_t rate);
    /// The server must be dead, or everything loaded.
    ~loader() { join(); }
    loader(const loader&) = delete;
    loader& operator=(const loader&) = delete;

    [[nodiscard]] std::size_t acknowledged() const noexcept;
    /// Everything has been sent and answered, or no connection is left.
    [[nodiscard]] bool is_over() const noexcept { return at_work_ == 0; }
    /// Whether the server gave an answer that it must not give.
    [[nodiscard]] bool was_refused() const noexcept { return refused_; }

    void join();
    /// After join().
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
