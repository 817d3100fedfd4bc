// `holdfast bench sections`: programs with locks, as they are and with failure-atomic sections.
#include <holdfast/section.hpp>

#include "bench/processor.hpp"
#include "bench/run.hpp"
#include "bench/scratch_space.hpp"
#include "bench/sections/measured_work.hpp"
#include "bench/sections/synced_way.hpp"
#include "bench/table.hpp"
#include "persist/counters.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace hf::bench {

namespace {

const std::string& name_of_row(section_row r) {
    return section_row_names()[static_cast<std::size_t>(r)];
}

/// A run's time and counters.
struct section_run {
    u64 ns = 0;
    u64 operations = 0;  ///< for dedup megabytes
    u64 syncs = 0;       ///< calls of msync()
    hf_section_numbers numbers{};
    persist_counters persisted{};
};

hf_group_options group_of(section_row r) {
    hf_group_options o{};
    o.bytes = u64{64} << 20;
    if (r == section_row::pages) return o;
    o.stores = HF_STORES_ANNOUNCED;
    if (r == section_row::hooks) return o;
    o.mode = HF_MODE_GRAPH;
    o.flush = r == section_row::graph ? 1 : 0;
    o.no_flush_for_figures = r == section_row::graph ? 0 : 1;
    o.log_all_stores = r == section_row::graph_elided ? 0 : 1;
    return o;
}

class sections_measurement {
   public:
    sections_measurement(const sections_bench_options& o, const scratch_space& space,
                         std::ostream& out, nlohmann::json& json)
        : o_(o), space_(space), out_(out), json_(json) {
        json_["rows"] = nlohmann::json::array();
        json_["counts"] = nlohmann::json::array();
        json_["options"] = {{"operations", o.operations},
                            {"megabytes", o.megabytes},
                            {"repetitions", o.repetitions}};
    }
    result<void> run() {
        for (const std::string& work : o_.works) {
            for (const unsigned threads : o_.threads) {
                if (auto ok = point(work, threads); !ok) return ok;
                if (interrupted()) break;
            }
        }
        table_.print(out_, 2);
        return {};
    }

