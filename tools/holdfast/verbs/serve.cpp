// `holdfast serve`: a region's store over TCP, in memcached's text protocol.
#include <holdfast/store.hpp>

#include "base/os_error.hpp"
#include "descriptors.hpp"
#include "epoch/options.hpp"
#include "interruption.hpp"
#include "map/inspect.hpp"
#include "map_kind.hpp"
#include "option_checks.hpp"
#include "quantity.hpp"
#include "region/arena.hpp"
#include "region/header.hpp"
#include "server/server.hpp"
#include "survival.hpp"
#include "verb.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

namespace hf::tool {

namespace {

constexpr const char* default_file = "data/store.hf";
constexpr std::uint64_t least_size = std::uint64_t{16} << 20;
constexpr std::uint32_t most_latency_ns = 1000;

/// As given; with defaults, so that the help shows them.
struct serve_arguments {
    std::string file = default_file;
    std::string address = "127.0.0.1";
    std::uint32_t port = 11211;
    unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
    std::string discipline;
    std::string index;
    std::string ack = "buffered";
    std::string epoch = "64ms";
    std::string max_value = "1m";
    std::string max_output = "256m";
    std::string size = "64m";
    std::string max_size = "0";
    std::string memory = "0";
    std::string medium = "auto";
    std::string image = "auto";
    std::string fence_latency = "0";
    std::string flush = "auto";
    unsigned max_connections = 1024;
    bool size_given = false;
    bool read_only_if_damaged = false;
    bool trust_reads = false;
};

const std::map<std::string, flush_policy> flush_policies{{"auto", flush_policy::automatic},
                                                         {"always", flush_policy::always},
                                                         {"never", flush_policy::never}};
const std::map<std::string, image_kind> images{{"auto", image_kind::automatic},
                                               {"shared", image_kind::shared},
                                               {"journalled", image_kind::journalled}};
const std::map<std::string, medium_kind> media{{"dax", medium_kind::dax},
                                               {"eadr", medium_kind::eadr},
                                               {"shm", medium_kind::shm},
                                               {"file", medium_kind::file}};

result<map_options> map_options_of(const serve_arguments& a) {
    map_options o;
    o.epoch = parse_duration(a.epoch).value();
    o.region.initial_size = parse_size(a.size).value();
    o.region.max_size = parse_size(a.max_size).value();
    o.region.memory = parse_size(a.memory).value();
    if (o.region.max_size != 0 && o.region.initial_size > o.region.max_size) {
        if (a.size_given || o.region.max_size < least_size) {
            return failure({errc::usage, "understand the arguments", "",
                            "--max-size is " + a.max_size + ", less than a region begins with",
                            "choose at least " +
                                human_size(a.size_given ? o.region.initial_size : least_size)});
        }
        o.region.initial_size = o.region.max_size;
    }
    o.region.fence_latency_ns = parse_latency(a.fence_latency).value();
    o.region.flush = flush_policies.at(a.flush);
    o.verify_reads = !a.trust_reads;
    o.kind = kind_named(a.discipline);
    o.index = a.index;
    if (const auto kind = media.find(a.medium); kind != media.end()) o.region.medium = kind->second;
    o.region.image = images.at(a.image);
    return o;
}

server_options server_options_of(const serve_arguments& a) {
    server_options o;
    o.address = a.address;
    o.port = static_cast<std::uint16_t>(a.port);
    o.threads = a.threads;
    o.max_item_size = parse_size(a.max_value).value();
    o.max_total_output = std::max<std::size_t>(parse_size(a.max_output).value(), o.max_item_size);
    o.ack = a.ack == "durable" ? ack_mode::durable : ack_mode::buffered;
    o.max_connections = a.max_connections;
    o.handle_signals = true;
    return o;
}

/// Creates the directory of the default file; for any other file the user does.
result<void> make_directory(const std::string& file) {
    if (file != default_file) return {};
    const std::filesystem::path directory = std::filesystem::path(file).parent_path();
    std::error_code status;
    if (std::filesystem::exists(directory, status)) return {};
    if (!std::filesystem::create_directories(directory, status) && status) {
        return failure({errc_of(status.value()), "make the directory", directory.string(),
                        status.message(), "name another file with --file"});
    }
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, status);
    return {};
}

/// The damage found by a check of an existing region: the first findings and the number; empty:
/// none. If it does not exist, or cannot be opened, the later open reports that.
std::string damage_of(const std::string& file) {
    progress_bar bar("checking " + file);
    const auto report = audit_map(file, [&bar](u64 done, u64 total) { bar.show(done, total); });
    if (!report || report->ok()) return {};
    const violation& first = report->violations().front();
    return fmt::format("offset 0x{:x}: {}; {} {} in all", first.offset, first.text,
                       human_count(report->violation_count()),
                       report->violation_count() == 1 ? "violation" : "violations");
}

std::string story_of(const statistics& s, const serve_arguments& a) {
    std::string text = s.path + ": ";
    const std::string took =
        human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(s.recovery_ns)));
    const bool is_eager = s.discipline == "eager";
    if (s.recovered && is_eager) {
        text += "recovered in " + took + "; what is free is being found beside the operations";
    } else if (s.recovered && s.image == "journalled" && s.recovered_entries == 0) {
        text += fmt::format("recovered in {}: {} {} of the journal applied", took,
                            human_count(s.recovered_records),
                            s.recovered_records == 1 ? "record" : "records");
    } else if (s.recovered) {
        text += fmt::format(
            "recovered in {}: {} log {} applied, {} failed {} to undo on the way", took,
            human_count(s.recovered_entries), s.recovered_entries == 1 ? "entry" : "entries",
            human_count(s.failed_epochs), s.failed_epochs == 1 ? "epoch" : "epochs");
    } else {
        text += (s.generation == 1 ? "created in " : "had been closed cleanly, opened in ") + took;
    }
    text += is_eager ? fmt::format(" ({}, index {})\n", human_size(s.region_bytes), s.index)
                     : fmt::format(" ({}, epoch {})\n", human_size(s.region_bytes), s.epoch);
    const bool flushes = s.flush_instruction != "none";
    const bool is_journalled = s.image == "journalled";
    text += fmt::format("medium {}, {}: {}\n", s.medium,
                        is_journalled ? "image journalled"
                        : flushes     ? "lines written back with " + s.flush_instruction
                                      : "no lines written back",
                        survival_of(media.at(s.medium), flushes || is_journalled));
    const std::string epoch = human_duration(parse_duration(a.epoch).value());
    if (is_eager && !is_journalled) {
        text += "an answer to a write means that it survives that (discipline eager)\n";
    } else if (a.ack == "durable") {
        text += "an answer to a write means that it survives that (--ack durable)\n";
    } else if (is_journalled) {
        text += fmt::format(
            "a crash loses writes that are not in the journal yet, about {} (--ack buffered)\n",
            epoch);
    } else {
        text +=
            fmt::format("a crash takes back the last epoch, {} at most (--ack buffered)\n", epoch);
    }
    return text;
}

