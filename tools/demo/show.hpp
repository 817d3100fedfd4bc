// tools/demo/show.hpp: output of the demo on a terminal, or in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hf::demo {

/// "1,234,567"
[[nodiscard]] std::string count_text(std::uint64_t n);
/// "1.5 MiB"
[[nodiscard]] std::string size_text(std::uint64_t bytes);
/// "12.3 ms"
[[nodiscard]] std::string time_text(std::uint64_t ns);

class show {
   public:
    show();

    void title(const std::string& text) const;
    void act(const std::string& text) const;  ///< announces a step
    void say(const std::string& text) const;
    void good(const std::string& text) const;
    void bad(const std::string& text) const;

    /// A progress bar, on a terminal only.
    void bar(std::uint64_t done, std::uint64_t total) const;
    void end_bar() const;

    /// The first row is the head; columns are as wide as their contents.
    void table(const std::vector<std::vector<std::string>>& rows) const;

   private:
    void line(const char* mark, const char* color, const std::string& text) const;
    [[nodiscard]] const char* in(const char* code) const { return colors_ ? code : ""; }

    bool terminal_;
    bool colors_;
};

}  // namespace hf::demo
