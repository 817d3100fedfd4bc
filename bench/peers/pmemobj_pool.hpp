// bench/peers/pmemobj_pool.hpp: libpmemobj's pool, transactions and links, for the modules that use
// them.
//
// PMEM_IS_PMEM_FORCE, which the benchmark sets, makes it treat the pool as persistent memory: it
// writes back cache lines, on tmpfs too, as Holdfast does there if configured so.
#pragma once

#include <libpmemobj.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace hf::bench::pmem {

using word = std::uint64_t;

[[noreturn]] inline void fail(const char* what) {
    throw std::runtime_error(std::string("libpmemobj: ") + what + ": " + pmemobj_errormsg());
}

/// Offset of an object; 0: none. PMEMoids have 16 bytes and need a lookup at each use, so links are
/// offsets here, as its experts advise; that is to its advantage.
template <class T>
struct link {
    word offset = 0;
    explicit operator bool() const { return offset != 0; }
    friend bool operator==(const link&, const link&) = default;
};

class pool {
   public:
    pool(const std::filesystem::path& file, std::size_t bytes)
        : pop_(pmemobj_create(file.c_str(), "bench", bytes, 0600)) {
        if (pop_ == nullptr) fail("create the pool");
    }
    ~pool() { pmemobj_close(pop_); }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;

    template <class T>
    [[nodiscard]] T* at(link<T> l) const {
        return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(pop_) + l.offset);
    }
    template <class T>
    [[nodiscard]] T* root() const {
        const PMEMoid r = pmemobj_root(pop_, sizeof(T));
        if (r.off == 0) fail("make the root");
        return static_cast<T*>(pmemobj_direct(r));
    }
    template <class F>
    auto transact(F&& f) const {
        if (pmemobj_tx_begin(pop_, nullptr, TX_PARAM_NONE) != 0) fail("begin");
        if constexpr (std::is_void_v<decltype(f())>) {
            f();
            end();
        } else {
            const auto result = f();
            end();
            return result;
        }
    }
    /// Logs an object before it is changed.
    template <class T>
    static T* changing(T* p) {
        if (pmemobj_tx_add_range_direct(p, sizeof(T)) != 0) fail("log a range");
        return p;
    }
    template <class T>
    [[nodiscard]] T* changing(link<T> l) const {
        return changing(at(l));
    }
    template <class T>
    [[nodiscard]] static link<T> make(std::size_t bytes = sizeof(T)) {
        const PMEMoid made = pmemobj_tx_zalloc(bytes, 1);
        if (made.off == 0) fail("allocate");
        return {made.off};
    }
    template <class T>
    void destroy(link<T> l) const {
        PMEMoid gone = pmemobj_oid(at(l));
        if (pmemobj_tx_free(gone) != 0) fail("free");
    }

   private:
    static void end() {
        pmemobj_tx_commit();
        if (pmemobj_tx_end() != 0) fail("commit");
    }
    PMEMobjpool* pop_;
};

}  // namespace hf::bench::pmem
