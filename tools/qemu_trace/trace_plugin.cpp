// tools/qemu_trace/trace_plugin.cpp: a plugin for QEMU's user mode that writes the memory accesses
// of an unmodified x86-64 program as a trace (sim/trace.hpp).
//
//     qemu-x86_64 -plugin hf_qemu_trace.so,out=FILE,heap=BYTES,begin=SYMBOL,commit=SYMBOL PROGRAM
//
// Persistent memory is the program's first anonymous or file mapping of exactly BYTES bytes. A
// transaction begins and commits where the program calls the functions named. The trace begins with
// the first transaction. Accesses to other memory are volatile; `others=off` leaves them out.
//
// Bad input. A missing or unknown argument, or a file that cannot be written: a line on standard
// error, and QEMU does not run the program. The same line at the end if the trace could not be
// finished, or if the program made no such mapping.
//
// Concurrency. Threads of the program are cores 0 to 3, by their numbers modulo 4; a lock orders
// their events.
#include "sim/trace.hpp"
#include "tools/qemu_trace/plugin_api.hpp"

#include <sys/syscall.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

using hf::u64;

struct tracer {
    std::mutex mutex;
    std::unique_ptr<hf::sim::trace_writer> out;
    std::string file, begin, commit;
    u64 heap_bytes = 0;
    bool has_others = true;
    bool is_mapping = false;  ///< a system call that maps heap_bytes bytes runs
    u64 base = 0;             ///< of the mapping; 0: there is none yet
    bool has_begun = false;
    std::map<std::string, u64> entries;   ///< first instruction of each function, by its name
    std::unordered_map<u64, u64> others;  ///< pages that are not persistent, and their numbers
};
tracer* all = nullptr;  // never freed: callbacks may come until the process ends

constexpr unsigned cores = 4;

constexpr u64 page_bytes = 4096;

/// Volatile pages are numbered as they are met: the simulator has tables by their numbers.
u64 address_of(u64 at) {
    if (all->base != 0 && at - all->base < all->heap_bytes) return at - all->base;
    const u64 number = all->others.emplace(at / page_bytes, all->others.size()).first->second;
    return hf::sim::volatile_memory + number * page_bytes + at % page_bytes;
}

void on_access(unsigned cpu, qemu_plugin_meminfo_t info, std::uint64_t at, void*) {
    const std::lock_guard lock(all->mutex);
    if (!all->has_begun) return;
    const u64 address = address_of(at);
    if (!hf::sim::is_persistent(address) && !all->has_others) return;
    const unsigned bytes = 1U << qemu_plugin_mem_size_shift(info);
    if (qemu_plugin_mem_is_store(info)) {
        all->out->store(cpu % cores, address, bytes);
    } else {
        all->out->load(cpu % cores, address, bytes);
    }
}

void on_begin(unsigned cpu, void*) {
    const std::lock_guard lock(all->mutex);
    all->has_begun = true;
    all->out->begin(cpu % cores);
}

void on_commit(unsigned cpu, void*) {
    const std::lock_guard lock(all->mutex);
    if (all->has_begun) all->out->commit(cpu % cores);
}

/// Whether the instruction is the first of the function. A function is first translated from there.
bool is_entry(const qemu_plugin_insn* insn, const std::string& function) {
    const char* const symbol = qemu_plugin_insn_symbol(insn);
    if (symbol == nullptr || function != symbol) return false;
    const u64 at = qemu_plugin_insn_vaddr(insn);
    return all->entries.emplace(function, at).first->second == at;
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb* tb) {
    const std::lock_guard lock(all->mutex);
    for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
        qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(tb, i);
        if (is_entry(insn, all->begin)) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, qemu_plugin_no_registers,
                                                   nullptr);
        } else if (is_entry(insn, all->commit)) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_commit, qemu_plugin_no_registers,
                                                   nullptr);
        }
        qemu_plugin_register_vcpu_mem_cb(insn, on_access, qemu_plugin_no_registers,
                                         qemu_plugin_reads_and_writes, nullptr);
    }
}

void on_system_call(qemu_plugin_id_t, unsigned, std::int64_t number, std::uint64_t,
                    std::uint64_t bytes, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                    std::uint64_t, std::uint64_t) {
    const std::lock_guard lock(all->mutex);
    all->is_mapping = number == SYS_mmap && bytes == all->heap_bytes && all->base == 0;
}

void on_system_call_result(qemu_plugin_id_t, unsigned, std::int64_t number, std::int64_t result) {
    const std::lock_guard lock(all->mutex);
    if (all->is_mapping && number == SYS_mmap && result > 0) all->base = static_cast<u64>(result);
    all->is_mapping = false;
}

void complain(const std::string& why) {
    std::fprintf(stderr, "cannot trace the program: %s\n", why.c_str());
}

void on_exit(qemu_plugin_id_t, void*) {
    const std::lock_guard lock(all->mutex);
    if (all->base == 0) complain("it mapped no memory of heap=" + std::to_string(all->heap_bytes));
    if (!all->has_begun) complain("it called no function " + all->begin + " (is it stripped?)");
    if (auto done = all->out->finish(); !done) complain(done.error().to_string());
}

/// False: it is none of the plugin's, or makes no sense.
bool take_argument(tracer& t, std::string_view argument) {
    const auto equals = argument.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = argument.substr(0, equals);
    const std::string_view value = argument.substr(equals + 1);
    if (name == "heap") {
        const auto read = std::from_chars(value.data(), value.data() + value.size(), t.heap_bytes);
        return read.ec == std::errc() && read.ptr == value.data() + value.size() &&
               t.heap_bytes != 0;
    }
    if (name == "others") {
        t.has_others = value == "on";
        return value == "on" || value == "off";
    }
    for (const auto& [known, to] :
         {std::pair{"out", &t.file}, {"begin", &t.begin}, {"commit", &t.commit}}) {
        if (name == known) {
            *to = value;
            return true;
        }
    }
    return false;
}

int refuse(const std::string& why) {
    complain(why + "; arguments are out=FILE,heap=BYTES,begin=SYMBOL,commit=SYMBOL[,others=off]");
    return -1;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): QEMU looks for these names.
extern "C" {

[[gnu::visibility("default")]] extern const int qemu_plugin_version = 1;

[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t*,
                                                       int count, char** arguments) {
    auto made = std::make_unique<tracer>();
    for (int i = 0; i < count; ++i) {
        if (!take_argument(*made, arguments[i])) {
            return refuse(std::string("what is ") + arguments[i]);
        }
    }
    if (made->file.empty() || made->heap_bytes == 0 || made->begin.empty() ||
        made->commit.empty()) {
        return refuse("an argument is missing");
    }
    auto out = hf::sim::trace_writer::create(made->file, cores,
                                             (made->heap_bytes + page_bytes - 1) / page_bytes);
    if (!out) return refuse(out.error().to_string());
    made->out = std::move(*out);
    all = made.release();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_result);
    qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
    return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
