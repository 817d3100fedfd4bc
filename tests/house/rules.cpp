#include "house/rules.hpp"

#include <algorithm>
#include <initializer_list>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace hf::house {

namespace {

std::string without_comment(const std::string& line) { return line.substr(0, line.find('#')); }

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// The part of the table that a file lies in; empty: none.
std::string part_of(const std::string& path, const layers& table) {
    std::string best;
    for (const auto& [part, uses] : table) {
        if (path.starts_with(part + "/") && part.size() > best.size()) best = part;
    }
    return best;
}

/// Calls `report` with every match of `pattern` in the file's code, or in its raw lines. Each match
/// has one of `parts` in it: a regular expression takes much longer to see that a line has none.
template <class Report>
void search(const std::vector<std::string>& lines, std::initializer_list<std::string_view> parts,
            const std::regex& pattern, const Report& report) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto is_there = [&](std::string_view part) {
            return lines[i].find(part) != std::string::npos;
        };
        if (std::none_of(parts.begin(), parts.end(), is_there)) continue;
        for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), pattern), end; at != end;
             ++at) {
            report(i + 1, *at);
        }
    }
}

std::size_t columns(const std::string& line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string violation::to_string() const { return path + ":" + std::to_string(line) + ": " + what; }

layers parse_layers(const std::string& text) {
    layers table;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(without_comment(line));
        std::string part;
        if (!(words >> part)) continue;
        std::set<std::string> uses;
        for (std::string word; words >> word;) {
            const bool transitive = word.starts_with('+');
            const std::string name = word.substr(transitive ? 1 : 0);
            // A room, or a part outside of src.
            const std::string room = table.contains("src/" + name) ? "src/" + name : name;
            const auto below = table.find(room);
            if (below == table.end()) {
                throw std::runtime_error(part + " uses " + word + ", which is not above it");
            }
            uses.insert(room);
            if (transitive) uses.insert(below->second.begin(), below->second.end());
        }
        if (!table.emplace(part, uses).second) throw std::runtime_error(part + " has two lines");
    }
    return table;
}

std::set<std::string> parse_list(const std::string& text) {
    std::set<std::string> words;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        std::istringstream rest(without_comment(line));
        for (std::string word; rest >> word;) words.insert(word);
    }
    return words;
}

violations check_layering(const files& project, const layers& table) {
    static const std::regex include(R"(^\s*#\s*include\s*([<"])([^">]+)[">])");
    std::set<std::string> known;
    for (const auto& file : project) known.insert(file.path);

    violations found;
    for (const auto& file : project) {
        if (!file.is_cpp()) continue;
        const std::string part = part_of(file.path, table);
        if (part.empty()) {
            found.push_back({file.path, 0, "lies in no part of the layering table"});
            continue;
        }
        search(file.code, {"include"}, include, [&](std::size_t line, const std::smatch& match) {
            const std::string name = match[2];
            std::string target;
            for (const std::string& base :
                 {directory_of(file.path), std::string("src"), std::string("tests"),
                  std::string("tests/rooms"), std::string("tests/programs"),
                  std::string("tests/campaigns"), std::string("tools/holdfast"),
                  std::string("include"), std::string()}) {
                const std::string candidate = base.empty() ? name : base + "/" + name;
                if (target.empty() && known.contains(candidate)) target = candidate;
            }
            if (target.empty()) {
                if (match[1] == "\"") {
                    found.push_back(
                        {file.path, line, "includes \"" + name + "\", which is no file"});
                }
                return;
            }
            const std::string other = part_of(target, table);
            if (other == part || other == "include/holdfast" || table.at(part).contains(other)) {
                return;
            }
            found.push_back(
                {file.path, line, part + " must not include from " + other + " (" + name + ")"});
        });
    }
    return found;
}

