// tracer.cpp: records the stores of an unmodified program to its region, in execution order. Loaded
// with LD_PRELOAD.
//
// Purpose. The instrumented build fixes the program's order of stores, and so hides an optimiser's
// reordering of plain ones. Here the release build itself runs, instruction for instruction:
//
//   store         pages of the region are read-only. A store faults; its page is made writable, the
//                 one instruction is executed with the trap flag set, and the change is recorded.
//   flush, fence  are replaced by int3 in the program's text (their addresses come from a
//                 disassembly). The trap's registers give the line; the program continues after the
//                 instruction.
//
// A store of an unchanged value leaves no event, because it changes no image. A store wider than 8
// bytes becomes pieces. Only one thread is supported.
//
// HF_TRACE_FILE names the output, HF_TRACE_PLACES a file with hexadecimal addresses and lengths of
// flushes and fences: "4b10 4 flush". The program marks beginning, end and announcements by calling
// hf_trace_mark(), if the tracer is loaded.
#include "crashlab/production/trace_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using hf::u64;
using hf::u8;
using hf::lab::event;
using hf::lab::event_kind;
using hf::lab::store_kind;

constexpr u64 page = 4096;
constexpr u64 window_bytes = 64;  // compared around a fault: no instruction stores more
constexpr long trap_flag = 0x100;

struct place {
    u64 at = 0;
    u64 length = 0;
    bool is_flush = false;
};

struct state {
    std::byte* base = nullptr;
    u64 bytes = 0;
    bool tracing = false;
    std::vector<event> events;
    std::vector<place> places;
    std::vector<std::byte> before;  ///< the file's bytes when tracing began
    // The store being executed.
    u64 fault = 0;
    u64 pc = 0;
    u64 from = 0;
    u8 old[2 * window_bytes] = {};
};

state* s = nullptr;

[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "tracer: %s\n", why);
    std::_Exit(3);
}

void add(event_kind kind, u64 where, u64 value, u64 pc) {
    event e;
    e.kind = kind;
    e.where = where;
    e.value = value;
    e.pc = pc;
    s->events.push_back(e);
}

void protect(u64 at, u64 bytes, int how) {
    const u64 first = at / page * page;
    const u64 last = (at + bytes + page - 1) / page * page;
    if (::syscall(SYS_mprotect, s->base + first, last - first, how) != 0) {
        give_up("mprotect failed");
    }
}

// --- stores ---

void begin_store(u64 at, ucontext_t* context) {
    s->fault = at;
    s->pc = static_cast<u64>(context->uc_mcontext.gregs[REG_RIP]);
    s->from = at >= window_bytes ? at - window_bytes : 0;
    protect(s->from, 2 * window_bytes, PROT_READ | PROT_WRITE);
    std::memcpy(s->old, s->base + s->from, sizeof s->old);
    context->uc_mcontext.gregs[REG_EFL] |= trap_flag;
}

// Records the changed bytes, word by word; a change of several words is a wide store.
void end_store(ucontext_t* context) {
    context->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    const std::size_t first_event = s->events.size();
    for (u64 i = 0; i < sizeof s->old;) {
        const u64 word_end = ((s->from + i) / 8 + 1) * 8 - s->from;
        u64 begin = i;
        u64 end = word_end < sizeof s->old ? word_end : sizeof s->old;
        i = end;
        while (begin < end && std::byte{s->old[begin]} == s->base[s->from + begin]) ++begin;
        while (end > begin && std::byte{s->old[end - 1]} == s->base[s->from + end - 1]) --end;
        if (begin == end) continue;
        event e;
        e.kind = event_kind::store;
        e.how = store_kind::release;  // as executed: no further reordering
        e.where = s->from + begin;
        e.size = static_cast<u8>(end - begin);
        e.pc = s->pc;
        std::memcpy(&e.value, s->base + e.where, e.size);
        s->events.push_back(e);
    }
    if (s->events.size() - first_event > 1) {
        for (std::size_t i = first_event; i < s->events.size(); ++i) {
            s->events[i].how = store_kind::piece;
            s->events[i].after_barrier = i == first_event;
        }
    }
    protect(s->from, 2 * window_bytes, PROT_READ);
    s->fault = 0;
}

