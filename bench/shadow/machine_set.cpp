#include "bench/shadow/machine_set.hpp"

#include <nlohmann/json.hpp>

namespace hf::bench {

namespace {

nlohmann::json wear_row(const sim::wear_summary& w) {
    return {{"lines", w.lines},
            {"writes", w.writes},
            {"worst", w.worst},
            {"median", w.median},
            {"p99", w.p99}};
}

constexpr double bits_a_line = line_size * 8;

/// Joules by the published energies a bit; media without one are left out.
nlohmann::json energy(const sim::counters& n) {
    nlohmann::json found = nlohmann::json::object();
    for (const sim::medium& m : sim::media) {
        if (m.write_pj_a_bit == 0) continue;
        found[std::string(m.name)] = {{"writes_nj", static_cast<double>(n.all_flushes()) *
                                                        bits_a_line * m.write_pj_a_bit / 1e3},
                                      {"reads_nj", static_cast<double>(n.memory_reads) *
                                                       bits_a_line * m.read_pj_a_bit / 1e3}};
    }
    return found;
}

}  // namespace

nlohmann::json row_of(const std::string& name, const sim::counters& n) {
    nlohmann::json flushes = nlohmann::json::object();
    for (std::size_t i = 0; i < n.flushes.size(); ++i) {
        flushes[std::string(sim::source_names[i])] = n.flushes[i];
    }
    const auto per_medium = [](const sim::times& t) {
        nlohmann::json found = nlohmann::json::object();
        for (std::size_t m = 0; m < t.size(); ++m) found[std::string(sim::media[m].name)] = t[m];
        return found;
    };
    return {{"machine", name},
            {"transactions", n.transactions},
            {"aborts", n.aborts},
            {"rolled back lines", n.rolled_back_lines},
            {"conflicts", n.conflicts},
            {"loads", n.loads},
            {"stores", n.stores},
            {"transactional stores", n.transactional_stores},
            {"flushes", flushes},
            {"paper flushes", n.paper_flushes()},
            {"all flushes", n.all_flushes()},
            {"fences", n.fences},
            {"bytes", n.all_flushes() * line_size},
            {"write backs", n.write_backs},
            {"tlb misses", n.tlb_misses},
            {"tlb load misses", n.tlb_load_misses},
            {"l1 tlb misses", n.l1_tlb_misses},
            {"memory reads", n.memory_reads},
            {"insertions", n.insertions},
            {"consolidations", n.consolidations},
            {"truncations", n.truncations},
            {"spills", n.spills},
            {"shootdowns", n.shootdowns},
            {"messages", n.messages},
            {"max split pages", n.max_split_pages},
            {"ns", per_medium(n.ns)},
            {"fence ns", per_medium(n.fence_ns)},
            {"memory ns", per_medium(n.memory_ns)},
            {"background ns", per_medium(n.background_ns)},
            {"energy", energy(n)}};
}

machine_set::machine_set(const std::vector<std::string>& machines, u64 pages) {
    std::vector<sim::sink*> sinks;
    for (const std::string& name : machines) {
        machines_.push_back(
            {name, std::make_unique<sim::shadow_machine<>>(find_machine(name)->config, pages)});
        sinks.push_back(machines_.back().machine.get());
    }
    logs_ = std::make_unique<sim::log_machine>(sim::hardware{}, pages, log_configs());
    sinks.push_back(logs_.get());
    all_ = std::make_unique<sim::fan_out>(sinks);
}

void machine_set::reset_numbers() {
    for (entrant& e : machines_) e.machine->reset_numbers();
    logs_->reset_numbers();
}

void machine_set::tell(const nlohmann::json& common, nlohmann::json& rows) {
    const auto add = [&](nlohmann::json row, const sim::wear_summary* wear) {
        row.update(common);
        if (wear != nullptr) row["wear"] = wear_row(*wear);
        rows.push_back(std::move(row));
    };
    for (entrant& e : machines_) {
        const sim::wear_summary wear = e.machine->wear_of_lines();
        add(row_of(e.name, e.machine->numbers()), &wear);
    }
    const auto& logs = shadow_logs();
    const sim::wear_summary wear = logs_->wear_of_lines();
    for (std::size_t i = 0; i < logs.size(); ++i) {
        add(row_of(logs[i].name, logs_->numbers(i)), i == 0 ? &wear : nullptr);
    }
}

}  // namespace hf::bench