violations check_persist_instructions(const files& project) {
    static const std::regex intrinsic(
        R"(\b(_mm\d*_|__builtin_ia32_))"
        R"((clwb|clflush\w*|sfence|mfence|movnt\w*|stream_(?!load)\w+))");
    static const std::regex assembly(R"(\b(asm|__asm__|__asm)\b)");
    static const std::regex instruction(
        R"(\b(clwb|clflush|clflushopt|cldemote|sfence|mfence|v?movnt\w*)\b)");
    violations found;
    for (const auto& file : project) {
        if (!file.is_cpp() || file.path.starts_with("src/persist/")) continue;
        search(file.code, {"_mm", "__builtin_ia32_"}, intrinsic,
               [&](std::size_t line, const std::smatch& match) {
                   found.push_back({file.path, line, match.str() + " outside src/persist/"});
               });
        // The statement of an asm lies in literals: search the raw text up to the semicolon.
        search(file.code, {"asm"}, assembly, [&](std::size_t line, const std::smatch&) {
            for (std::size_t i = line - 1; i < file.lines.size(); ++i) {
                std::smatch match;
                if (std::regex_search(file.lines[i], match, instruction)) {
                    found.push_back({file.path, i + 1, match.str() + " outside src/persist/"});
                }
                if (file.code[i].find(';') != std::string::npos) break;
            }
        });
    }
    return found;
}

violations check_shared_index_code(const files& project) {
    static const std::regex shared(R"(src/index/\w+/\w+\.(hpp|cpp))");
    static const std::regex name(R"(\b(?!any_)\w+_discipline\b)");
    static const std::regex question(R"((\bif\s+constexpr\b.*|\bconditional_t\s*<.*)\bD::)");
    static const std::regex adapter(R"re(#include "index/\w+/\w+/)re");
    violations found;
    for (const auto& file : project) {
        if (!std::regex_match(file.path, shared)) continue;
        const auto report = [&](const char* what) {
            return [&found, &file, what](std::size_t line, const std::smatch& match) {
                found.push_back({file.path, line, match.str() + what});
            };
        };
        search(file.code, {"D::"}, question,
               report(": shared code of an index asks its discipline"));
        // Code that opens a file must distinguish disciplines: a .cpp may.
        if (!file.is_header() || file.path.ends_with("/adapters.hpp")) continue;
        search(file.code, {"_discipline"}, name,
               report(": shared code of an index names a discipline"));
        search(file.code, {"#include"}, adapter,
               report(": shared code of an index includes an adapter"));
    }
    return found;
}

violations check_lengths(const files& project) {
    violations found;
    std::size_t count = 0;
    std::size_t above_200 = 0;
    std::size_t above_500 = 0;
    for (const auto& file : project) {
        if (!file.is_program_text()) continue;
        const std::size_t length = file.lines.size();
        ++count;
        above_200 += length > 200;
        above_500 += length > 500;
        if (length > 900) found.push_back({file.path, length, "more than 900 lines"});
    }
    if (above_200 * 2 > count) {
        found.push_back({"src", 0, "more than half of the files have over 200 lines"});
    }
    if (above_500 * 10 > count) {
        found.push_back({"src", 0, "more than a tenth of the files have over 500 lines"});
    }
    return found;
}

violations check_lines(const files& project) {
    violations found;
    for (const auto& file : project) {
        if (!file.is_program_text()) continue;
        for (std::size_t i = 0; i < file.lines.size(); ++i) {
            const std::string& line = file.lines[i];
            const auto report = [&](const std::string& what) {
                found.push_back({file.path, i + 1, what});
            };
            if (columns(line) > 100) report("more than 100 columns");
            if (line.find('\t') != std::string::npos) report("a tab");
            if (line.ends_with('\r')) report("a carriage return");
            if (line.ends_with(' ')) report("space at the end");
        }
        if (!file.ends_with_newline) {
            found.push_back({file.path, file.lines.size(), "no newline at the end"});
        }
    }
    return found;
}

violations check_file_names(const files& project) {
    static const std::regex snake_case(R"([a-z0-9_]+(\.[a-z0-9_]+)*)");
    // The last is a page that `./dev figures` names as the paper is called.
    static const std::set<std::string> given{".clang-tidy", "CMakeLists.txt", "README.md",
                                             "nv-heaps.md"};
    violations found;
    for (const auto& file : project) {
        const std::string name = file.path.substr(file.path.rfind('/') + 1);
        const bool bound =
            file.path.find('/') != std::string::npos && !file.path.starts_with("cmake/");
        if (bound && !given.contains(name) && !std::regex_match(name, snake_case)) {
            found.push_back({file.path, 0, "a file's name is in snake_case"});
        }
    }
    return found;
}

