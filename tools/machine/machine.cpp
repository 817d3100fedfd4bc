#include "machine.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <system_error>

namespace hf::machine {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto boot_by_kvm = std::chrono::seconds(20);
constexpr auto boot_by_emulation = std::chrono::seconds(180);
constexpr auto migration = std::chrono::seconds(120);
// Labels take the last 2 MiB; namespaces come in multiples of 16 MiB.
constexpr std::uint64_t persistent_bytes = std::uint64_t{322} << 20;
constexpr const char* persistent_size = "322M";

std::vector<std::string> command_line(const machine_options& o, int control, int commands) {
    const std::string accel = o.by == accelerator::kvm ? "kvm" : "tcg,thread=multi";
    return {"qemu-system-x86_64",
            "-accel",
            accel,
            "-cpu",
            "max",
            "-smp",
            "2",
            "-machine",
            "pc,nvdimm=on",
            "-m",
            "512M,slots=2,maxmem=4G",
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-kernel",
            (o.guest / "kernel").string(),
            "-initrd",
            (o.guest / "initramfs").string(),
            "-append",
            "console=ttyS0 panic=-1 quiet",
            "-chardev",
            "socket,id=control,fd=" + std::to_string(control),
            "-mon",
            "chardev=control,mode=control",
            "-serial",
            "file:" + (o.directory / "boot.log").string(),
            "-chardev",
            "socket,id=commands,fd=" + std::to_string(commands),
            "-serial",
            "chardev:commands",
            "-netdev",
            "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:11211",
            "-device",
            "virtio-net-pci,netdev=net,romfile=",
            "-object",
            "memory-backend-file,id=pmem,share=on,align=2M,size=" + std::string(persistent_size) +
                ",mem-path=" + o.persistent_memory.string(),
            "-device",
            "nvdimm,id=nvdimm,memdev=pmem,label-size=128K"};
}

/// QEMU requires a file of the full size; it may be sparse.
result<void> make_persistent_memory(const fs::path& file) {
    std::error_code wrong;
    if (fs::exists(file, wrong)) return {};
    std::ofstream(file).close();
    fs::resize_file(file, persistent_bytes, wrong);
    if (!wrong) return {};
    return failure({errc::no_space, "make persistent memory", file.string(), wrong.message(),
                    "make room there"});
}

}  // namespace

const char* to_string(accelerator a) noexcept {
    return a == accelerator::kvm ? "kvm" : "software emulation";
}

result<std::unique_ptr<machine>> machine::start(const machine_options& options, bool incoming) {
    if (auto made = make_persistent_memory(options.persistent_memory); !made) {
        return tl::unexpected(made.error());
    }
    auto control = channel::make("QEMU's control channel");
    auto commands = channel::make("the guest's command line");
    if (!control) return tl::unexpected(control.error());
    if (!commands) return tl::unexpected(commands.error());
    auto line = command_line(options, control->second.get(), commands->second.get());
    if (incoming) line.insert(line.end(), {"-incoming", "defer"});
    auto qemu = process::start(line, {control->second.get(), commands->second.get()},
                               options.directory / "qemu.log");
    if (!qemu) return tl::unexpected(qemu.error());
    auto made = std::make_unique<machine>();
    made->options_ = options;
    made->qemu_ = std::move(*qemu);
    made->control_ = qmp(std::move(control->first));
    made->console_ = console(std::move(commands->first));
    // From here on only QEMU has the other ends, so its death closes them.
    control->second.reset();
    commands->second.reset();
    if (auto begun = made->control_.begin(); !begun) return tl::unexpected(begun.error());
    if (auto learnt = made->learn_port(); !learnt) return tl::unexpected(learnt.error());
    const json shared_stays = {
        {"capabilities", json::array({{{"capability", "x-ignore-shared"}, {"state", true}},
                                      {{"capability", "events"}, {"state", true}}})}};
    const auto set = made->control_.execute("migrate-set-capabilities", shared_stays);
    if (!set) return tl::unexpected(set.error());
    return made;
}

/// "... TCP[HOST_FORWARD]  12 127.0.0.1 40123 10.0.2.15 11211 ..."
result<void> machine::learn_port() {
    const auto table =
        control_.execute("human-monitor-command", {{"command-line", "info usernet"}});
    if (!table) return tl::unexpected(table.error());
    const std::string text = table->get<std::string>();
    const std::string address = "127.0.0.1";
    std::size_t at = text.find(address);
    if (at != std::string::npos) at = text.find_first_not_of(' ', at + address.size());
    if (at != std::string::npos) {
        std::from_chars(text.data() + at, text.data() + text.size(), port_);
    }
    if (port_ != 0) return {};
    return failure({errc::io, "find the port that leads into the machine", "info usernet", text,
                    "try another version of QEMU"});
}

