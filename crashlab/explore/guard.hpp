// explore/guard.hpp: recoveries that abort, crash or never end are findings, not the lab's end.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hf::lab {

/// Runs `work`. Returns what was wrong: a violation's text, an exception's, the message of a failed
/// HF_CHECK, a signal, or that it did not end. Then what `work` held is leaked.
[[nodiscard]] std::optional<std::string> guarded(const std::function<void()>& work);

/// For image::on_endless.
void stop_endless();

/// After a run was cut short by a signal or an abort, locks may be held for ever.
[[nodiscard]] bool was_cut_short() noexcept;

}  // namespace hf::lab
