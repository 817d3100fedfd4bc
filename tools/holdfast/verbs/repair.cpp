// `holdfast repair`: repairs a heap of objects, on request.
#include "heap/mend.hpp"
#include "image/copy.hpp"
#include "quantity.hpp"
#include "verb.hpp"
#include "view/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace hf::tool {
namespace {

constexpr std::size_t most_mends_told = 50;

struct repair_arguments {
    std::string file;
    std::string backup;
    bool apply = false;
    nv::mend_options how;
    bool as_json = false;
};

/// The findings, and the repairs.
struct outcome {
    nv::heap_facts before;
    std::optional<nv::mend_tally> mended;
    u64 left = 0;  ///< violations after the repair

    [[nodiscard]] bool has_work(const repair_arguments& a) const {
        return before.violations != 0 || (a.how.collect && before.report.unreachable != 0);
    }
    [[nodiscard]] u64 beyond(const repair_arguments& a) const {
        return nv::beyond_mending(before, a.how);
    }
    [[nodiscard]] const char* verdict(const repair_arguments& a) const {
        if (beyond(a) != 0) return "beyond repair";
        if (!has_work(a)) return "sound";
        if (!mended) return "can be mended";
        return left == 0 ? "mended" : "violations";
    }
    [[nodiscard]] int exit_code(const repair_arguments& a) const {
        const bool is_well = beyond(a) == 0 && left == 0 && (mended || !has_work(a));
        return is_well ? 0 : static_cast<int>(errc::violation);
    }
};

json tally_json(const nv::mend_tally& t) {
    return {{"counts", t.counts},           {"lost_objects", t.lost}, {"list_entries", t.listed},
            {"proxies", t.proxies},         {"pointers", t.pointers}, {"dead_blocks", t.dead},
            {"objects_in_cycles", t.cycles}};
}

json json_of(const repair_arguments& a, const outcome& o) {
    json j{{"file", a.file}, {"verdict", o.verdict(a)}, {"exit_code", o.exit_code(a)}};
    j["violation_count"] = o.before.violations;
    j["beyond_repair"] = o.beyond(a);
    j["violations"] = json::array();
    for (std::size_t i = 0; i < o.before.report.violations.size(); ++i) {
        json v = violation_json(o.before.report.violations[i]);
        v["can_be_mended"] = nv::can_mend(o.before.findings[i], a.how);
        j["violations"].push_back(std::move(v));
    }
    j["unreachable"] = o.before.report.unreachable;
    j["applied"] = o.mended.has_value();
    if (o.mended) {
        j["backup"] = a.backup;
        j["mended"] = tally_json(*o.mended);
        j["violations_left"] = o.left;
    }
    return j;
}

std::string mended_text(const nv::mend_tally& t) {
    const auto line = [](u64 n, const char* what) {
        return n == 0 ? std::string() : fmt::format("  {} {}\n", human_count(n), what);
    };
    return "mended\n" + line(t.counts, "counts") +
           line(t.lost, "objects to which nothing led: they die when the heap is opened") +
           line(t.listed, "entries of lists") + line(t.proxies, "proxies of weak pointers") +
           line(t.pointers, "pointers that led to nothing are null") +
           line(t.dead, "blocks of what had died") + line(t.cycles, "objects in cycles");
}

/// The smallest set of options that would repair it.
std::string advice(const repair_arguments& a, const outcome& o) {
    nv::mend_options more = a.how;
    more.cut_pointers = true;
    if (o.beyond(a) == 0) return "nothing was changed; --apply mends it";
    if (nv::beyond_mending(o.before, more) == 0) {
        return "nothing was changed; pointers lead to objects that are lost: --cut-pointers makes "
               "them null";
    }
    return "nothing was changed; restore the file from a backup, or save what "
           "`holdfast inspect` shows";
}

std::string text_of(const repair_arguments& a, const outcome& o) {
    std::string text;
    const auto& all = o.before.report.violations;
    for (std::size_t i = 0; i < std::min(all.size(), most_mends_told); ++i) {
        const bool can = nv::can_mend(o.before.findings[i], a.how);
        text += printable(all[i]) + (can ? "\n" : " (can't be mended)\n");
    }
    if (o.before.violations > most_mends_told) {
        text += fmt::format("and {} more\n", human_count(o.before.violations - most_mends_told));
    }
    if (o.before.report.unreachable != 0) {
        text += fmt::format("{} objects in cycles that nothing reaches{}\n",
                            human_count(o.before.report.unreachable),
                            a.how.collect ? "" : ": --collect frees them");
    }
    if (o.mended) text += mended_text(*o.mended) + "as it was: " + a.backup + "\n";
    text += fmt::format("{}: {}", a.file, o.verdict(a));
    if (!o.mended && o.has_work(a)) text += "; " + advice(a, o);
    return text + "\n";
}

result<nv::heap_facts> facts_before(const std::string& file) {
    const auto look = nv::heap_look::open(file);
    if (!look) return tl::unexpected(look.error());
    return look->read();
}

result<void> mend(const repair_arguments& a, outcome& o) {
    const auto copied = detail::copy_image(a.file, a.backup, {});
    if (!copied) {
        error e = copied.error();
        if (e.code == errc::usage && e.where == a.backup) {
            e.next = "move it away, or choose another name with --backup";
        }
        return failure(std::move(e));
    }
    auto mended = nv::mend_heap(a.file, a.how);
    if (!mended) return tl::unexpected(mended.error());
    o.mended = *mended;
    const auto after = facts_before(a.file);
    if (!after) return tl::unexpected(after.error());
    o.left = after->violations;
    return {};
}

int run(repair_arguments a) {
    const auto refuse = [&](const error& e) {
        if (a.as_json) say_json({{"file", a.file}, {"error", to_json(e)}});
        return complain(e);
    };
    if (a.backup.empty()) a.backup = a.file + ".backup";
    auto before = facts_before(a.file);
    if (!before) return refuse(before.error());
    outcome o{std::move(*before), std::nullopt, 0};
    if (a.apply && o.has_work(a) && o.beyond(a) == 0) {
        if (const auto ok = mend(a, o); !ok) return refuse(ok.error());
    }
    if (a.as_json) {
        say_json(json_of(a, o));
    } else {
        say(text_of(a, o));
    }
    return o.exit_code(a);
}

constexpr const char* repair_remarks =
    "Lists the damage and possible repairs; changes nothing without --apply. It repairs counts,\n"
    "lists, and unreachable objects and memory. If damaged data cannot be derived from other\n"
    "data, nothing is changed at all. First FILE is copied, as it is, to FILE.backup, which\n"
    "must not exist. The work is done in transactions: after a kill it can be run\n"
    "again, with another --backup, and continues.\n\n"
    "Exit code 0: sound, or repaired. 1: something can be repaired, or cannot.\n\n"
    "Example:\n"
    "  holdfast repair list.hf\n"
    "  holdfast repair --apply list.hf\n"
    "  holdfast repair --apply --cut-pointers --backup before.hf list.hf";

}  // namespace

void add_repair(CLI::App& app, action& chosen) {
    auto a = std::make_shared<repair_arguments>();
    verb_line(app, "repair", "Mend counts, lists and leaks of a heap of objects")
        .name("FILE", a->file, "The heap; no program may have it open")
        .flag("--apply", a->apply, "Repair; without it, only report")
        .option("--backup", a->backup, "The copy made before the repair (FILE.backup)")
        .flag("--cut-pointers", a->how.cut_pointers,
              "Set pointers to no object, or to one of another type, to null")
        .flag("--collect", a->how.collect, "Free unreachable objects: cycles")
        .json(a->as_json)
        .needs("--backup", "--apply")
        .remarks(repair_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