result<std::unique_ptr<machine>> machine::boot(const machine_options& options) {
    auto made = start(options, false);
    if (!made) return made;
    const auto patience = options.by == accelerator::kvm ? boot_by_kvm : boot_by_emulation;
    if (auto ready = (*made)->console_.await_ready(patience); !ready) {
        return tl::unexpected(ready.error());
    }
    return made;
}

result<void> machine::await_migration() {
    for (;;) {
        const auto event = control_.await("MIGRATION", migration);
        if (!event) return tl::unexpected(event.error());
        const std::string status = (*event)["data"].value("status", "");
        if (status == "completed") return {};
        if (status == "failed") {
            return failure({errc::io, "save or restore the virtual machine",
                            options_.directory.string(), text_of(options_.directory / "qemu.log"),
                            "make room there"});
        }
    }
}

result<void> machine::stop() {
    if (auto stopped = control_.execute("stop"); !stopped) return tl::unexpected(stopped.error());
    return {};
}

result<void> machine::save(const fs::path& snapshot) {
    if (auto stopped = stop(); !stopped) return stopped;
    const json where{{"uri", "exec:cat >'" + snapshot.string() + "'"}};
    if (auto begun = control_.execute("migrate", where); !begun) {
        return tl::unexpected(begun.error());
    }
    auto done = await_migration();
    // cat may still be writing: QEMU waits for it when it ends in order.
    if (done) (void)control_.execute("quit");
    if (done) (void)qemu_.wait();
    return done;
}

result<std::unique_ptr<machine>> machine::restore(const machine_options& options,
                                                  const fs::path& snapshot) {
    auto made = start(options, true);
    if (!made) return made;
    machine& m = **made;
    const json where{{"uri", "exec:cat '" + snapshot.string() + "'"}};
    const auto begun = m.control_.execute("migrate-incoming", where);
    if (!begun) return tl::unexpected(begun.error());
    if (auto done = m.await_migration(); !done) return tl::unexpected(done.error());
    if (auto runs = m.control_.execute("cont"); !runs) return tl::unexpected(runs.error());
    return made;
}

result<void> machine::plug(const disk_options& disk) {
    const auto file = [](const fs::path& path) {
        // The host's page cache is the disk's cache: a flush is an fdatasync of the file.
        return json{{"driver", "file"},
                    {"filename", path.string()},
                    {"cache", {{"direct", false}, {"no-flush", false}}}};
    };
    json node{{"driver", "raw"}, {"node-name", "disk"}, {"file", file(disk.image)}};
    if (!disk.write_log.empty()) {
        // QEMU does not create the file; it grows with the writes.
        std::ofstream(disk.write_log, std::ios::trunc).close();
        node = {{"driver", "blklogwrites"},
                {"node-name", "disk"},
                {"file", {{"driver", "raw"}, {"file", file(disk.image)}}},
                {"log", {{"driver", "raw"}, {"file", file(disk.write_log)}}},
                {"log-sector-size", 512}};
    }
    if (auto added = control_.execute("blockdev-add", node); !added) {
        return tl::unexpected(added.error());
    }
    const json device{{"driver", "virtio-blk-pci"}, {"drive", "disk"}, {"id", "vda"}};
    if (auto added = control_.execute("device_add", device); !added) {
        return tl::unexpected(added.error());
    }
    return {};
}

result<std::string> machine::require(const std::vector<std::string>& words) {
    auto done = console_.command(words);
    if (!done) return tl::unexpected(done.error());
    if (done->status == 0) return done->output;
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return failure({errc::violation, "have the guest do " + line,
                    "exit status " + std::to_string(done->status), done->output,
                    "read boot.log in " + options_.directory.string()});
}

result<void> machine::serve(const std::vector<std::string>& arguments, bool synced) {
    std::vector<std::string> words{"serve", synced ? "synced" : "unsynced"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (auto begun = require(words); !begun) return tl::unexpected(begun.error());
    return console_.await_serving();
}

result<accelerator> prepare(machine_options options, const fs::path& snapshot) {
    if (access("/dev/kvm", R_OK | W_OK) == 0) {
        options.by = accelerator::kvm;
        // Some hosts offer KVM but cannot run a guest with it: on any error, use emulation.
        if (auto booted = machine::boot(options)) {
            if ((*booted)->save(snapshot)) return accelerator::kvm;
        }
    }
    options.by = accelerator::emulation;
    auto booted = machine::boot(options);
    if (!booted) return tl::unexpected(booted.error());
    if (auto saved = (*booted)->save(snapshot); !saved) return tl::unexpected(saved.error());
    return accelerator::emulation;
}

}  // namespace hf::machine
