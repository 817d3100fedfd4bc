// See recorder.h. Compiled without the plugin.
#include "pass/recorder.h"

#include "section/audit/audit.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t arena_bytes = 1 << 20;
char* const arena =
    reinterpret_cast<char*>(std::uintptr_t{HF_SECTION_ARENA_NUMBER} << HF_SECTION_ARENA_SHIFT);
// Programs that use no more than this much have all of it audited at each hook.
constexpr std::size_t strict_bytes = 1 << 15;

std::atomic<std::size_t> used{0};
std::atomic<std::size_t> hooks{0};
std::atomic<std::size_t> bytes{0};
bool is_inside = false;
thread_local bool is_between_hooks = false;

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "recorder: %s\n", what);
    std::_Exit(4);
}

bool is_set(const char* name, const char* value) {
    const char* const text = std::getenv(name);
    return text != nullptr && std::strcmp(text, value) == 0;
}

__attribute__((constructor(101))) void start() {
    void* const at = ::mmap(arena, arena_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != arena) fail("the arena's address is taken");
    is_inside = is_set("RECORDER_DEPTH", "1");
    hf_audit_start(is_set("HF_AUDIT", "exact") ? HF_AUDIT_EXACT : HF_AUDIT_COMPARE);
    hf_audit_map(arena, strict_bytes);
    hf_audit_map(arena + strict_bytes, arena_bytes - strict_bytes);
}

__attribute__((destructor(101))) void finish() {
    (void)std::fflush(nullptr);  // _Exit() does not
    const std::size_t found = hf_audit_cut();
    if (is_set("RECORDER_COUNTS", "1")) {
        std::printf("hooks %zu bytes %zu\n", hooks.load(), bytes.load());
        (void)std::fflush(stdout);
    }
    if (found == 0) return;
    (void)hf_audit_report(STDERR_FILENO);
    std::_Exit(3);
}

}  // namespace

extern "C" {

uintptr_t hf_section_arena_number = HF_SECTION_ARENA_NUMBER;

int hf_section_store(const void* p, size_t n) {
    if (is_between_hooks) fail("a hook between two hooks");
    if (n == 0) fail("an announcement of nothing");
    const auto* const begin = static_cast<const char*>(p);
    if (begin < arena || n > arena_bytes || begin + n > arena + arena_bytes) {
        fail("an announcement outside of the region");
    }
    ++hooks;
    bytes += n;
    // Outside of sections every earlier store is complete: nothing may have changed since.
    if (!is_inside && used <= strict_bytes) (void)hf_audit_cut();
    hf_audit_announced(p, n, __builtin_return_address(0));
    is_between_hooks = !is_inside;
    return is_inside ? 0 : 1;
}

void hf_section_stored(void) {
    if (!is_between_hooks) fail("hf_section_stored() without hf_section_store()");
    is_between_hooks = false;
    hf_audit_stored();
}

void* recorder_allocate(size_t n) {
    const std::size_t at = used.fetch_add((n + 63) & ~std::size_t{63});
    if (at + n > arena_bytes) fail("the arena is full");
    return arena + at;
}

size_t recorder_hooks(void) { return hooks; }
size_t recorder_bytes(void) { return bytes; }

// Calls that block must not come between the hooks (rule C12).
ssize_t read(int fd, void* to, size_t n) {
    if (is_between_hooks) fail("read() between the hooks");
    return ::syscall(SYS_read, fd, to, n);
}

}  // extern "C"
