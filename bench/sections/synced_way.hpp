// bench/sections/synced_way.hpp: a workload made durable without a runtime, by mmap() and msync().
//
// The comparison of the paper's section 3 ("persisting data on disks through mmap"): the workload's
// memory is a file on a disk, mapped shared, and each outermost section ends, before its lock is
// given back, with an msync() of the pages that it stored to. That is no protection against a
// crash inside a section, so it does less than any other row.
//
// The file has been written and synced once, so no msync() has to allocate disk space.
#pragma once

#include <holdfast/result.hpp>

#include "bench/sections/ways.hpp"

#include <filesystem>
#include <memory>
#include <span>

namespace hf::bench {

/// A file without a name in `directory`, mapped. One exists at a time: synced_way allocates there.
class synced_memory {
   public:
    /// errc::medium: the directory is in memory, and syncing would cost nothing.
    [[nodiscard]] static result<std::unique_ptr<synced_memory>> make(
        const std::filesystem::path& directory, u64 bytes);
    synced_memory(const synced_memory&) = delete;
    synced_memory& operator=(const synced_memory&) = delete;
    ~synced_memory();

    /// Zeroed, aligned to 16 bytes. Never freed: a workload's blocks end with it.
    [[nodiscard]] static void* allocate(std::size_t bytes);
    [[nodiscard]] static u64 syncs() noexcept;

   private:
    synced_memory(int fd, std::span<std::byte> bytes) : fd_(fd), bytes_(bytes) {}
    int fd_;
    std::span<std::byte> bytes_;
};

namespace detail {
void note_stored_page(const void* p);
/// The pages that this thread has stored to since its last call.
void sync_stored_pages();
inline thread_local unsigned synced_depth = 0;
}  // namespace detail

struct synced_way {
    class mutex {
       public:
        void lock() {
            mutex_.lock();
            ++detail::synced_depth;
        }
        void unlock() {
            leave();
            mutex_.unlock();
        }
        void wait(pthread_cond_t& c) {
            leave();
            mutex_.wait(c);
            ++detail::synced_depth;
        }

       private:
        static void leave() {
            if (--detail::synced_depth == 0) detail::sync_stored_pages();
        }
        original_way::mutex mutex_;
    };
    template <class T>
    static void store(T& field, std::type_identity_t<T> value) {
        field = value;
        detail::note_stored_page(static_cast<const void*>(&field));
        if (detail::synced_depth == 0) detail::sync_stored_pages();
    }
    static void* allocate(std::size_t bytes) { return synced_memory::allocate(bytes); }
    static void release(void* /*never*/) {}
};

}  // namespace hf::bench
