// section/mapped_memory.hpp: memory straight from the kernel, for containers of the runtime.
//
// A signal handler may have interrupted the program's malloc, so what it calls must not allocate
// there. Pools (std::pmr) stand in front of this class: it maps whole pages.
#pragma once

#include <sys/mman.h>

#include <memory_resource>
#include <new>

namespace hf::section {

class mapped_memory final : public std::pmr::memory_resource {
   private:
    void* do_allocate(std::size_t bytes, std::size_t /*a page has any alignment*/) override {
        void* const p =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) throw std::bad_alloc();
        return p;
    }
    void do_deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) override {
        ::munmap(p, bytes);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }
};

}  // namespace hf::section
