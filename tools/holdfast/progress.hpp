// tools/holdfast/progress.hpp: a bar on stderr for work that takes a while, with how long it will
// yet take; silent without a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace hf::tool {

class progress_bar {
   public:
    explicit progress_bar(std::string what);
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    /// Wipes the bar away.
    ~progress_bar();

    /// May be called as often as one likes: it draws ten times a second at most.
    void show(std::uint64_t done, std::uint64_t total);

   private:
    std::string what_;
    bool terminal_;
    bool drawn_ = false;
    std::uint64_t begin_ns_;
    std::uint64_t last_ns_;
};

}  // namespace hf::tool
