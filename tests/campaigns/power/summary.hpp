// tests/campaigns/power/summary.hpp: the results of a run: a table, a sentence, and the same as
// JSON.
#pragma once

#include "campaign.hpp"

#include <nlohmann/json.hpp>

#include <vector>

namespace hf::power_test {

struct summary {
    u64 seed = 0;
    machine::accelerator by = machine::accelerator::emulation;
    double boot_seconds = 0;
    bool control_wanted = true;
    std::vector<outcome> outcomes;

    [[nodiscard]] bool well() const;
    /// To stdout. The last line is the verdict.
    void print() const;
    [[nodiscard]] nlohmann::json to_json() const;

   private:
    [[nodiscard]] u64 losses() const;
    [[nodiscard]] u64 failures() const;
    [[nodiscard]] bool control_lost() const;
};

}  // namespace hf::power_test
