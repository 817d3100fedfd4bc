// Exact mode: every store to an audited range faults and is checked, one instruction at a time.
//
//   store --> SIGSEGV: the page is opened, the bytes around are kept, the trap flag is set
//         --> the instruction runs once more
//         --> SIGTRAP: the pages are protected again; each byte that changed must be announced (A1)
//
// A store across two pages faults twice before it runs. A string instruction traps after each
// element. A fault at an address that is not audited goes to the handler that was there before.
#include "section/audit/ranges.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace hf::section_audit {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr greg_t trap_flag = 0x100;
constexpr std::size_t reach = 64;  // no instruction stores further from the address of its fault

/// The instruction that this thread is stepping through.
struct step {
    unsigned char* pages[2] = {nullptr, nullptr};
    const void* pc = nullptr;
    const unsigned char* fault = nullptr;
};

thread_local step current;
struct sigaction previous_segv;

unsigned char* page_of(unsigned char* p) {
    return p - reinterpret_cast<std::uintptr_t>(p) % page_bytes;
}

void set_protection(unsigned char* page, int protection) {
    if (::mprotect(page, page_bytes, protection) != 0) {
        static const char message[] = "holdfast: the audit of sections: mprotect failed\n";
        (void)!::write(STDERR_FILENO, message, sizeof message - 1);
        std::abort();
    }
}

void on_fault(int number, siginfo_t* info, void* context) {
    auto* const address = static_cast<unsigned char*>(info->si_addr);
    const audited_range* const range = range_of(address);
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const bool is_second = current.pages[0] != nullptr;
    if (range == nullptr || info->si_code != SEGV_ACCERR || (is_second && current.pages[1])) {
        ::sigaction(number, &previous_segv, nullptr);  // the fault comes again, and is not ours
        return;
    }
    current.pages[is_second ? 1 : 0] = page_of(address);
    if (!is_second) {
        current.pc = reinterpret_cast<const void*>(registers[REG_RIP]);
        current.fault = address;
    }
    set_protection(page_of(address), PROT_READ | PROT_WRITE);
    registers[REG_EFL] |= trap_flag;
}

void on_step(int, siginfo_t*, void* context) {
    const step done = current;
    current = {};
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (done.pages[0] == nullptr) return;
    const audited_range& range = *range_of(done.fault);
    const unsigned char* const end = range.begin + range.size;
    const unsigned char* const from = done.fault - range.begin < static_cast<std::ptrdiff_t>(reach)
                                          ? range.begin
                                          : done.fault - reach;
    const std::size_t n = end - done.fault < static_cast<std::ptrdiff_t>(reach)
                              ? static_cast<std::size_t>(end - from)
                              : static_cast<std::size_t>(done.fault - from) + reach;
    check_bytes(range, from, n, done.pc, true);
    for (unsigned char* page : done.pages) {
        if (page != nullptr) set_protection(page, PROT_READ);
    }
}

}  // namespace

void install_handlers() {
    static bool is_installed = false;
    if (is_installed) return;
    is_installed = true;
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_fault;
    ::sigaction(SIGSEGV, &action, &previous_segv);
    action.sa_sigaction = on_step;
    ::sigaction(SIGTRAP, &action, nullptr);
}

void protect(const audited_range& range) {
    if (::mprotect(range.begin, range.size, PROT_READ) != 0) {
        std::perror("holdfast: the audit of sections cannot protect a region");
        std::abort();
    }
}

void unprotect(const audited_range& range) {
    ::mprotect(range.begin, range.size, PROT_READ | PROT_WRITE);
}

}  // namespace hf::section_audit