   private:
    [[nodiscard]] work_size size_of(const std::string& work, unsigned threads) const {
        return {threads, work == "dedup" ? o_.megabytes : o_.operations};
    }
    /// All rows of one workload and number of threads, by turns.
    result<void> point(const std::string& work, unsigned threads) {
        std::map<section_row, std::vector<section_run>> runs;
        for (unsigned i = 0; i < o_.repetitions; ++i) {
            for (const section_row r : o_.rows) {
                if (interrupted()) return {};
                progress(fmt::format("{}, {} threads, {}, repetition {}", work, threads,
                                     name_of_row(r), i + 1));
                auto done = run_row(work, threads, r);
                if (!done && done.error().code == errc::medium && r == section_row::msync) {
                    progress("the row msync is left out: " + done.error().to_string());
                    continue;
                }
                if (!done) return tl::unexpected(done.error());
                runs[r].push_back(*done);
            }
        }
        const work_counts n = count_work(work, size_of(work, threads));
        json_["counts"].push_back({{"work", work},
                                   {"threads", threads},
                                   {"stores", n.stores},
                                   {"stores inside", n.stores_inside},
                                   {"sections", n.sections},
                                   {"inner sections", n.inner_sections}});
        for (const section_row r : o_.rows) {
            if (!runs[r].empty()) tell(work, threads, r, runs[r]);
        }
        return {};
    }
    result<section_run> run_row(const std::string& work, unsigned threads, section_row r) {
        section_run done;
        work_size size = size_of(work, threads);
        if (r == section_row::msync) {
            const u64 max = work == "dedup" ? 1 : o_.synced_operations;
            size.operations = std::min(size.operations, max);
        }
        done.operations = size.operations;
        if (r == section_row::msync) {
            const auto memory = synced_memory::make(o_.disk, u64{64} << 20);
            if (!memory) return tl::unexpected(memory.error());
            done.ns = run_work(work, work_way::synced, size);
            done.syncs = synced_memory::syncs();
            return done;
        }
        if (r == section_row::original) {
            done.ns = run_work(work, work_way::original, size);
            return done;
        }
        const auto file = space_.file("sections");
        const hf_group_options options = group_of(r);
        if (auto ok = section::open_group(file.string(), options); !ok) {
            return tl::unexpected(ok.error());
        }
        detail::measured_region = hf_region_open("bench");
        hf_section_numbers at_first{};
        hf_section_numbers_get(&at_first);
        const persist_counters before = total_persist_counters();
        done.ns =
            run_work(work, r == section_row::pages ? work_way::paged : work_way::announced, size);
        done.persisted = total_persist_counters();
        done.persisted.flushes -= before.flushes;
        done.persisted.fences -= before.fences;
        hf_section_numbers_get(&done.numbers);
        // These three are the process's, of all groups that it had open.
        done.numbers.sections -= at_first.sections;
        done.numbers.cuts -= at_first.cuts;
        done.numbers.failed -= at_first.failed;
        auto closed = section::close_group();
        space_.remove(file);
        if (!closed) return tl::unexpected(closed.error());
        return done;
    }
    void tell(const std::string& work, unsigned threads, section_row r,
              const std::vector<section_run>& runs) {
        nlohmann::json seconds = nlohmann::json::array();
        std::vector<double> all;
        for (const section_run& one : runs) {
            all.push_back(static_cast<double>(one.ns) / 1e9);
            seconds.push_back(all.back());
        }
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                         all.end());
        const section_run& last = runs.back();
        const double whole = static_cast<double>(size_of(work, threads).operations);
        // Of as many operations as the other rows do.
        const double middle = all[all.size() / 2] * whole / static_cast<double>(last.operations);
        if (r == section_row::original) original_[{work, threads}] = middle;
        json_["rows"].push_back({{"work", work},
                                 {"threads", threads},
                                 {"row", name_of_row(r)},
                                 {"seconds", seconds},
                                 {"operations", last.operations},
                                 {"syncs", last.syncs},
                                 {"sections", last.numbers.sections},
                                 {"entries", last.numbers.entries},
                                 {"unlogged stores", last.numbers.unlogged_stores},
                                 {"log waits", last.numbers.log_waits},
                                 {"lines", last.numbers.lines},
                                 {"cuts", last.numbers.cuts},
                                 {"failed cuts", last.numbers.failed},
                                 {"longest pause ns", last.numbers.longest_pause_ns},
                                 {"flushes", last.persisted.flushes},
                                 {"fences", last.persisted.fences}});
        const auto base = original_.find({work, threads});
        table_.add({work, name_of_row(r), std::to_string(threads), fixed(middle, 3),
                    base == original_.end() ? "" : fixed(middle / base->second, 2),
                    std::to_string(last.numbers.sections), std::to_string(last.numbers.entries),
                    std::to_string(last.persisted.flushes), std::to_string(last.persisted.fences),
                    std::to_string(last.numbers.cuts)});
    }

    const sections_bench_options& o_;
    const scratch_space& space_;
    std::ostream& out_;
    nlohmann::json& json_;
    std::map<std::pair<std::string, unsigned>, double> original_;
    table table_{{"work", "row", "threads", "seconds", "by original", "sections", "entries",
                  "flushes", "fences", "cuts"}};
};

}  // namespace

result<void> run_sections(const sections_bench_options& o, std::ostream& out,
                          nlohmann::json& json) {
    auto space = scratch_space::make(o.directory, huge_pages::off);
    if (!space) return tl::unexpected(space.error());
    describe_machine(out, json);
    return sections_measurement(o, *space, out, json).run();
}

}  // namespace hf::bench
