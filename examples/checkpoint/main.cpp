// A queue and a hash map that survive crashes (docs/structures.md).
//
//     hf_example_checkpoint FILE QUEUE|MAP COMMAND...
//
//     FILE queue push BYTES... | pop | list      FILE map put KEY VALUE | get KEY | remove KEY
//     FILE map fill COUNT [crash]
//
// fill puts COUNT records and waits until they are durable; with `crash` it then changes each of
// them once more, and ends without closing the file.
#include "hash_map.hpp"
#include "queue.hpp"

#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

namespace {

using words = std::span<const std::string_view>;

int fail(const hf::error& why) {
    std::cerr << why.to_string() << '\n';
    return why.exit_code();
}

int usage() {
    std::cerr << "usage: FILE queue push BYTES... | pop | list\n"
                 "       FILE map put KEY VALUE | get KEY | remove KEY | fill COUNT [crash]\n";
    return 2;
}

int run_queue(hf::checkpointed& file, words command) {
    example::queue queue(file);
    if (file.failed_epochs() != 0) {
        if (auto ok = queue.mend(); !ok) return fail(ok.error());
    }
    if (command[0] == "push") {
        for (const auto bytes : command.subspan(1)) {
            if (auto done = queue.push(bytes); !done) return fail(done.error());
        }
        return 0;
    }
    if (command[0] == "pop") {
        const auto bytes = queue.pop();
        if (!bytes) return 1;
        std::cout << *bytes << '\n';
        return 0;
    }
    if (command[0] != "list") return usage();
    queue.for_each([](std::string_view bytes) {
        std::cout << bytes << '\n';
        return true;
    });
    return 0;
}

int fill(hf::checkpointed& file, example::hash_map& map, words command) {
    const unsigned long count = std::strtoul(std::string(command[1]).c_str(), nullptr, 10);
    const auto put_all = [&](const char* value) -> hf::result<void> {
        for (unsigned long i = 0; i < count; ++i) {
            auto done = map.put("record " + std::to_string(i), value);
            if (!done) return tl::unexpected(done.error());
        }
        return {};
    };
    if (auto done = put_all("durable"); !done) return fail(done.error());
    if (auto done = file.sync(); !done) return fail(done.error());
    std::cout << map.size() << " records" << std::endl;
    if (command.size() < 3) return 0;
    if (auto done = put_all("lost"); !done) return fail(done.error());
    std::abort();
}

int run_map(hf::checkpointed& file, words command) {
    example::hash_map map(file);
    if (file.failed_epochs() != 0) {
        if (auto ok = map.mend(); !ok) return fail(ok.error());
    }
    if (command[0] == "fill" && command.size() > 1) return fill(file, map, command);
    if (command[0] == "put" && command.size() == 3) {
        const auto done = map.put(command[1], command[2]);
        return done ? 0 : fail(done.error());
    }
    if (command[0] == "remove" && command.size() == 2) return map.remove(command[1]) ? 0 : 1;
    if (command[0] != "get" || command.size() != 2) return usage();
    const auto value = map.get(command[1]);
    if (!value) return 1;
    std::cout << *value << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> all(argv + 1, argv + argc);
    if (all.size() < 3 || (all[1] != "queue" && all[1] != "map")) return usage();
    hf::checkpointed_options options;
    options.epoch = std::chrono::seconds(10);  // data without a wait may be lost
    auto file = hf::checkpointed::open(argv[1], options);
    if (!file) return fail(file.error());
    const words command = words(all).subspan(2);
    const int status = all[1] == "queue" ? run_queue(*file, command) : run_map(*file, command);
    if (auto closed = file->close(); !closed) return fail(closed.error());
    return status;
}