void on_fault(int, siginfo_t* info, void* raw) {
    const u64 at = reinterpret_cast<u64>(info->si_addr) - reinterpret_cast<u64>(s->base);
    if (!s->tracing || at >= s->bytes || s->fault != 0) {
        std::signal(SIGSEGV, SIG_DFL);
        return;
    }
    begin_store(at, static_cast<ucontext_t*>(raw));
}

// --- flushes and fences ---

// The memory operand of a flush, computed from its ModRM and SIB bytes and the registers.
u64 operand(const u8* modrm, const ucontext_t* context, u8 rex) {
    static constexpr int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                        REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                        REG_R12, REG_R13, REG_R14, REG_R15};
    const auto reg = [&](unsigned n) {
        return static_cast<u64>(context->uc_mcontext.gregs[registers[n]]);
    };
    const unsigned mod = *modrm >> 6;
    const unsigned rm = *modrm & 7U;
    const u8* rest = modrm + 1;
    u64 at = 0;
    if (rm == 4) {
        const u8 sib = *rest++;
        const unsigned index = (sib >> 3 & 7U) | (rex & 2U) << 2;
        const unsigned base = (sib & 7U) | (rex & 1U) << 3;
        if (index != 4) at += reg(index) << (sib >> 6);
        if ((base & 7U) == 5 && mod == 0) give_up("a flush is addressed in an unknown way");
        at += reg(base);
    } else {
        if (mod == 0 && rm == 5) give_up("a flush is addressed in an unknown way");
        at += reg(rm | (rex & 1U) << 3);
    }
    if (mod == 1) at += static_cast<u64>(static_cast<std::int8_t>(*rest));
    if (mod == 2) {
        std::int32_t far = 0;
        std::memcpy(&far, rest, sizeof far);
        at += static_cast<u64>(static_cast<std::int64_t>(far));
    }
    return at;
}

void do_place(const place& p, ucontext_t* context) {
    context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(p.at + p.length);
    if (!s->tracing) return;
    if (!p.is_flush) return add(event_kind::fence, 0, 0, p.at);
    // 66 [rex] 0f ae /r or [rex] 0f ae /r; the first byte is our int3.
    const auto* code = reinterpret_cast<const u8*>(p.at);
    u8 rex = 0;
    unsigned i = 1;
    for (; i < p.length && code[i] != 0xae; ++i) {
        if ((code[i] & 0xf0U) == 0x40) rex = code[i];
    }
    if (i == 1 && code[1] != 0xae) give_up("a flush is encoded in an unknown way");
    const u64 at = operand(code + i + 1, context, rex) - reinterpret_cast<u64>(s->base);
    if (at < s->bytes) add(event_kind::flush, at / 64 * 64, 0, p.at);
}

void on_trap(int, siginfo_t*, void* raw) {
    auto* context = static_cast<ucontext_t*>(raw);
    if (s->fault != 0) return end_store(context);
    const u64 pc = static_cast<u64>(context->uc_mcontext.gregs[REG_RIP]) - 1;
    for (const place& p : s->places) {
        if (p.at == pc) return do_place(p, context);
    }
    std::signal(SIGTRAP, SIG_DFL);
}

u64 program_base() {
    u64 base = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            *static_cast<u64*>(found) = info->dlpi_addr;
            return 1;  // the first object is the program
        },
        &base);
    return base;
}

