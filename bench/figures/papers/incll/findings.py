"""The claims of section 6, each with what it is held against. The numbers in the texts, and the
limits beside them, are the paper's."""

from claims import NotMeasured, at_least, at_most, cost, judge, less, not_measurable, true_if
from samples import Estimate, greatest, least, losses, pairwise, quotient
from words import percent, percents, with_quartiles

from .findings_of_scale import of_logged_nodes, of_sizes, of_threads
from .plan import DISTRIBUTIONS, INCLL, LATENCIES, LOGGING, MT, MT_PLUS, WORKLOADS

NO_COUNTERS = "the bench reads no hardware counters (many virtual machines have none)"


def workload_losses(results, workloads=WORKLOADS, spreads=DISTRIBUTIONS):
    return [results.loss("workloads", spread, workload=workload)
            for workload in workloads for spread in spreads]


def of_figure_2(results):
    def better_than_malloc():
        gains = [Estimate.of([ratio - 1 for ratio in pairwise(
            results.speeds("workloads", MT_PLUS, spread, workload=workload),
            results.speeds("workloads", MT, spread, workload=workload))])
            for workload in WORKLOADS for spread in DISTRIBUTIONS]
        return at_least(least(gains), 0), percents(gains)

    def incll_against_malloc():
        lost = [losses(results.speeds("workloads", INCLL, spread, workload=workload),
                       results.speeds("workloads", MT, spread, workload=workload))
                for workload in WORKLOADS for spread in DISTRIBUTIONS]
        gains = [Estimate(-one.middle, -one.high, -one.low) for one in lost]
        return at_least(least(gains), 0), percents(gains)

    def writes_cost_most():
        writes = greatest(workload_losses(results, ["A"]))
        reads = greatest(workload_losses(results, ["B", "C"]))
        return less(reads, writes), f"A {with_quartiles(writes)}, B and C {with_quartiles(reads)}"

    def scans_cost_least():
        scans = greatest(workload_losses(results, ["E"]))
        others = least([greatest(workload_losses(results, [one])) for one in ("A", "B", "C")])
        return less(scans, others), f"E {with_quartiles(scans)}, others {with_quartiles(others)}"

    def zipfian_is_faster():
        ratios = [quotient(results.speeds("workloads", tree, "zipfian", workload=workload),
                           results.speeds("workloads", tree, "uniform", workload=workload))
                  for tree in (MT_PLUS, INCLL) for workload in WORKLOADS]
        return at_least(least(ratios), 1), (f"{least(ratios).middle:.2f} to "
                                            f"{greatest(ratios).middle:.2f} times as fast")

    def zipfian_loses_less():
        zipfian = greatest(workload_losses(results, spreads=["zipfian"]))
        uniform = greatest(workload_losses(results, spreads=["uniform"]))
        return less(zipfian, uniform), (f"at most {with_quartiles(zipfian)} zipfian, "
                                        f"{with_quartiles(uniform)} uniform")

    return [
        judge("2", "MT+ is 2.4% to 68.5% faster than MT", "no load is slower", better_than_malloc),
        judge("2", "without its two enhancements MT is slightly slower than INCLL",
              "no load is slower on INCLL", incll_against_malloc),
        cost("2", "INCLL is 5.9% to 15.4% slower than MT+", 0.154,
             lambda: workload_losses(results)),
        cost("2", "A, half writes: 10.3% to 15.4% slower", 0.154,
             lambda: workload_losses(results, ["A"])),
        cost("2", "B, 5% writes: 5.9% to 13.9% slower", 0.139,
             lambda: workload_losses(results, ["B"])),
        cost("2", "C, reads only: 7.9% to 13.5% slower", 0.135,
             lambda: workload_losses(results, ["C"])),
        judge("2", "A loses more than B and C", "the greatest losses", writes_cost_most),
        judge("2", "E, scans of 10 records, loses least", "the greatest losses", scans_cost_least),
        judge("2", "the zipfian load is faster than the uniform one in both systems",
              "in each workload", zipfian_is_faster),
        judge("2", "the zipfian load loses less (5.9% to 10.3%) than the uniform one (7.8% to "
              "15.4%)", "the greatest losses", zipfian_loses_less),
        not_measurable("2", "INCLL executes 0.0% to 14.5% more instructions (uniform), 0.1% to "
                       "7.6% (zipfian)", NO_COUNTERS),
        not_measurable("2", "its misses in the first-level cache change by -5.1% to 14.2%, those "
                       "of loads in the last-level cache fall by 42.0% to 95.2%", NO_COUNTERS),
    ]


