#include "bench/table.hpp"

#include "bench/environment.hpp"
#include "persist/medium.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace hf::bench {

void table::print(std::ostream& out, std::size_t left) const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_) {
        for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (c != 0) line += "  ";
            line += c < left ? fmt::format("{:<{}}", row[c], widths[c])
                             : fmt::format("{:>{}}", row[c], widths[c]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    }
    out.flush();
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

void describe_machine(std::ostream& out, nlohmann::json& json) {
    const environment e = find_environment();
    say("version", e.version, out, json);
    say("build", e.build + ", " + e.compiler, out, json);
    say("processor", e.processor + ", " + std::to_string(e.cores) + " cores usable", out, json);
    say("kernel", e.kernel, out, json);
    say("memory", fmt::format("{:.1f} GiB", static_cast<double>(e.memory_bytes) / (1U << 30)), out,
        json);
    say("load", fixed(e.load, 2) + (e.load > 0.5 ? " at the start: NOT an idle machine" : ""), out,
        json);
    json["environment"]["load"] = e.load;
}

void say(const std::string& name, const std::string& value, std::ostream& out,
         nlohmann::json& json) {
    out << fmt::format("# {:<12} {}\n", name, value);
    json["environment"][name] = value;
}

namespace {

template <class T>
nlohmann::json one_or_all(const std::vector<T>& values) {
    return values.size() == 1 ? nlohmann::json(values.front()) : nlohmann::json(values);
}

}  // namespace

void describe(const options& o, const scratch_space& space, std::ostream& out,
              nlohmann::json& json) {
    describe_machine(out, json);
    say("regions", space.story(), out, json);
    say("flush",
        fmt::format("{}, {} ns emulated after a fence", to_string(best_flush_instruction()),
                    fmt::join(o.fence_latencies_ns, ", ")),
        out, json);
    say("threads", fmt::format("{}, each pinned to a core", fmt::join(o.threads, ", ")), out, json);
    say("repetitions", std::to_string(o.repetitions), out, json);
    say("value size", std::to_string(o.value_size), out, json);
    say("seed", std::to_string(o.seed), out, json);
    nlohmann::json& j = json["environment"];
    j["threads"] = one_or_all(o.threads);
    j["repetitions"] = o.repetitions;
    j["value size"] = o.value_size;
    j["seed"] = o.seed;
    j["fence latency ns"] = one_or_all(o.fence_latencies_ns);
    out.flush();
}

}  // namespace hf::bench
