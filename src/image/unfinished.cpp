#include "image/unfinished.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace hf::detail {
namespace {

constinit std::array<std::atomic<const char*>, unfinished_name::most> names{};

const char* copy_of(const std::string& path) {
    auto* const bytes = new char[path.size() + 1];
    std::memcpy(bytes, path.c_str(), path.size() + 1);
    return bytes;
}

}  // namespace

unfinished_name::unfinished_name(const std::string& path) {
    const char* const mine = copy_of(path);
    for (std::size_t i = 0; i < most; ++i) {
        const char* none = nullptr;
        if (names[i].compare_exchange_strong(none, mine)) {
            at_ = i;
            return;
        }
    }
    delete[] mine;
}

unfinished_name::unfinished_name(unfinished_name&& other) noexcept
    : at_(std::exchange(other.at_, most)) {}

unfinished_name& unfinished_name::operator=(unfinished_name&& other) noexcept {
    if (this != &other) {
        forget();
        at_ = std::exchange(other.at_, most);
    }
    return *this;
}

void unfinished_name::forget() noexcept {
    if (at_ == most) return;
    // nullptr: remove_all() has taken it, and the process ends.
    delete[] names[std::exchange(at_, most)].exchange(nullptr);
}

void unfinished_name::remove_all() noexcept {
    for (auto& one : names) {
        if (const char* const name = one.exchange(nullptr); name != nullptr) ::unlink(name);
    }
}

}  // namespace hf::detail
