#include "crashlab/command/options.hpp"

#include <algorithm>
#include <cstdlib>

namespace hf::lab {

persistence arguments::mode() const {
    if (model == "eadr") return persistence::eadr;
    return model == "flushed" ? persistence::flushed : persistence::pcso;
}

double arguments::seconds() const {
    if (budget.empty()) return 0;
    char* end = nullptr;
    const double n = std::strtod(budget.c_str(), &end);
    const std::string unit = end;
    if (end == budget.c_str() || !(n > 0) || n > 1e6) return -1;
    if (unit.empty() || unit == "s") return n;
    if (unit == "m") return n * 60;
    return unit == "h" ? n * 3600 : -1;
}

std::vector<const target_description*> arguments::chosen() const {
    const auto named = [this](std::string_view name) {
        return std::any_of(targets.begin(), targets.end(), [&](std::string_view t) {
            if (!t.ends_with('*')) return t == name;
            return name.starts_with(t.substr(0, t.size() - 1));
        });
    };
    std::vector<const target_description*> found;
    for (const target_description& d : all) {
        const bool is_meant = named(d.name) || named(d.room) || named("all");
        if (is_meant && (room.empty() || room == d.room)) {
            found.push_back(&d);
        }
    }
    return found;
}

}  // namespace hf::lab
