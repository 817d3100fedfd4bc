// tools/holdfast/output.hpp: errors and reports on their way to the user.
#pragma once

#include <holdfast/result.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace hf::tool {

/// Keys stay in the order in which they were set.
using json = nlohmann::ordered_json;

/// Says on stderr what went wrong; returns the exit code.
int complain(const error& e);

[[nodiscard]] json to_json(const error& e);

/// Text of unknown origin without what a terminal would obey.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Writes to stdout. Where that is closed or full, end() will tell.
void say(std::string_view text);
void say_json(const json& document);

/// The exit code of a program that ends with `code`: what was said has to have arrived.
[[nodiscard]] int end(int code);
/// Whoever was told may be gone: what did not arrive was not what this is for.
void forgive_output();

/// A report of aligned lines: "  name   value".
class sheet {
   public:
    void title(std::string text);
    void line(std::string name, std::string value);
    [[nodiscard]] std::string text() const;

   private:
    struct row {
        std::string name;
        std::string value;
        bool is_title = false;
    };
    std::vector<row> rows_;
};

}  // namespace hf::tool
