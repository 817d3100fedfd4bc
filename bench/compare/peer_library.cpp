#include "bench/compare/peer_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

namespace hf::bench {

namespace {

namespace fs = std::filesystem;

struct known_peer {
    const char* name;
    const char* module;
    const char* variant;
    const char* package;  ///< Debian's package to build the module with
    bool on_disk;         ///< whether `bench compare` supports it
};
constexpr std::array known_peers = {
    known_peer{"rocksdb", "rocksdb", "", "librocksdb-dev", true},
    known_peer{"lmdb", "lmdb", "", "liblmdb-dev", true},
    known_peer{"pmemobj", "pmemobj_map", "", "libpmemobj-dev", false},
    known_peer{"lmdb-pwrite", "lmdb", "pwrite", "liblmdb-dev", true},
};

/// Relative to the program's directory.
constexpr std::array places = {".",
                               "peers",
                               "../lib/holdfast",
                               "../lib/x86_64-linux-gnu/holdfast",
                               "../bench/peers",
                               "../../bench/peers",
                               "../../../bench/peers"};

std::optional<fs::path> find_module(const std::string& file, const fs::path& program) {
    std::error_code ignored;
    for (const char* place : places) {
        const fs::path candidate = program.parent_path() / place / file;
        if (fs::exists(candidate, ignored)) return candidate.lexically_normal();
    }
    return std::nullopt;
}

const known_peer* find_peer(std::string_view name) {
    const auto* at = std::find_if(known_peers.begin(), known_peers.end(),
                                  [&](const known_peer& p) { return name == p.name; });
    return at == known_peers.end() ? nullptr : at;
}

std::string last_problem() {
    const char* text = ::dlerror();
    return text == nullptr ? "unknown reason" : text;
}

}  // namespace

const std::vector<std::string>& peer_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const known_peer& p : known_peers) {
            if (p.on_disk) all.emplace_back(p.name);
        }
        return all;
    }();
    return names;
}

result<void*> open_peer_module(const std::string& what, const std::string& module,
                               const std::string& package) {
    const std::string file = "hf_bench_peer_" + module + ".so";
    const std::string next = "install " + package +
                             " and build again; './dev bench' does both for what it is told to "
                             "compare";
    std::error_code unknown;
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
    const auto found = find_module(file, program);
    if (!found) {
        return failure({errc::not_found, what, file,
                        "it is not there: this was built where " + package + " was not", next});
    }
    // RTLD_LOCAL and RTLD_NOW: no symbol of a peer is visible to Holdfast or another peer.
    // RTLD_NODELETE: a peer may have threads that continue to run (RocksDB's pool does).
    void* handle = ::dlopen(found->c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return handle;
    return failure({errc::incompatible, what, found->string(), last_problem(), next});
}

result<std::unique_ptr<peer_library>> peer_library::load(std::string_view name) {
    const std::string what = "compare with " + std::string(name);
    const known_peer* peer = find_peer(name);
    if (peer == nullptr) {
        return failure({errc::usage, what, "--peers", "there is no such peer",
                        "holdfast bench compare --help lists them"});
    }
    // libpmem reads it when it is loaded.
    ::setenv("PMEM_IS_PMEM_FORCE", "1", 1);
    auto handle = open_peer_module(what, peer->module, peer->package);
    if (!handle) return tl::unexpected(handle.error());
    auto* interface = reinterpret_cast<unsigned (*)()>(::dlsym(*handle, "hf_bench_peer_interface"));
    auto* open = reinterpret_cast<open_function*>(::dlsym(*handle, "hf_bench_peer_open"));
    if (interface == nullptr || open == nullptr || interface() != contender_interface) {
        ::dlclose(*handle);
        return failure({errc::incompatible, what, peer->module,
                        "it was built for another version of the interface",
                        "build all of it again"});
    }
    return std::unique_ptr<peer_library>(new peer_library(*handle, open, peer->variant));
}

peer_library::~peer_library() { ::dlclose(handle_); }

result<std::unique_ptr<contender>> peer_library::open(const contender_options& options) const {
    error why;
    contender_options mine = options;
    mine.variant = variant_;
    std::unique_ptr<contender> made(open_(mine, why));
    if (!made) return failure(std::move(why));
    return made;
}

}  // namespace hf::bench
