"""What the paper says of its indexes, and what this project is to reach, each with what it is held
against. The numbers in the texts are the paper's, or quoted.py's."""

from claims import NotMeasured, all_of, at_least, at_most, judge, not_measurable
from samples import Estimate, greatest, least
from words import short_number, significant, with_quartiles

from . import quoted
from .pictures import is_comparable
from .plan import INDEXES, NAMES, ORDERED

QUOTED_NUMBERS = ("its code is in no package registry, so its figures are quoted; the bench reads "
                  "no hardware counters")


def plain(value):
    return significant(value)


def times(estimate):
    return f"{plain(estimate.middle)} times"


def scaled(estimate, by):
    return Estimate(estimate.middle * by, estimate.low * by, estimate.high * by)


def comparable(results):
    if not is_comparable(results):
        raise NotMeasured(f"it takes {short_number(quoted.RECORDS)} records and "
                          f"{quoted.THREADS} threads")


def target(part, index, workload, speed, original, factor):
    def find():
        found = speed(index, workload)
        return at_least(found, factor * original), with_quartiles(found, plain)
    return judge(part, f"{NAMES[index]}, {workload}: the original's {plain(original)} Mops/s, "
                 f"{plain(factor)} times",
                 f"at least {plain(factor * original)}", find)


def of_originals(results):
    def speed(index, workload):
        comparable(results)
        return results.speed("own_integer", f"{index}-eager", workload)

    return [target("7", index, workload, speed, quoted.ORIGINALS[index][workload], factor)
            for index, by_workload in quoted.TARGETS.items()
            for workload, factor in by_workload.items()]


def against_hand_made(results, indexes, others):
    """The best of ours in each workload to the one made by hand: (workload, ratio)."""
    comparable(results)
    ratios = []
    for workload, speed in others.items():
        ours = greatest([results.speed("own_integer", f"{index}-eager", workload)
                         for index in indexes])
        ratios.append((workload, scaled(ours, 1 / speed)))
    return ratios


def ahead(results, indexes, others):
    ratios = against_hand_made(results, indexes, others)
    return (all_of(at_least(ratio, 1) for _, ratio in ratios),
            ", ".join(f"{workload} {times(ratio)}" for workload, ratio in ratios))


def of_hand_made(results):
    def up_to():
        ratio = greatest([ratio for _, ratio in against_hand_made(
            results, ORDERED, quoted.HAND_MADE_TREES["FAST & FAIR"])])
        return at_least(ratio, 5.2), times(ratio)

    found = [judge("7", "converted indexes outperform hand-made ones by up to 5.2 times",
                   "the best ordered one to FAST & FAIR, in its best workload", up_to)]
    for indexes, which, tables in ((ORDERED, "the best ordered one", quoted.HAND_MADE_TREES),
                                   (["clht"], "P-CLHT", quoted.HAND_MADE_TABLES)):
        for name, others in tables.items():
            found.append(judge("7", f"converted indexes outperform {name}, made by hand",
                               f"{which} is at least as fast in each workload",
                               lambda i=indexes, o=others: ahead(results, i, o)))
    return found


def of_many(results):
    def speed(index, workload):
        settings = results.settings
        if (settings["many"], settings["cores"]) != (quoted.MANY_RECORDS, quoted.THREADS):
            raise NotMeasured(f"it takes {short_number(quoted.MANY_RECORDS)} records and "
                              f"{quoted.THREADS} threads")
        return results.speed("many", f"{index}-eager", workload)

    return [target("8", index, workload, speed, original, 1)
            for index, by_workload in quoted.ORIGINALS_OF_MANY.items()
            for workload, original in by_workload.items()]


def of_counters(results):
    def cost(index, field, limit):
        found = results.counted(field, "own_integer", f"{index}-eager", "load")
        return at_most(found, limit), with_quartiles(found, plain)

    def reads_flush_nothing():
        found = [results.counted(field, f"own_{keys}", f"{index}-eager", "C", keys=keys)
                 for index in INDEXES for keys in ("integer", "string")
                 for field in ("lines", "fences")]
        return at_most(greatest(found), 0.001), f"at most {plain(greatest(found).middle)}"

    claims = []
    for index, (lines, fences) in quoted.COST_OF_INSERT.items():
        claims.append(judge("4", f"{NAMES[index]}'s insert writes back up to {lines} lines, "
                            "without a structure change",
                            "at most one more on average, with structure changes",
                            lambda i=index, n=lines: cost(i, "lines", n + 1)))
        claims.append(judge("4", f"{NAMES[index]}'s insert has {fences} fences, without a "
                            "structure change",
                            "at most a tenth more on average, with structure changes",
                            lambda i=index, n=fences: cost(i, "fences", 1.1 * n)))
    claims.append(judge("4", "reads need no flush (conditions 1 and 3; P-BwTree's need one)",
                        "not one in a thousand operations of C", reads_flush_nothing))
    claims.append(not_measurable("4", "P-ART flushes up to 2 times fewer lines than FAST & FAIR",
                                 QUOTED_NUMBERS))
    return claims


def of_price(results):
    def reads():
        found = [results.ratio("price", f"{index}-eager", f"{index}-transient", "C")
                 for index in INDEXES]
        return at_least(least(found), 0.95), f"at least {times(least(found))}"
    return [judge("5", "a conversion adds flushes and fences after stores, so reads are as fast as "
                  "in the index that it was made of", "C at 0.95 times the speed at least", reads)]


def of_threads(results):
    def inherited():
        if results.settings["cores"] == 1:
            raise NotMeasured("there is one core")
        found = []
        for index in INDEXES:
            durable = results.speedup(f"{index}-eager", "A")
            other = results.speedup(f"{index}-transient", "A")
            found.append(scaled(durable, 1 / other.middle))
        return at_least(least(found), 0.9), f"at least {times(least(found))}"
    return [judge("6", "a converted index inherits scalability from the DRAM index",
                  "A's speed-up is 0.9 times that with nothing durable at least", inherited)]


def claims(results):
    return [*of_hand_made(results), *of_originals(results), *of_many(results),
            *of_counters(results), *of_price(results), *of_threads(results),
            not_measurable("3.1", "converted indexes have fewer cache misses than hand-made ones",
                           QUOTED_NUMBERS)]
