#include "summary.hpp"

#include <cstdio>

namespace hf::power_test {

namespace {

unsigned long long count(u64 n) { return n; }

}  // namespace

u64 summary::losses() const {
    u64 sum = 0;
    for (const outcome& one : outcomes) sum += one.sum.broken();
    return sum;
}

u64 summary::failures() const {
    u64 sum = 0;
    for (const outcome& one : outcomes) sum += one.failures;
    return sum;
}

/// True if it lost records on each file system that had one.
bool summary::control_lost() const {
    bool any = false;
    for (const outcome& one : outcomes) {
        if (one.where.medium == "dax") continue;
        if (one.control.lost == 0) return false;
        any = true;
    }
    return any;
}

bool summary::well() const {
    if (outcomes.empty() || losses() + failures() != 0) return false;
    return !control_wanted || control_lost();
}

void summary::print() const {
    std::printf("\n%-13s %7s %9s %8s %9s %9s %7s %7s %7s   %s\n", "region", "cycles", "opening",
                "writes", "promised", "compared", "lost", "altered", "failed",
                "control, without syncs");
    for (const outcome& o : outcomes) {
        std::printf("%-13s %7llu %9llu %8llu %9llu %9llu %7llu %7llu %7llu   ",
                    o.where.name().c_str(), count(o.cycles), count(o.cuts_while_opening),
                    count(o.answered), count(o.sum.durable), count(o.sum.checked),
                    count(o.sum.lost + o.sum.holes), count(o.sum.altered + o.sum.strangers),
                    count(o.failures));
        if (o.control.cycles == 0) {
            std::printf("none\n");
        } else {
            std::printf("%llu of %llu records lost in %llu cycles (%llu not opened)\n",
                        count(o.control.lost), count(o.control.promised), count(o.control.cycles),
                        count(o.control.unopened));
        }
    }
    std::printf(
        "\nopening: power cuts while the region was opened, besides. writes: answered.\n"
        "promised: answered as durable. compared: records read back, byte for byte.\n\n");
    const bool proves = !control_wanted || control_lost();
    if (losses() + failures() != 0) {
        std::printf("power-test: %llu records lost or altered, %llu failures; seed %llu\n",
                    count(losses()), count(failures()), count(seed));
    } else if (interrupted()) {
        std::printf("power-test: interrupted; 0 lost so far; seed %llu\n", count(seed));
    } else if (!proves) {
        std::printf(
            "power-test: 0 lost, but the control lost nothing either: "
            "the test proves nothing\n");
    } else {
        std::printf("power-test: 0 durable records lost, 0 altered%s; seed %llu\n",
                    control_wanted ? "; the control lost records" : "; no control", count(seed));
    }
}

nlohmann::json summary::to_json() const {
    nlohmann::json all = nlohmann::json::array();
    for (const outcome& o : outcomes) {
        all.push_back({{"medium", o.where.medium},
                       {"file_system", o.where.file_system},
                       {"cycles", o.cycles},
                       {"cuts_while_opening", o.cuts_while_opening},
                       {"writes_answered", o.answered},
                       {"writes_promised", o.sum.durable},
                       {"records_compared", o.sum.checked},
                       {"lost", o.sum.lost},
                       {"holes", o.sum.holes},
                       {"altered", o.sum.altered},
                       {"strangers", o.sum.strangers},
                       {"writes_undone", o.sum.undone},
                       {"writes_beyond_the_promise", o.sum.kept},
                       {"failures", o.failures},
                       {"mean_restore_ms", o.mean_restore_ms},
                       {"control",
                        {{"cycles", o.control.cycles},
                         {"records_promised", o.control.promised},
                         {"records_lost", o.control.lost},
                         {"regions_not_opened", o.control.unopened}}}});
    }
    return {{"seed", seed},
            {"accelerator", machine::to_string(by)},
            {"boot_seconds", boot_seconds},
            {"well", well()},
            {"targets", all}};
}

}  // namespace hf::power_test
