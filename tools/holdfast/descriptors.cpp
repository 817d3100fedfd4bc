#include "descriptors.hpp"

#include <asio/ip/address.hpp>

#include <sys/resource.h>

#include <algorithm>

namespace hf::tool {

namespace {
/// Standard streams, the region, its journal, a copy of both, and what libraries have open.
constexpr rlim_t files_of_process = 64;
/// An event loop: epoll, an eventfd, a timerfd; and a connection too many until it is refused.
constexpr rlim_t files_of_worker = 4;
}  // namespace

unsigned make_room_for_connections(unsigned wanted, unsigned threads) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return wanted;
    const rlim_t own_files = files_of_process + files_of_worker * threads;
    const rlim_t needed = rlim_t{wanted} + own_files;
    if (files.rlim_cur < needed) {
        files.rlim_cur = std::min(needed, files.rlim_max);
        if (::setrlimit(RLIMIT_NOFILE, &files) != 0) ::getrlimit(RLIMIT_NOFILE, &files);
    }
    if (files.rlim_cur >= needed) return wanted;
    return static_cast<unsigned>(std::max<rlim_t>(files.rlim_cur, own_files + 1) - own_files);
}

bool is_loopback(const std::string& address) {
    asio::error_code status;
    const auto a = asio::ip::make_address(address, status);
    if (status) return false;
    if (a.is_v6() && a.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, a.to_v6()).is_loopback();
    }
    return a.is_loopback();
}

}  // namespace hf::tool
