// type_name.cpp: one spelling of a type's name for all compilers.
//
// g++ and clang print most types alike. They differ in blanks, in unnamed namespaces, in suffixes
// of numbers, in the integer types ("long unsigned int", "unsigned long"), and in local types:
// clang prints these without their function, and g++ prints all lambdas of a function alike. A
// local type's mangled name contains both, and is the same for both compilers (Itanium C++ ABI,
// 5.1.6).
//
// The spelling is g++'s, so that heaps which older programs of g++ have made keep their names.
// Names in heaps that clang's programs have made are brought into it when they are read.
#include <holdfast/nv/describe.hpp>

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace hf::nv::detail {

namespace {

/// The words of an integer type, and how often each occurs.
struct integer_words {
    static constexpr std::array<std::string_view, 6> known{"unsigned", "signed", "long",
                                                           "short",    "int",    "__int128"};
    std::array<unsigned, known.size()> count{};

    /// Takes the word, if it is one of them.
    bool take(std::string_view word) noexcept {
        for (std::size_t i = 0; i < known.size(); ++i) {
            if (word != known[i]) continue;
            ++count[i];
            return true;
        }
        return false;
    }
    /// "long double" and "unsigned char" are printed alike by all.
    [[nodiscard]] std::string spelling(bool before_other_type) const {
        const bool is_unsigned = count[0] != 0;
        if (before_other_type) {
            return is_unsigned ? "unsigned" : count[1] != 0 ? "signed" : "long";
        }
        if (count[5] != 0) return is_unsigned ? "__int128 unsigned" : "__int128";
        std::string name;
        for (unsigned i = 0; i < count[2]; ++i) name += "long ";
        if (count[3] != 0) name += "short ";
        if (is_unsigned) name += "unsigned ";
        return name + "int";
    }
};

/// The integer type that begins at `text`, which begins a word; returns its length, 0: none does.
std::size_t add_integer(std::string_view text, std::string& name) {
    integer_words words;
    std::size_t end = 0;
    bool before_other_type = false;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t stop = at;
        while (stop < text.size() && is_name(text[stop])) ++stop;
        const std::string_view word = text.substr(at, stop - at);
        if (!words.take(word)) {
            before_other_type = word == "double" || word == "char";
            break;
        }
        end = stop;
        if (stop == text.size() || text[stop] != ' ') break;
        at = stop + 1;
    }
    if (end != 0) name += words.spelling(before_other_type);
    return end;
}

/// The length of the suffix of a number that ends here, as in 4ul; 0: there is none.
std::size_t suffix_at(std::string_view printed, std::size_t i) {
    constexpr std::string_view letters = "ulUL";
    if (i == 0 || printed[i - 1] < '0' || printed[i - 1] > '9') return 0;
    const std::size_t end = printed.find_first_not_of(letters, i);
    if (end == i || end == std::string_view::npos) return 0;
    return printed[end] == '>' || printed[end] == ',' ? end - i : 0;
}

}  // namespace

std::string common_name(std::string_view printed) {
    constexpr std::string_view gcc = "{anonymous}";
    constexpr std::string_view clang = "(anonymous namespace)";
    std::string name;
    for (std::size_t i = 0; i < printed.size(); ++i) {
        const std::string_view rest = printed.substr(i);
        if (const std::size_t suffix = suffix_at(printed, i); suffix != 0) {
            i += suffix - 1;
            continue;
        }
        if (i == 0 || !is_name(printed[i - 1])) {
            if (const std::size_t taken = add_integer(rest, name); taken != 0) {
                i += taken - 1;
                continue;
            }
        }
        if (rest.starts_with(gcc)) {
            i += gcc.size() - 1;
            name += "unnamed";
        } else if (rest.starts_with(clang)) {
            i += clang.size() - 1;
            name += "unnamed";
        } else if (rest.starts_with("> >") || rest.starts_with(", ") || rest.starts_with(" *") ||
                   rest.starts_with(" &")) {
            name += printed[i];
            if (printed[i] == ' ') name.pop_back();
            if (printed[i] != ' ') ++i;
        } else {
            name += rest[0];
        }
    }
    return name;
}

std::string type_name(std::string_view printed, const char* mangled) {
    if (mangled != nullptr) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> readable(
            abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
        const std::string_view whole = readable ? readable.get() : "";
        // A local type's name begins with that of its function, which ends with its parameters.
        const std::string named = common_name(whole);
        const bool is_local =
            named.find(")::") != std::string::npos || named.find(") const::") != std::string::npos;
        if (is_local) return named;
    }
    return common_name(printed);
}

}  // namespace hf::nv::detail
