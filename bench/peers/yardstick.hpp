// bench/peers/yardstick.hpp: interface of a volatile structure of another library, as a baseline
// for our trees.
//
// It is neither durable nor thread-safe, so it is divided into shards with a lock each; with one
// thread no lock is taken. `bench ycsb` opens it as a module at run time, which costs a virtual
// call an operation that our trees do not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hf::bench {

class yardstick_store {
   public:
    /// Returns whether to continue.
    using visitor = bool (*)(void* context, std::uint64_t key, std::string_view value);

    yardstick_store() = default;
    yardstick_store(const yardstick_store&) = delete;
    yardstick_store& operator=(const yardstick_store&) = delete;
    virtual ~yardstick_store() = default;

    /// The number of threads of the next operations. No operation may run.
    virtual void work_with(unsigned threads) = 0;
    virtual void put(std::uint64_t key, std::string_view value) = 0;
    [[nodiscard]] virtual bool get(std::uint64_t key, std::string& value) = 0;
    /// From this key on, in the order of the numbers; what has no order visits nothing. `context`
    /// is the visitor's.
    virtual void scan(std::uint64_t key, visitor visit, void* context) = 0;
    /// Memory that it has taken.
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

/// Goes up with every change of this header.
inline constexpr unsigned yardstick_interface = 1;

}  // namespace hf::bench

extern "C" {
unsigned hf_bench_yardstick_interface();
/// A new one, the caller's to delete; nullptr: there is none of this name.
hf::bench::yardstick_store* hf_bench_yardstick_open(const char* name, std::uint32_t value_size);
}
