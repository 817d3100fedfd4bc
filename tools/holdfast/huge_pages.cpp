#include "huge_pages.hpp"

#include "base/bits.hpp"
#include "region/huge_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace hf::tool {

namespace {

constexpr std::size_t huge = std::size_t{2} << 20;
constexpr std::size_t trial_bytes = 2 * huge;
const std::string settings = "/sys/kernel/mm/transparent_hugepage/";

/// KiB mapped with huge pages, according to smaps, in the mapping that starts at `start`.
std::optional<u64> huge_kib_at(const void* start) {
    char wanted[32];
    std::snprintf(wanted, sizeof wanted, "%lx-", reinterpret_cast<unsigned long>(start));
    std::ifstream in("/proc/self/smaps");
    bool mine = false;
    std::optional<u64> sum;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name.empty()) continue;
        if (name.back() != ':') {
            if (mine) break;
            mine = line.starts_with(wanted);
            continue;
        }
        if (!mine || (name != "ShmemPmdMapped:" && name != "FilePmdMapped:")) continue;
        u64 kib = 0;
        if (words >> kib) sum = sum.value_or(0) + kib;
    }
    return sum;
}

/// Uses the same sequence as a new region: allocate, map, advise, touch.
void try_it(int fd, huge_page_facts& facts) {
    if (fd < 0 || ::fallocate(fd, 0, 0, trial_bytes) != 0) return;
    void* room = ::mmap(nullptr, trial_bytes + huge, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return;
    auto* start = reinterpret_cast<char*>(align_up(reinterpret_cast<u64>(room), huge));
    if (::mmap(start, trial_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
        MAP_FAILED) {
        ::madvise(start, trial_bytes, MADV_HUGEPAGE);
        for (std::size_t at = 0; at < trial_bytes; at += huge) {
            *reinterpret_cast<volatile char*>(start + at) = 1;
        }
        const auto are_huge = [start]() -> std::optional<bool> {
            const auto kib = huge_kib_at(start);
            if (!kib) return std::nullopt;
            return *kib * 1024 >= trial_bytes;
        };
        facts.granted = are_huge();
        if (facts.granted == false) {
            constexpr u64 as_long_as_it_takes = 10'000'000'000;
            detail::ask_for_huge_pages(reinterpret_cast<std::byte*>(start), trial_bytes,
                                       as_long_as_it_takes);
            facts.on_request = are_huge().value_or(false);
        }
    }
    ::munmap(room, trial_bytes + huge);
}

std::string remount(const mount_facts& mount) {
    return "mount -o remount,huge=within_size " + mount.point;
}

std::string advice_for(const huge_page_facts& facts, const std::optional<mount_facts>& mount) {
    const bool is_tmpfs = mount && mount->type == "tmpfs";
    if (facts.granted.value_or(false) || (is_tmpfs && facts.on_request)) return {};
    if (!is_tmpfs) {
        return "the file system decides; for dax, align partition and files to 2 MiB";
    }
    if (facts.shared == "deny") {
        return "as root: echo never > " + settings + "shmem_enabled (it says deny now), then " +
               remount(*mount);
    }
    return "as root: " + remount(*mount) +
           " (pages allocated after that; huge=advise is not "
           "enough, because a region's space is allocated before it is mapped)";
}

}  // namespace

huge_page_facts find_huge_pages(int fd, const std::optional<mount_facts>& mount) {
    huge_page_facts facts;
    facts.anonymous = chosen_of(first_line_of(settings + "enabled"));
    facts.shared = chosen_of(first_line_of(settings + "shmem_enabled"));
    if (mount) facts.mount = mount->option("huge").value_or("");
    try_it(fd, facts);
    facts.advice = advice_for(facts, mount);
    return facts;
}

}  // namespace hf::tool
