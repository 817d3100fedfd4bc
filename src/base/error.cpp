#include <holdfast/options.hpp>

#include "base/os_error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace hf {

const char* to_string(errc c) noexcept {
    switch (c) {
        case errc::violation:
            return "violation";
        case errc::usage:
            return "usage";
        case errc::not_found:
            return "not_found";
        case errc::unsafe_file:
            return "unsafe_file";
        case errc::busy:
            return "busy";
        case errc::corrupt:
            return "corrupt";
        case errc::incompatible:
            return "incompatible";
        case errc::no_space:
            return "no_space";
        case errc::denied:
            return "denied";
        case errc::medium:
            return "medium";
        case errc::io:
            return "io";
        case errc::too_large:
            return "too_large";
        case errc::aborted:
            return "aborted";
    }
    return "unknown";
}

std::string_view to_string(medium_kind m) noexcept {
    switch (m) {
        case medium_kind::dax:
            return "dax";
        case medium_kind::eadr:
            return "eadr";
        case medium_kind::shm:
            return "shm";
        case medium_kind::file:
            return "file";
    }
    return "unknown";
}

std::string_view to_string(image_kind i) noexcept {
    switch (i) {
        case image_kind::automatic:
            return "automatic";
        case image_kind::shared:
            return "shared";
        case image_kind::journalled:
            return "journalled";
    }
    return "unknown";
}

std::string error::to_string() const {
    std::string line = "cannot " + what;
    if (!where.empty()) line += " (" + where + ")";
    line += ": " + why;
    if (!next.empty()) line += "; " + next;
    return line;
}

errc errc_of(int errno_value) noexcept {
    switch (errno_value) {
        case EACCES:
        case EPERM:
        case EROFS:
            return errc::denied;
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return errc::no_space;
        case ENOENT:
            return errc::not_found;
        default:
            return errc::io;
    }
}

error os_error(errc code, std::string what, std::string where, std::string next) {
    const int number = errno;
    return {code, std::move(what), std::move(where), std::generic_category().message(number),
            std::move(next)};
}

error os_error(std::string what, std::string where, std::string next) {
    return os_error(errc_of(errno), std::move(what), std::move(where), std::move(next));
}

std::string at_offset(const std::string& file, unsigned long long offset) {
    return file + " at offset " + std::to_string(offset);
}

}  // namespace hf
