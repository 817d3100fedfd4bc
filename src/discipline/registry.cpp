#include "discipline/registry.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>

namespace hf {
namespace registry {
namespace {

constexpr std::string_view by_program = "only its program knows what it holds";
constexpr std::size_t most = 32;

// Without destructors, because a static object of the program may close its region at exit.
constinit std::array<row, most> rows{{
    {discipline::transient, "transient", "nothing in it outlives its process", false, true, false},
    {discipline::logged, "logged", "it holds a map", true, true, true},
    {discipline::incll, "incll", "it holds a map", true, true, true},
    {discipline::snapshot, "snapshot", by_program, true, true, false},
    {discipline::transaction, "transaction", "it holds objects of a heap", true, false, false},
    {discipline::eager, "eager", "it holds another index", true, false, false},
    {discipline::section, "section", by_program, true, true, false},
    {discipline::plain, "plain", by_program, true, false, false},
}};
constinit std::size_t count = 8;

}  // namespace

const row* find(discipline d) noexcept {
    const auto known = all();
    const auto at =
        std::find_if(known.begin(), known.end(), [d](const row& r) { return r.number == d; });
    return at != known.end() ? &*at : nullptr;
}

std::span<const row> all() noexcept { return std::span(rows).first(count); }

std::string all_names() {
    std::string text;
    for (const row& r : all()) {
        if (!text.empty()) text += &r == &all().back() ? " or " : ", ";
        text += r.name;
    }
    return text;
}

void add(const row& r) {
    HF_CHECK(r.number != discipline{} && find(r.number) == nullptr,
             "the discipline's number is taken");
    HF_CHECK(count < most, "too many disciplines");
    rows[count] = r;
    for (std::size_t i = count++; i != 0 && rows[i].number < rows[i - 1].number; --i) {
        std::swap(rows[i], rows[i - 1]);
    }
}

}  // namespace registry

std::string_view to_string(discipline d) noexcept {
    const registry::row* r = registry::find(d);
    return r != nullptr ? r->name : "unknown";
}

}  // namespace hf
