// tools/qemu_trace/plugin_api.hpp: the part of QEMU's plugin interface that trace_plugin.cpp calls,
// as its documentation describes it (docs/devel/tcg-plugins). Debian's qemu-user has the interface
// and no header for it. Version 1: QEMU 4.2 to 8.2.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): names of another program.
using qemu_plugin_id_t = std::uint64_t;
using qemu_plugin_meminfo_t = std::uint32_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;

inline constexpr int qemu_plugin_no_registers = 0;  ///< a callback reads and writes none
inline constexpr int qemu_plugin_reads_and_writes = 3;

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, std::size_t index);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn);
/// The symbol that the instruction belongs to; nullptr: none is known.
const char* qemu_plugin_insn_symbol(const qemu_plugin_insn* insn);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn, void (*call)(unsigned, void*),
                                            int flags, void* data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* insn,
                                      void (*call)(unsigned, qemu_plugin_meminfo_t, std::uint64_t,
                                                   void*),
                                      int flags, int accesses, void* data);
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, unsigned, std::int64_t number,
                                      std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                      std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t));
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              void (*call)(qemu_plugin_id_t, unsigned,
                                                           std::int64_t number,
                                                           std::int64_t result));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void*),
                                    void* data);
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
