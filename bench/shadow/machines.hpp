// bench/shadow/machines.hpp: simulated machines by name: each is the paper's with one thing changed.
#pragma once

#include "sim/config.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hf::bench {

struct named_machine {
    std::string name;
    std::string what;  ///< how it differs from `osp`
    sim::shadow_config config;
};
struct named_log {
    std::string name;
    sim::log_config config;
};

/// All of them: `osp` has the paper's DTLB of 64 entries as its last TLB.
[[nodiscard]] const std::vector<named_machine>& shadow_machines();
[[nodiscard]] const named_machine* find_machine(std::string_view name);
/// Logs in all variants; the first is the baseline (docs/shadow_paging.md).
[[nodiscard]] const std::vector<named_log>& shadow_logs();
[[nodiscard]] std::vector<sim::log_config> log_configs();

}  // namespace hf::bench
