#include "mounts.hpp"

#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>

namespace hf::tool {

std::optional<std::string> mount_facts::option(const std::string& name) const {
    std::istringstream all(options);
    for (std::string one; std::getline(all, one, ',');) {
        const std::size_t equals = one.find('=');
        if (one.substr(0, equals) != name) continue;
        return equals == std::string::npos ? std::string() : one.substr(equals + 1);
    }
    return std::nullopt;
}

// proc(5): 36 35 98:0 /root /mount/point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
std::optional<mount_facts> mount_of_device(dev_t device) {
    const std::string number = std::to_string(major(device)) + ":" + std::to_string(minor(device));
    std::ifstream in("/proc/self/mountinfo");
    std::optional<mount_facts> first;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string id;
        std::string parent;
        std::string dev;
        std::string root;
        mount_facts m;
        if (!(words >> id >> parent >> dev >> root >> m.point >> m.options) || dev != number) {
            continue;
        }
        std::string word;
        while (words >> word && word != "-") {
        }
        std::string source;
        std::string more;
        if (words >> m.type >> source >> more) m.options += "," + more;
        // The first one: later ones are usually bind mounts of the same file system.
        if (!first) first = m;
    }
    return first;
}

std::string first_line_of(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

std::string chosen_of(const std::string& choices) {
    const std::size_t open = choices.find('[');
    const std::size_t close = choices.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open) return choices;
    return choices.substr(open + 1, close - open - 1);
}

}  // namespace hf::tool
