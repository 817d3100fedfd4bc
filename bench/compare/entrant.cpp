#include "bench/compare/entrant.hpp"

#include "bench/compare/holdfast_contender.hpp"
#include "bench/compare/peer_library.hpp"
#include "bench/subject.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace hf::bench {

namespace fs = std::filesystem;

result<std::unique_ptr<own_directory>> own_directory::make(const fs::path& parent,
                                                           const std::string& name) {
    static unsigned made = 0;
    const auto path = parent / ("holdfast-compare-" + std::to_string(::getpid()) + "-" +
                                std::to_string(made++) + "-" + name);
    std::error_code problem;
    fs::create_directory(path, problem);
    if (problem) {
        return failure({errc::io, "make a directory for a store", path.string(), problem.message(),
                        "name a --dir that is there and writable"});
    }
    return std::unique_ptr<own_directory>(new own_directory(path));
}

own_directory::~own_directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

u64 memory_for(const compare_options& o) noexcept {
    constexpr u64 hints_share = 8;  // maximum share of a region's size
    const u64 region = size_for(o.records, o.value_size);
    return region + region / hints_share;
}

result<void> entrant::open(const compare_options& o, acknowledge ack) {
    contender_options wanted;
    wanted.directory = directory->path();
    wanted.ack = ack;
    wanted.window = o.window;
    wanted.records = o.records;
    wanted.value_size = o.value_size;
    // One more for the verification, or for the probes.
    wanted.clients = std::max(o.threads, o.clients) + 1;
    wanted.memory = memory_for(o);
    auto opened = make(wanted);
    if (!opened) return tl::unexpected(opened.error());
    store = std::move(*opened);
    return {};
}

result<void> entrant::close() {
    if (!store) return {};
    auto done = store->close();
    store.reset();
    return done;
}

namespace {

using maker = std::function<result<std::unique_ptr<contender>>(const contender_options&)>;

result<void> enter(entrants& all, const std::string& name, const fs::path& parent, maker make,
                   const compare_options& o) {
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '-');
    auto directory = own_directory::make(parent, file);
    if (!directory) return tl::unexpected(directory.error());
    all.push_back(std::make_unique<entrant>(
        entrant{name, std::move(make), std::move(*directory),
                ledger(o.records, std::max(o.threads, o.clients)), nullptr}));
    return {};
}

maker holdfast_on(medium_kind medium, bool force) {
    return [medium, force](const contender_options& wanted) {
        return open_holdfast(wanted, medium, force);
    };
}

}  // namespace

result<entrants> make_entrants(const compare_options& o) {
    std::vector<std::shared_ptr<peer_library>> libraries;
    for (const std::string& name : o.peers) {
        auto found = peer_library::load(name);
        if (!found) return tl::unexpected(found.error());
        libraries.push_back(std::move(*found));
    }
    entrants all;
    if (auto done = enter(all, std::string(ours), o.directory,
                          holdfast_on(medium_kind::file, o.force_medium), o);
        !done) {
        return tl::unexpected(done.error());
    }
    if (auto done =
            enter(all, std::string(in_memory), "/dev/shm", holdfast_on(medium_kind::shm, false), o);
        !done) {
        return tl::unexpected(done.error());
    }
    for (std::size_t i = 0; i < o.peers.size(); ++i) {
        const auto make = [library = libraries[i]](const contender_options& wanted) {
            return library->open(wanted);
        };
        if (auto done = enter(all, o.peers[i], o.directory, make, o); !done) {
            return tl::unexpected(done.error());
        }
    }
    return all;
}

}  // namespace hf::bench