violations check_headers(const files& project) {
    violations found;
    for (const auto& file : project) {
        if (!file.is_header()) continue;
        // A public header of C may be included by compilers that do not know the pragma.
        const bool is_guarded =
            file.path.ends_with(".h") &&
            std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
                return line.starts_with("#ifndef HOLDFAST_");
            });
        if (!is_guarded &&
            std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end()) {
            found.push_back({file.path, 1, "no #pragma once"});
        }
        if (file.lines.empty() ||
            !(file.lines[0].starts_with("// ") || file.lines[0].starts_with("/*"))) {
            found.push_back({file.path, 1, "no opening comment that says what the header is for"});
        }
    }
    return found;
}

violations check_room_headers(const files& project, const layers& table) {
    std::set<std::string> rooms;  // those that have headers
    std::set<std::string> paths;
    for (const auto& file : project) {
        if (!file.path.ends_with(".hpp")) continue;
        paths.insert(file.path);
        rooms.insert(file.path.substr(0, file.path.rfind('/')));
    }
    violations found;
    for (const auto& [room, uses] : table) {
        if (!room.starts_with("src/") || !rooms.contains(room)) continue;
        const std::string wanted = room + room.substr(room.rfind('/')) + ".hpp";
        if (!paths.contains(wanted)) found.push_back({wanted, 0, "a room without its header"});
    }
    return found;
}

violations check_labels(const files& project) {
    static const std::regex definition(R"(//\s+([A-Z]{1,2}[0-9]{1,2})\s+(?!to\b|and\b)\S.*)");
    std::map<std::pair<std::string, std::string>, std::string> defined;  // room and label to path
    violations found;
    for (const auto& file : project) {
        if (!file.is_header() || !file.path.starts_with("src/")) continue;
        const std::string room = file.path.substr(0, file.path.rfind('/'));
        for (std::size_t i = 0; i < file.lines.size() && file.lines[i].starts_with("//"); ++i) {
            std::smatch match;
            if (!std::regex_match(file.lines[i], match, definition)) continue;
            const auto [first, is_new] = defined.try_emplace({room, match.str(1)}, file.path);
            if (is_new || first->second == file.path) continue;
            found.push_back({file.path, i + 1,
                             "the label " + match.str(1) + " is defined by " + first->second});
        }
    }
    return found;
}

violations check_places(const files& project, const std::set<std::string>& hosts) {
    // Written so that this file does not find itself.
    static const std::regex home(R"((^|[^\w.])/(hom[e]/\w|roo[t]/|User[s]/\w|wor[k]/))");
    static const std::regex link(R"(https?:/{2}([A-Za-z0-9.-]+))");
    violations found;
    for (const auto& file : project) {
        search(file.lines, {"/hom", "/roo", "/User", "/wor"}, home,
               [&](std::size_t line, const std::smatch& match) {
                   found.push_back(
                       {file.path, line, "names a path of somebody's machine:" + match.str()});
               });
        search(file.lines, {"http"}, link, [&](std::size_t line, const std::smatch& match) {
            if (!hosts.contains(match[1])) {
                found.push_back(
                    {file.path, line, "links to " + match.str(1) + ", which is not in hosts.txt"});
            }
        });
    }
    return found;
}

violations check_page_links(const files& project) {
    static const std::regex link(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
    std::set<std::string> known;
    for (const auto& file : project) {
        known.insert(file.path);
        for (std::string up = directory_of(file.path); !up.empty(); up = directory_of(up)) {
            known.insert(up);
        }
    }
    violations found;
    for (const auto& file : project) {
        if (!file.path.ends_with(".md")) continue;
        const std::filesystem::path here = directory_of(file.path);
        search(file.lines, {"]("}, link, [&](std::size_t line, const std::smatch& match) {
            std::string target = (here / match.str(1)).lexically_normal().generic_string();
            if (target.ends_with('/')) target.pop_back();
            if (!known.contains(target)) {
                found.push_back(
                    {file.path, line, "links to " + match.str(1) + ", which is not there"});
            }
        });
    }
    return found;
}

}  // namespace hf::house