/// Warnings about a server that can be reached from outside, or that takes fewer clients than
/// asked.
void warn_of_limits(const serve_arguments& a, server_options& o) {
    if (!is_loopback(a.address)) {
        warn("the address " + a.address +
             " can be reached from other machines, and there is no authentication: every client "
             "there can read, change and flush all records; listen on 127.0.0.1, or let a firewall "
             "decide who may connect");
    }
    const unsigned possible = make_room_for_connections(o.max_connections, o.threads);
    if (possible == o.max_connections) return;
    warn(
        fmt::format("the limit of open files allows {} connections, fewer than {}; raise it "
                    "(ulimit -n, LimitNOFILE=), or choose a smaller --max-connections",
                    possible, o.max_connections));
    o.max_connections = possible;
}

/// The server's destructor restores the signals' default actions, which end the process.
void block_end_signals() {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signal);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
}

int run(const serve_arguments& a) {
    // The reader of our output may have closed it; that must not end the server.
    std::signal(SIGPIPE, SIG_IGN);
    auto options = map_options_of(a);
    if (!options) return complain(options.error());
    server_options how = server_options_of(a);
    if (auto free = server::could_listen(how); !free) {
        return complain(free.error());
    }
    warn_of_limits(a, how);
    how.on_missing_file = [](const error& e) { warn(e.to_string()); };
    say_bus_errors();
    if (auto made = make_directory(a.file); !made) return complain(made.error());
    const std::string wrong = a.read_only_if_damaged ? damage_of(a.file) : std::string();
    if (!wrong.empty() && detail::discipline_in(a.file) == discipline::eager) {
        return complain({errc::corrupt, "serve the region", a.file, wrong,
                         "its index does not verify data, so it is not served; restore it from a "
                         "copy, or list the damage with `holdfast check`"});
    }
    if (!wrong.empty()) options->region.mode = open_mode::inspect;
    auto records = store::open(a.file, {*options, {}});
    if (!records) return complain(records.error());
    say(story_of(records->stats(), a));
    if (!wrong.empty()) {
        say(fmt::format(
            "{} is damaged ({}): it is served read-only, and nothing in it changes;\n"
            "damaged records are answered with an error; `holdfast check` lists all damage\n",
            a.file, wrong));
    }

    int code = 0;
    // The server catches signals for as long as it lives: until the store has been closed, or a
    // second SIGTERM during the close would end the process and lose writes that were answered.
    // After the close signals stay blocked, so that the exit code is the server's.
    auto running = server::start(*records, how);
    if (!running) {
        code = complain(running.error());
    } else {
        const std::string host =
            a.address.find(':') == std::string::npos ? a.address : "[" + a.address + "]";
        say(fmt::format("serving memcached's text protocol on {}:{} with {} threads\n", host,
                        (*running)->port(), a.threads));
        (*running)->wait();
        if (const auto why = (*running)->failure()) code = complain(*why);
    }
    const auto has_files = records->check_files();
    if (auto closed = records->close(); !closed) return complain(closed.error());
    if (!has_files) code = complain(has_files.error());
    if (code == 0) say("closed cleanly\n");
    forgive_output();
    block_end_signals();
    return code;
}

}  // namespace

