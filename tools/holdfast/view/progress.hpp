// tools/holdfast/view/progress.hpp: a progress bar on stderr for long work, with its rate and the
// estimated remaining time; prints nothing without a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace hf::tool {

class progress_bar {
   public:
    explicit progress_bar(const std::string& what);
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;
    /// Erases the bar.
    ~progress_bar();

    /// May be called at any rate: it draws at most ten times a second.
    void show(std::uint64_t done, std::uint64_t total);

   private:
    std::string what_;
    bool terminal_;
    bool drawn_ = false;
    std::uint64_t begin_ns_;
    std::uint64_t last_ns_;
};

}  // namespace hf::tool
