#include "image/unfinished.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

namespace hf::detail {
namespace {

enum class state : int { unused, being_set, named, being_removed, removed };

struct entry {
    std::atomic<state> is{state::unused};
    std::array<char, PATH_MAX> path{};
};

constinit std::array<entry, unfinished_name::most> names{};

bool turns(entry& e, state from, state to) noexcept {
    return e.is.compare_exchange_strong(from, to);
}

}  // namespace

unfinished_name::unfinished_name(const std::string& path) {
    if (path.size() >= PATH_MAX) return;
    for (std::size_t i = 0; i < most; ++i) {
        if (!turns(names[i], state::unused, state::being_set)) continue;
        std::memcpy(names[i].path.data(), path.c_str(), path.size() + 1);
        names[i].is.store(state::named);
        at_ = i;
        return;
    }
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
    entry& mine = names[std::exchange(at_, most)];
    // An entry that remove_all() reads at this moment is not used again: the process ends.
    if (!turns(mine, state::named, state::unused)) turns(mine, state::removed, state::unused);
}

void unfinished_name::remove_all() noexcept {
    for (auto& e : names) {
        if (!turns(e, state::named, state::being_removed)) continue;
        ::unlink(e.path.data());
        e.is.store(state::removed);
    }
}

}  // namespace hf::detail
