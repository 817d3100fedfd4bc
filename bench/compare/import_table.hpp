// bench/compare/import_table.hpp: calls of the C library's functions, led somewhere else.
#pragma once

#include <span>
#include <vector>

namespace hf::bench {

struct replaced_function {
    const char* name;
    void* by;
};

/// For as long as it lives, what is loaded now and imports one of these functions calls the other
/// one instead: the program and its libraries, the C library itself excepted.
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
