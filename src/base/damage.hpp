// base/damage.hpp: what is thrown where the bytes of a region can't be what was written.
//
// Purpose. Whoever follows an offset, a size or a link of the medium looks first whether it can be
// right. That it can't is so rare that no caller on the way shall pay for the answer, and so deep
// that most could not give one: so it is an exception, and the public faces make an error of it.
// Who holds a lock when it is thrown gives it back on the way.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hf {

class damage : public std::runtime_error {
   public:
    /// `offset`: of the bytes that can't be right, in the region; `why`: a literal.
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
