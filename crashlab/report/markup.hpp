// report/markup.hpp: text in SVG and HTML.
#pragma once

#include <string>
#include <string_view>

namespace hf::lab::detail {

[[nodiscard]] inline std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                // Other control characters are not allowed in XML, even escaped.
                out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? '?' : c;
        }
    }
    return out;
}

}  // namespace hf::lab::detail
