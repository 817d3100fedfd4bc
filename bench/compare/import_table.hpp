// bench/compare/import_table.hpp: redirects calls of the C library's functions.
#pragma once

#include <span>
#include <vector>

namespace hf::bench {

struct replaced_function {
    const char* name;
    void* by;
};

/// While it exists, all loaded objects that import one of these functions call the replacement: the
/// program and its libraries, except the C library itself.
class import_table {
   public:
    explicit import_table(std::span<const replaced_function> functions);
    ~import_table();
    import_table(const import_table&) = delete;
    import_table& operator=(const import_table&) = delete;

   private:
    struct slot {
        void** at;
        void* before;
        bool read_only;
    };
    friend struct import_walk;
    std::vector<slot> slots_;
};

}  // namespace hf::bench
