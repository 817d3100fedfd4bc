// section/block_list.hpp: a growing array that takes its memory from the kernel.
//
// The runtime must not call the program's malloc (section.hpp, C11), so lists of locks and lines
// grow by mmap and mremap. An element's address changes when the list grows. Without memory the
// process ends: the caller is about to store and has no way to report an error.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace hf::section {

template <class T>
class block_list {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    constexpr block_list() noexcept = default;
    block_list(const block_list&) = delete;
    block_list& operator=(const block_list&) = delete;
    ~block_list() {
        if (items_ != nullptr) ::munmap(items_, capacity_ * sizeof(T));
    }

    void push(const T& item) noexcept {
        if (size_ == capacity_) [[unlikely]]
            grow();
        items_[size_++] = item;
    }
    [[nodiscard]] T pop() noexcept {
        HF_ASSERT(size_ != 0, "an empty list has no last element");
        return items_[--size_];
    }
    [[nodiscard]] const T& newest() const noexcept { return items_[size_ - 1]; }
    void drop_newest() noexcept { --size_; }
    /// Removes element i; the order of those after it stays.
    void remove(std::size_t i) noexcept {
        for (std::size_t k = i + 1; k < size_; ++k) items_[k - 1] = items_[k];
        --size_;
    }
    void clear() noexcept { size_ = 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return items_[i]; }
    [[nodiscard]] std::span<T> all() noexcept { return {items_, size_}; }
    [[nodiscard]] std::span<const T> all() const noexcept { return {items_, size_}; }

   private:
    [[gnu::noinline]] void grow() noexcept {
        // Pages that are not used take no memory; and a list that others read seldom moves.
        constexpr std::size_t first_bytes = 64 * 1024;
        const std::size_t wanted = capacity_ == 0 ? first_bytes / sizeof(T) : 2 * capacity_;
        void* const p =
            items_ == nullptr
                ? ::mmap(nullptr, wanted * sizeof(T), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                : ::mremap(items_, capacity_ * sizeof(T), wanted * sizeof(T), MREMAP_MAYMOVE);
        HF_CHECK(p != MAP_FAILED, "no memory for a list of the section runtime");
        items_ = static_cast<T*>(p);
        capacity_ = wanted;
    }

    T* items_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace hf::section