void add_serve(CLI::App& app, action& chosen) {
    CLI::App* verb =
        app.add_subcommand("serve", "Serve a store over TCP in memcached's text protocol");
    auto a = std::make_shared<serve_arguments>();
    verb->add_option(
            "-f,--file,FILE", a->file,
            "The region; created if it does not exist, and recovered after a crash. It must be\n"
            "on a disk, on tmpfs, or on a file system mounted with dax")
        ->capture_default_str()
        ->check(some_name());
    verb->add_option("-l,--listen", a->address, "Numeric address to listen on")
        ->capture_default_str()
        ->check(numeric_address())
        ->type_name("ADDRESS");
    verb->add_option("-p,--port", a->port, "TCP port; 0: a free one, which is printed")
        ->capture_default_str()
        ->check(CLI::Range(0U, 65535U).description(""))
        ->type_name("N");
    constexpr unsigned most_threads = server_options::most_threads;
    verb->add_option("-t,--threads", a->threads,
                     fmt::format("Worker threads, 1 to {}", most_threads))
        ->capture_default_str()
        ->check(CLI::Range(1U, most_threads).description(""))
        ->type_name("N");
    verb->add_option(
            "--discipline", a->discipline,
            "For a new region: incll (epochs; any medium), or eager (each write is durable\n"
            "before its answer; on a disk with its epoch). Default: the region's own")
        ->check(CLI::IsMember(map_disciplines()).description(""))
        ->type_name("NAME");
    verb->add_option("--index", a->index,
                     "For a new region of discipline eager (default: clht).\n"
                     "docs/indexes.md compares them")
        ->check(CLI::IsMember(eager_index_names()).description(""))
        ->type_name("NAME");
    verb->add_option(
            "--ack", a->ack,
            "buffered: answer a write at once, as memcached does; a crash may lose the last\n"
            "epoch. durable: answer when its epoch is durable")
        ->capture_default_str()
        ->check(CLI::IsMember({"buffered", "durable"}).description(""))
        ->type_name("MODE");
    verb->add_option("--epoch", a->epoch, "Length of an epoch, 1ms to 10s")
        ->capture_default_str()
        ->check(duration_between(shortest_epoch, longest_epoch))
        ->type_name("TIME");
    verb->add_option("--max-value", a->max_value, "Longest value, up to 64m")
        ->capture_default_str()
        ->check(size_between(1, max_value_size))
        ->type_name("SIZE");
    verb->add_option(
            "--max-output", a->max_output,
            "Bytes that all clients together may leave unread. Beyond it each has 16 KiB,\n"
            "and longer values are answered with an error")
        ->capture_default_str()
        ->check(size_between(std::uint64_t{1} << 20, window_size))
        ->type_name("SIZE");
    verb->add_option("--max-connections", a->max_connections, "Maximum number of connections")
        ->capture_default_str()
        ->check(CLI::Range(1U, 1U << 20).description(""))
        ->type_name("N");
    verb->add_option("--size", a->size, "Initial size of a new region; it grows as needed")
        ->capture_default_str()
        ->check(size_between(least_size, window_size))
        ->type_name("SIZE");
    verb->add_option("--max-size", a->max_size, "Maximum size of the region; 0: no limit")
        ->capture_default_str()
        ->check(size_between(0, window_size))
        ->type_name("SIZE");
    verb->add_flag("--read-only-if-damaged", a->read_only_if_damaged,
                   "Check the whole region first. If it is damaged, serve the readable part and\n"
                   "refuse every change");
    verb->add_flag("--trust-reads", a->trust_reads,
                   "Do not verify checksums on reads: slightly faster, but a corrupt value may be\n"
                   "served");
    verb->add_option("--memory", a->memory,
                     "Of a journalled image: memory for dirty pages;\n"
                     "0: half of the memory of the machine or the control group")
        ->capture_default_str()
        ->check(size_between(0, window_size))
        ->type_name("SIZE");
    verb->add_option("--medium", a->medium,
                     "auto, file, shm, dax, or eadr: persistent memory of a machine that saves\n"
                     "its caches when the power fails, which cannot be detected")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "dax", "eadr", "file", "shm"}).description(""))
        ->type_name("MEDIUM");
    verb->add_option("--image", a->image,
                     "shared: stores go to the file; journalled: to private memory, and with each\n"
                     "epoch to the file, through a journal beside it; auto: journalled on a disk")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "journalled", "shared"}).description(""))
        ->type_name("IMAGE");
    verb->add_option("--flush", a->flush,
                     "Write back cache lines: auto (as the medium needs it), always, never")
        ->capture_default_str()
        ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
        ->type_name("WHEN");
    verb->add_option("--fence-latency", a->fence_latency,
                     "Emulated latency after each fence, for measurements: 0 to 1000 ns, or dram,\n"
                     "pcm, sttm")
        ->capture_default_str()
        ->check(latency_up_to(most_latency_ns))
        ->type_name("NS");
    verb->footer(
        "SIGTERM, SIGINT and SIGHUP close the region in order. Kill it in any other way and\n"
        "start it again: it serves the state at the end of the last completed epoch.\n\n"
        "Example:\n"
        "  holdfast serve --file /dev/shm/store.hf --port 11211 --ack durable\n"
        "  holdfast serve --file /dev/shm/eager.hf --discipline eager --index art\n"
        "  printf 'set k 0 0 5\\r\\nhello\\r\\nget k\\r\\n' | nc -q1 127.0.0.1 11211");
    verb->callback([a, verb, &chosen] {
        a->size_given = verb->count("--size") != 0;
        chosen = [a] { return run(*a); };
    });
}

}  // namespace hf::tool