def of_latency(results):
    def slowdown(spread, limit):
        def held():
            lost = results.slowdown(INCLL, spread, LATENCIES[-1])
            return at_most(lost, limit), with_quartiles(lost)
        return held

    def logging_loses_more(spread):
        def held():
            incll, logging = (results.slowdown(tree, spread, LATENCIES[-1])
                              for tree in (INCLL, LOGGING))
            return (less(incll, logging),
                    f"LOGGING {with_quartiles(logging)}, INCLL {with_quartiles(incll)}")
        return held

    def judged(part, spread, limit):
        return judge(part, f"1 µs after each fence costs INCLL {percent(limit)} ({spread})",
                     f"at most {percent(limit)}", slowdown(spread, limit))

    third = [judged("3", "uniform", 0.043), judged("3", "zipfian", 0.060)]
    eighth = [judged("8", "uniform", 0.041), judged("8", "zipfian", 0.057)]
    for spread, lost in (("uniform", 0.425), ("zipfian", 0.285)):
        eighth.append(judge("8", f"it costs LOGGING {percent(lost)} ({spread})",
                            "LOGGING loses more than INCLL at 1 µs", logging_loses_more(spread)))
    return third, eighth


def of_flush(results):
    def pauses(workload, spread):
        found = [us for one in results.cell("workloads", INCLL, spread, workload=workload)
                 for us in one["pauses us"]]
        if not found:
            raise NotMeasured("no epoch ended")
        return Estimate.of(found)

    def longest():
        return greatest([pauses(workload, spread) for workload in WORKLOADS
                         for spread in DISTRIBUTIONS])

    def length():
        found = longest()
        return at_most(found, 1390), with_quartiles(found, lambda us: f"{us / 1e3:.2f} ms")

    def share():
        found = longest()
        part = Estimate(found.middle / 64e3, found.low / 64e3, found.high / 64e3)
        return at_most(part, 0.022), with_quartiles(part)

    return [
        judge("6.2", "the global flush takes 1.38 to 1.39 ms",
              "a boundary's pause, in the worst load: at most 1.39 ms", length),
        judge("6.2", "flushing costs 2.2% of the time", "a pause of 64 ms: at most 2.2%", share),
    ]


def of_recovery(results):
    def openings():
        return results.entry("recovery")["output"]["results"][0]["openings"]

    def entries():
        found = Estimate.of([one["entries applied"] for one in openings()])
        wanted = results.settings["entries"]
        return true_if(found.low >= wanted), f"{found.middle:,.0f} entries applied"

    def recovered():
        found = Estimate.of([one["ms"] for one in openings()])
        return at_most(found, 15), with_quartiles(found, lambda ms: f"{ms:.1f} ms")

    entries_text = f"{results.settings['entries']:,}"
    return [
        judge("6.3", "84K nodes are in the log when the machine stops at an epoch's end",
              f"so many are made here: {entries_text}", entries),
        judge("6.3", f"they are applied in about 15 ms (here {entries_text} of them)",
              "from the opening to the first answer: at most 15 ms", recovered),
        not_measurable("6.1", "in-cache-line logs for internal nodes gain nothing",
                       "Holdfast's have none either"),
    ]


def claims(results):
    third, eighth = of_latency(results)
    return (of_figure_2(results) + third + of_threads(results) + of_sizes(results)
            + of_logged_nodes(results) + eighth + of_flush(results) + of_recovery(results))
