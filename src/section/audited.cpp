#include "section/audited.hpp"

#include "section/audit_switch.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hf::section {
namespace {

tl::unexpected<error> refuse(const std::string& asked, std::string why, std::string next) {
    return failure({errc::usage, "open the group of regions",
                    std::string(audit_variable) + "=" + asked, std::move(why), std::move(next)});
}

/// Empty: nothing.
std::string asked_for() {
    const char* const value = std::getenv(audit_variable);
    return value != nullptr ? value : "";
}

}  // namespace

result<void> check_audit(bool are_announced) {
    const std::string asked = asked_for();
    if (asked.empty()) return {};
    if (asked != "compare" && asked != "exact") {
        return refuse(asked, "there is no such mode", "set it to compare or exact");
    }
    if (!are_announced) {
        return refuse(asked, "stores are found by pages, so none is announced",
                      "announce stores (HF_STORES_ANNOUNCED), or leave the variable out");
    }
    return {};
}

result<void> start_audit(group& g) {
    const std::string asked = asked_for();
    if (asked.empty()) return {};
    if (asked == "exact" && g.file().med().is_atomic()) {
        return refuse(asked, "the file is on a disk, where pages are mapped again at each cut",
                      "set it to compare, or put the file into memory");
    }
    hf_audit_start(asked == "exact" ? HF_AUDIT_EXACT : HF_AUDIT_COMPARE);
    for (const segment& s : g.file().segments()) {
        if (s.kind == segment_kind::heap) hf_audit_map(g.file().base() + s.offset, s.bytes());
    }
    detail::audit_is_on.store(true, std::memory_order_release);
    return {};
}

void audit_growth(void* p, std::size_t n) noexcept {
    if (is_audited()) hf_audit_map(p, n);
}

void audit_cut() noexcept {
    if (is_audited()) static_cast<void>(hf_audit_cut());
}

void finish_audit(bool is_quiet) noexcept {
    if (!detail::audit_is_on.exchange(false)) return;
    const std::size_t missed = hf_audit_report(STDERR_FILENO);
    std::fprintf(stderr, "holdfast: audit: %zu unannounced store%s; %zu were announced\n", missed,
                 missed == 1 ? "" : "s", hf_audit_announcements());
    if (is_quiet) hf_audit_end();
}

}  // namespace hf::section
