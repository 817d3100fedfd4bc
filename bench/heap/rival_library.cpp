#include "bench/heap/rival_library.hpp"

#include "bench/compare/peer_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

namespace hf::bench {

namespace {

struct known_rival {
    const char* name;
    const char* module;
    const char* package;  ///< Debian's package
};
constexpr std::array known_rivals = {
    known_rival{"libpmemobj", "pmemobj", "libpmemobj-dev"},
    known_rival{"bdb", "bdb", "libdb5.3-dev"},
    known_rival{"lmdb", "lmdb_objects", "liblmdb-dev"},
};

}  // namespace

const std::vector<std::string>& object_rival_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const known_rival& r : known_rivals) all.emplace_back(r.name);
        return all;
    }();
    return names;
}

result<std::unique_ptr<object_rival>> open_rival(std::string_view name,
                                                 const object_options& options) {
    const std::string what = "compare with " + std::string(name);
    const auto* const known = std::find_if(known_rivals.begin(), known_rivals.end(),
                                           [&](const known_rival& r) { return name == r.name; });
    if (known == known_rivals.end()) {
        return failure({errc::usage, what, "--peers", "there is no such peer",
                        "holdfast bench heap --help lists them"});
    }
    // libpmem reads it when it is loaded.
    ::setenv("PMEM_IS_PMEM_FORCE", "1", 1);
    auto handle = open_peer_module(what, known->module, known->package);
    if (!handle) return tl::unexpected(handle.error());
    using open_function = object_rival*(const object_options&);
    auto* const interface =
        reinterpret_cast<unsigned (*)()>(::dlsym(*handle, "hf_bench_rival_interface"));
    auto* const open = reinterpret_cast<open_function*>(::dlsym(*handle, "hf_bench_rival_open"));
    if (interface == nullptr || open == nullptr || interface() != object_rival_interface) {
        return failure({errc::incompatible, what, known->module,
                        "it was built for another version of the interface",
                        "build all of it again"});
    }
    try {
        return std::unique_ptr<object_rival>(open(options));
    } catch (const std::runtime_error& e) {
        return failure({errc::io, what, options.directory.string(), e.what(),
                        "look at the directory and at the space that is left there"});
    }
}

}  // namespace hf::bench
