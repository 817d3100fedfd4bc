#include "package_index.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace hf::demo {

namespace {

constexpr std::size_t longest_name = 250;
constexpr std::size_t longest_stanza = 1'000'000;

std::string output_of(const char* command) {
    std::string text;
    std::FILE* pipe = popen(command, "r");
    if (pipe == nullptr) return text;
    std::array<char, 1 << 16> block{};
    while (const std::size_t n = std::fread(block.data(), 1, block.size(), pipe)) {
        text.append(block.data(), n);
    }
    (void)pclose(pipe);
    return text;
}

std::string contents_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The value of a field that starts a line of the stanza.
std::string_view field(std::string_view stanza, std::string_view name) {
    for (std::size_t at = 0; at < stanza.size();) {
        const std::size_t end = std::min(stanza.find('\n', at), stanza.size());
        std::string_view line = stanza.substr(at, end - at);
        if (line.starts_with(name)) {
            line.remove_prefix(name.size());
            const std::size_t first = line.find_first_not_of(' ');
            return first == std::string_view::npos ? std::string_view() : line.substr(first);
        }
        at = end + 1;
    }
    return {};
}

bool is_memcached_key(std::string_view name) {
    if (name.empty() || name.size() > longest_name) return false;
    for (const char c : name) {
        if (c <= ' ' || c == 0x7f) return false;
    }
    return true;
}

}  // namespace

package_index parse_index(const std::string& text, std::string source) {
    package_index index;
    index.source = std::move(source);
    std::unordered_set<std::string_view> seen;
    const std::string_view all = text;
    for (std::size_t at = 0; at < all.size();) {
        std::size_t end = all.find("\n\n", at);
        end = end == std::string_view::npos ? all.size() : end + 1;
        const std::string_view stanza = all.substr(at, end - at);
        at = end;
        while (at < all.size() && all[at] == '\n') ++at;
        const std::string_view name = field(stanza, "Package:");
        if (!is_memcached_key(name) || stanza.size() > longest_stanza) continue;
        if (!seen.insert(name).second) continue;
        index.bytes += name.size() + stanza.size();
        index.packages.push_back({std::string(name), std::string(stanza)});
    }
    return index;
}

std::optional<package_index> read_index(const std::string& file) {
    if (!file.empty()) {
        package_index index = parse_index(contents_of(file), file);
        if (index.packages.empty()) return std::nullopt;
        return index;
    }
    using reader = std::string (*)();
    const std::pair<const char*, reader> sources[] = {
        {"apt-cache dumpavail", [] { return output_of("apt-cache dumpavail 2>/dev/null"); }},
        {"/var/lib/dpkg/status", [] { return contents_of("/var/lib/dpkg/status"); }},
        {"dpkg --print-avail", [] { return output_of("dpkg --print-avail 2>/dev/null"); }},
    };
    for (const auto& [name, read] : sources) {
        package_index index = parse_index(read(), name);
        if (!index.packages.empty()) return index;
    }
    return std::nullopt;
}

}  // namespace hf::demo
