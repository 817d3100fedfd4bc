// A Lua interpreter whose whole state survives: globals, tables, closures, suspended coroutines.
//
//     durable_lua FILE     executes each line of the standard input as a failure-atomic section
//
// Lua itself is Debian's library, unchanged. Its state gets its memory from the region, by the
// allocator that lua_newstate() takes, and its stores are found by pages. print() holds its output
// until the line is stable, so that a reader of the output knows of nothing that a crash undoes.
//
// Pointers out of the region. A Lua state has addresses of C functions, and of constants of the Lua
// library (the node of every empty table). They mean the same in the next process because Lua is
// linked statically and the program is not position-independent; and only in the same program, so
// its build id is the group's program name: another build is refused. The libraries io, os and
// package are not opened, since they keep C streams and handles of the process in the state.
#include <holdfast/section.h>

#include <lua.hpp>

#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

namespace {

/// lua_Alloc: `region` allocates, moves and frees.
void* allocate(void* region, void* p, size_t, size_t bytes) {
    if (bytes != 0) return hf_realloc(static_cast<hf_region*>(region), p, bytes);
    hf_free(p);
    return nullptr;
}

/// print() of Lua.
int print(lua_State* l) {
    luaL_Buffer text;
    const int n = lua_gettop(l);
    luaL_buffinit(l, &text);
    for (int i = 1; i <= n; ++i) {
        luaL_tolstring(l, i, nullptr);
        luaL_addvalue(&text);
        luaL_addchar(&text, i == n ? '\n' : '\t');
    }
    luaL_pushresult(&text);
    size_t bytes = 0;
    const char* const whole = lua_tolstring(l, -1, &bytes);
    if (hf_output_write(STDOUT_FILENO, whole, bytes) != static_cast<ssize_t>(bytes)) {
        return luaL_error(l, "%s", hf_section_error());
    }
    return 0;
}

int open_libraries(lua_State* l) {
    for (const luaL_Reg& library : {luaL_Reg{LUA_GNAME, luaopen_base},
                                    {LUA_TABLIBNAME, luaopen_table},
                                    {LUA_STRLIBNAME, luaopen_string},
                                    {LUA_MATHLIBNAME, luaopen_math},
                                    {LUA_UTF8LIBNAME, luaopen_utf8},
                                    {LUA_COLIBNAME, luaopen_coroutine}}) {
        luaL_requiref(l, library.name, library.func, 1);
        lua_pop(l, 1);
    }
    lua_register(l, "print", print);
    return 0;
}

/// "lua " and the build id in hexadecimal; only "lua " if the linker gave none.
std::string name_of_this_build() {
    std::string name = "lua ";
    const auto look = [](dl_phdr_info* program, size_t, void* into) {
        for (int i = 0; i < program->dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = program->dlpi_phdr[i];
            if (part.p_type != PT_NOTE) continue;
            const char* at = reinterpret_cast<const char*>(program->dlpi_addr + part.p_vaddr);
            const char* const end = at + part.p_memsz;
            while (at + sizeof(ElfW(Nhdr)) <= end) {
                ElfW(Nhdr) head;
                std::memcpy(&head, at, sizeof head);
                const char* const id = at + sizeof head + ((head.n_namesz + 3U) & ~3U);
                for (unsigned b = 0; head.n_type == NT_GNU_BUILD_ID && b < head.n_descsz; ++b) {
                    char digits[3];
                    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(id[b]));
                    *static_cast<std::string*>(into) += digits;
                }
                at = id + ((head.n_descsz + 3U) & ~3U);
            }
        }
        return 1;  // the first one is this program
    };
    ::dl_iterate_phdr(look, &name);
    return name;
}

/// The state in the region; at the first start it is made, in one section. nullptr: no memory.
lua_State* state_in(hf_region* r) {
    if (void* const found = hf_root_get(r, "state")) return static_cast<lua_State*>(found);
    hf_section_begin();
    lua_State* const made = lua_newstate(allocate, r);
    if (made != nullptr) {
        lua_pushcfunction(made, open_libraries);
        const bool is_complete = lua_pcall(made, 0, 0, 0) == LUA_OK;
        if (is_complete) hf_root_set(r, "state", made);
    }
    hf_section_end();
    return static_cast<lua_State*>(hf_root_get(r, "state"));
}

void execute(lua_State* l, const std::string& line) {
    hf_section_begin();
    if (luaL_loadbuffer(l, line.data(), line.size(), "line") != LUA_OK ||
        lua_pcall(l, 0, 0, 0) != LUA_OK) {
        std::cerr << lua_tostring(l, -1) << '\n';
    }
    lua_settop(l, 0);
    hf_section_end();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string build = name_of_this_build();
    hf_group_options options{};
    options.program = build.c_str();
    if (argc != 2) {
        std::cerr << "usage: durable_lua FILE <LINES\n";
        return 2;
    }
    if (hf_group_open(argv[1], &options) != 0) {
        std::cerr << hf_section_error() << '\n';
        return 1;
    }
    hf_region* const r = hf_region_open("lua");
    lua_State* const l = r == nullptr ? nullptr : state_in(r);
    if (l == nullptr) {
        std::cerr << "no memory for the state: " << hf_section_error() << '\n';
        return 1;
    }
    for (std::string line; std::getline(std::cin, line);) execute(l, line);
    if (hf_group_close() == 0) return 0;
    std::cerr << hf_section_error() << '\n';
    return 1;
}
