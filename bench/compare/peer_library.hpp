// bench/compare/peer_library.hpp: finds and opens the module of a peer.
#pragma once

#include "bench/peers/contender.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

/// Peers of `bench compare` with a module, whether it was built or not: "name", or "name-variant"
/// if it has several configurations.
[[nodiscard]] const std::vector<std::string>& peer_names();

/// Opens `hf_bench_peer_MODULE.so` permanently. Searches the program's directory, ../lib/holdfast
/// of an installation, and bench/peers of a build tree. errc::not_found names the package to
/// install.
[[nodiscard]] result<void*> open_peer_module(const std::string& what, const std::string& module,
                                             const std::string& package);

/// Must outlive all contenders that it makes.
class peer_library {
   public:
    /// As open_peer_module().
    [[nodiscard]] static result<std::unique_ptr<peer_library>> load(std::string_view name);
    ~peer_library();
    peer_library(const peer_library&) = delete;
    peer_library& operator=(const peer_library&) = delete;

    [[nodiscard]] result<std::unique_ptr<contender>> open(const contender_options& options) const;

   private:
    using open_function = contender*(const contender_options&, error&);
    peer_library(void* handle, open_function* maker, std::string variant)
        : handle_(handle), open_(maker), variant_(std::move(variant)) {}

    void* handle_;
    open_function* open_;
    std::string variant_;
};

}  // namespace hf::bench
