// shadow/machine_set.hpp: the machines of one measurement, fed together, and what they counted.
#pragma once

#include "bench/shadow/machines.hpp"
#include "sim/log_machine.hpp"
#include "sim/shadow_machine.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace hf::bench {

/// Machines by name, and the logs, all for the same pages.
class machine_set {
   public:
    machine_set(const std::vector<std::string>& machines, u64 pages);

    [[nodiscard]] sim::sink& all() noexcept { return *all_; }
    void reset_numbers();
    /// Adds a row for each machine and log to `rows`; each has the members of `common`.
    void tell(const nlohmann::json& common, nlohmann::json& rows);

   private:
    struct entrant {
        std::string name;
        std::unique_ptr<sim::shadow_machine<>> machine;
    };
    std::vector<entrant> machines_;
    std::unique_ptr<sim::log_machine> logs_;
    std::unique_ptr<sim::fan_out> all_;
};

/// One machine's row.
[[nodiscard]] nlohmann::json row_of(const std::string& name, const sim::counters& n);

}  // namespace hf::bench
