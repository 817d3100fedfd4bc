// image/unfinished.hpp: the names of files that a signal's handler removes.
//
// Purpose. A file under construction has a name of its own, and is removed by a destructor if it is
// not finished. A process that a signal ends runs no destructors, and would leave a file that may
// be large. So such names are registered, and the handler of a signal that ends the process calls
// remove_all().
//
//     const unfinished_name mine("store.hf.partial");    // until it is renamed or removed
//
// Concurrency. Any thread. remove_all() is async-signal-safe: it reads a table of fixed size, and
// marks each entry that it reads, so that no other name is written there meanwhile.
// Bad input. Names beyond the table's size, and names of PATH_MAX bytes and more, are not
// registered; their files stay, for the next process that makes the same file to remove.
#pragma once

#include <cstddef>
#include <string>

namespace hf::detail {

class unfinished_name {
   public:
    static constexpr std::size_t most = 16;

    explicit unfinished_name(const std::string& path);
    unfinished_name(unfinished_name&& other) noexcept;
    unfinished_name& operator=(unfinished_name&& other) noexcept;
    unfinished_name(const unfinished_name&) = delete;
    unfinished_name& operator=(const unfinished_name&) = delete;
    ~unfinished_name() { forget(); }

    /// The file has been renamed or removed.
    void forget() noexcept;

    /// Unlinks all registered names.
    static void remove_all() noexcept;

   private:
    std::size_t at_ = most;  ///< index in the table; most: none
};

}  // namespace hf::detail
