// tools/holdfast/view/output.hpp: prints errors and reports.
#pragma once

#include <holdfast/result.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace hf::tool {

/// Keys stay in the order in which they were set.
using json = nlohmann::ordered_json;

/// Prints the error to stderr; returns the exit status.
int complain(const error& e);

[[nodiscard]] json to_json(const error& e);

/// Prints "holdfast: warning: TEXT" to stderr, on one line.
void warn(std::string_view text);

/// Text of unknown origin without control characters that a terminal would obey: those of ASCII,
/// and U+0080 to U+009F.
[[nodiscard]] std::string printable(std::string_view bytes);

/// Writes lines to stdout, made printable. If stdout is closed or full, end() reports it.
void say(std::string_view text);
void say_json(const json& document);

/// The exit status of a program that ends with `code`; an error if output was lost.
[[nodiscard]] int end(int code);
/// Ignores lost output: the reader may have closed it, and the output was not the purpose.
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
