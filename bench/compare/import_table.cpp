#include "bench/compare/import_table.hpp"

#include "base/bits.hpp"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string_view>

namespace hf::bench {

namespace {

void fill_slot(void** at, void* value, bool read_only) {
    const auto page = static_cast<u64>(::sysconf(_SC_PAGESIZE));
    void* const start = reinterpret_cast<void*>(reinterpret_cast<u64>(at) & ~(page - 1));
    if (read_only && ::mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
    std::atomic_ref<void*>(*at).store(value);
    if (read_only) (void)::mprotect(start, page, PROT_READ);
}

}  // namespace

/// The imports of a loaded object, from its dynamic section.
struct import_walk {
    const dl_phdr_info& object;
    std::span<const replaced_function> functions;
    std::vector<import_table::slot>& slots;

    const ElfW(Sym) * symbols = nullptr;
    const char* names = nullptr;
    u64 relro_begin = 0;
    u64 relro_end = 0;

    /// The loader has already replaced most offsets by addresses.
    template <class T>
    [[nodiscard]] const T* at(u64 place) const {
        return reinterpret_cast<const T*>(place < object.dlpi_addr ? place + object.dlpi_addr
                                                                   : place);
    }

    void all() {
        const ElfW(Dyn)* dynamic = nullptr;
        for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
            const auto& header = object.dlpi_phdr[i];
            const u64 begin = object.dlpi_addr + header.p_vaddr;
            if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
            if (header.p_type == PT_GNU_RELRO) {
                relro_begin = begin;
                relro_end = begin + header.p_memsz;
            }
        }
        if (dynamic == nullptr) return;
        u64 tables[DT_NUM] = {};
        for (; dynamic->d_tag != DT_NULL; ++dynamic) {
            if (dynamic->d_tag < DT_NUM) tables[dynamic->d_tag] = dynamic->d_un.d_val;
        }
        if (tables[DT_SYMTAB] == 0 || tables[DT_STRTAB] == 0) return;
        symbols = at<ElfW(Sym)>(tables[DT_SYMTAB]);
        names = at<char>(tables[DT_STRTAB]);
        each(tables[DT_JMPREL], tables[DT_PLTRELSZ]);
        each(tables[DT_RELA], tables[DT_RELASZ]);
    }

    void each(u64 table, u64 bytes) {
        if (table == 0) return;
        for (const auto& one : std::span(at<ElfW(Rela)>(table), bytes / sizeof(ElfW(Rela)))) {
            const auto type = ELF64_R_TYPE(one.r_info);
            if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
            const auto& symbol = symbols[ELF64_R_SYM(one.r_info)];
            if (symbol.st_shndx != SHN_UNDEF) continue;
            const std::string_view name(names + symbol.st_name);
            const auto* by =
                std::find_if(functions.data(), functions.data() + functions.size(),
                             [&](const replaced_function& f) { return name == f.name; });
            if (by != functions.data() + functions.size()) replace(one.r_offset, by->by);
        }
    }

    void replace(u64 offset, void* by) {
        const u64 place = object.dlpi_addr + offset;
        auto** slot = reinterpret_cast<void**>(place);
        const bool read_only = place >= relro_begin && place < relro_end;
        slots.push_back({slot, *slot, read_only});
        fill_slot(slot, by, read_only);
    }
};

import_table::import_table(std::span<const replaced_function> functions) {
    struct both {
        import_table& table;
        std::span<const replaced_function> functions;
    } together{*this, functions};
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
            auto& [table, wanted] = *static_cast<both*>(data);
            const std::string_view name(object->dlpi_name);
            const bool kernels = !name.empty() && name.front() != '/';  // its pages are read-only
            const bool loaders = name.find("/ld-linux") != std::string_view::npos;
            if (kernels || loaders || name.find("/libc.so") != std::string_view::npos) return 0;
            import_walk{*object, wanted, table.slots_}.all();
            return 0;
        },
        &together);
}

import_table::~import_table() {
    for (const slot& s : slots_) fill_slot(s.at, s.before, s.read_only);
}

}  // namespace hf::bench
