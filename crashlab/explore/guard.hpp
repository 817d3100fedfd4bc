// explore/guard.hpp: a recovery that aborts, crashes or hangs is a finding, and not the lab's end.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hf::lab {

/// Runs `work`. Returns the error: a violation's text, an exception's, the message of a failed
/// HF_CHECK, a signal, or a hang. In these cases the resources of `work` are leaked.
[[nodiscard]] std::optional<std::string> guarded(const std::function<void()>& work);

/// For image::on_endless.
void stop_endless();

/// True if a run was interrupted by a signal or an abort; locks may then be held forever.
[[nodiscard]] bool was_cut_short() noexcept;

}  // namespace hf::lab
