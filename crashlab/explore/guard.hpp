// explore/guard.hpp: turns recoveries that abort, crash or hang into findings.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hf::lab {

/// Runs `work`. Returns the error: a violation's text, an exception's, the message of a failed
/// HF_CHECK, a signal, or a timeout. After the latter three the resources of `work` are leaked.
[[nodiscard]] std::optional<std::string> guarded(const std::function<void()>& work);

/// For image::on_endless.
void stop_endless();

/// After a run was interrupted by a signal or an abort, locks may stay held.
[[nodiscard]] bool was_cut_short() noexcept;

}  // namespace hf::lab
