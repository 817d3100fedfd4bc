// base/damage.hpp: the exception for corrupt bytes of a region.
//
// Purpose. Code that follows an offset, a size or a link read from the medium validates it first.
// Failures are so rare that callers should not pay for a return value, and occur so deep that most
// callers could not handle one. So a failure throws `damage`, and the public interfaces convert it
// to an error. Locks held at that time are released during unwinding.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hf {

class damage : public std::runtime_error {
   public:
    /// `offset`: of the corrupt bytes, in the region; `why`: a string literal.
    damage(u64 offset, const char* why)
        : std::runtime_error(std::string(why) + " (at offset " + std::to_string(offset) +
                             " of the region); run `holdfast check`"),
          why_(why),
          offset_(offset) {}
    [[nodiscard]] u64 offset() const noexcept { return offset_; }
    [[nodiscard]] const char* why() const noexcept { return why_; }

    /// `doing`: what was attempted with the region `file`.
    [[nodiscard]] error to_error(const char* doing, const std::filesystem::path& file) const {
        return {errc::corrupt, doing, file.string() + " at offset " + std::to_string(offset_), why_,
                "run `holdfast check`; restore the file from a copy"};
    }

   private:
    const char* why_;
    u64 offset_;
};

}  // namespace hf