void set_traps() {
    const char* path = std::getenv("HF_TRACE_PLACES");
    std::FILE* list = path != nullptr ? std::fopen(path, "re") : nullptr;
    if (list == nullptr) give_up("HF_TRACE_PLACES names no file");
    const u64 base = program_base();
    unsigned long at = 0;
    unsigned long length = 0;
    char what[16];
    while (std::fscanf(list, "%lx %lu %15s", &at, &length, what) == 3) {
        const place p{base + at, length, std::strcmp(what, "flush") == 0};
        s->places.push_back(p);
        auto* code = reinterpret_cast<u8*>(p.at);
        auto* first = reinterpret_cast<void*>(p.at / page * page);
        if (::mprotect(first, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
            give_up("the text cannot be changed");
        }
        *code = 0xcc;
        ::mprotect(first, 2 * page, PROT_READ | PROT_EXEC);
    }
    std::fclose(list);
}

void write_out() {
    const char* path = std::getenv("HF_TRACE_FILE");
    std::FILE* out = path != nullptr ? std::fopen(path, "we") : nullptr;
    if (out == nullptr) give_up("HF_TRACE_FILE names no file that can be written");
    hf::lab::trace_header h{};
    std::memcpy(h.magic, hf::lab::trace_magic, sizeof h.magic);
    h.version = hf::lab::trace_version;
    h.file_bytes = s->before.size();
    h.events = s->events.size();
    std::fwrite(&h, sizeof h, 1, out);
    std::fwrite(s->before.data(), 1, s->before.size(), out);
    std::fwrite(s->events.data(), sizeof(event), s->events.size(), out);
    if (std::fclose(out) != 0) give_up("the trace could not be written");
}

template <class... A>
long real(long number, A... arguments) {
    return ::syscall(number, arguments...);
}

bool is_traced() { return s != nullptr && s->tracing; }

}  // namespace

extern "C" {

// The file under the region. No other file is used while tracing.
int fallocate(int fd, int mode, off_t from, off_t size) {
    const auto done = static_cast<int>(real(SYS_fallocate, fd, mode, from, size));
    if (done == 0 && is_traced()) add(event_kind::length, 0, static_cast<u64>(from + size), 0);
    return done;
}
int ftruncate(int fd, off_t size) noexcept {
    const auto done = static_cast<int>(real(SYS_ftruncate, fd, size));
    if (done == 0 && is_traced()) add(event_kind::length, 0, static_cast<u64>(size), 0);
    return done;
}
int fsync(int fd) {
    const auto done = static_cast<int>(real(SYS_fsync, fd));
    if (done == 0 && is_traced()) add(event_kind::sync, 0, 0, 0);
    return done;
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    auto* const p =
        reinterpret_cast<void*>(real(SYS_mmap, at, size, protection, flags, fd, offset));
    if (is_traced() && p == s->base + s->bytes) {  // the region has grown
        s->bytes += size;
        protect(s->bytes - size, size, PROT_READ);
    }
    return p;
}

/// kind: 0 begin (base, bytes), 1 end, 2 announced (epoch).
void hf_trace_mark(int kind, const void* base, unsigned long number) {
    if (kind == 0) {
        s = new state;
        s->base = const_cast<std::byte*>(static_cast<const std::byte*>(base));
        s->bytes = number;
        s->before.assign(s->base, s->base + s->bytes);
        s->events.reserve(std::size_t{1} << 22);  // handlers must not allocate
        set_traps();
        struct sigaction a{};
        a.sa_flags = SA_SIGINFO | SA_NODEFER;
        a.sa_sigaction = on_fault;
        ::sigaction(SIGSEGV, &a, nullptr);
        a.sa_sigaction = on_trap;
        ::sigaction(SIGTRAP, &a, nullptr);
        s->tracing = true;
        protect(0, s->bytes, PROT_READ);
    } else if (kind == 1) {
        s->tracing = false;
        protect(0, s->bytes, PROT_READ | PROT_WRITE);
        write_out();
    } else {
        add(event_kind::announced, 0, number, 0);
    }
}

}  // extern "C"
