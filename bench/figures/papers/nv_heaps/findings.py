"""The claims of section 5, each with what it is held against. The numbers in the texts, and the
limits beside them, are the paper's."""

from claims import (NotMeasured, all_of, at_least, at_most, judge, less, not_measurable)
from samples import Estimate, greatest, least
from words import percent, with_quartiles

from .plan import (BASE, BDB, C_TX, DISK, DRAM, LAZY_BDB, LMDB, MALLOC, NODUR, PCM, PMEMOBJ, SAFE,
                   STTM, TX, UNDO, WORKS)
from .results import mean

HEAP = (C_TX, DRAM)
NO_DURABILITY = (NODUR, DRAM)
MANY = 100


def times(value):
    return f"{value:.2f} times"


def at_most_times(part, text, limit, find):
    def held():
        found = find()
        return at_most(found, limit), with_quartiles(found, times)
    return judge(part, text, f"at most {limit:g} times", held)


def at_least_times(part, text, limit, find):
    def held():
        found = find()
        return at_least(found, limit), with_quartiles(found, times)
    return judge(part, text, f"at least {limit:g} times", held)


def loss_of(part, text, limit, find):
    def held():
        found = find()
        return at_most(found, limit), with_quartiles(found)
    return judge(part, text, f"at most {percent(limit)}", held)


def of_table(results):
    def slower(storage, of=C_TX):
        return lambda: results.time_ratio("log for write", (of, storage), (of, DRAM), 1)

    def cheap_ones():
        found = [results.time_ratio(what, (C_TX, PCM), HEAP, MANY)
                 for what in ("V-to-NV ptr", "log for read")]
        worst = greatest(found)
        return at_most(worst, 1.1), with_quartiles(worst, times)

    def writing_costs_most():
        others = greatest([Estimate.of(results.times(what, HEAP, 1))
                           for what in ("V-to-NV ptr", "NV-to-NV ptr", "nop tx", "log for read")])
        writing = Estimate.of(results.times("log for write", HEAP, 1))
        return less(others, writing), (f"{writing.middle:.0f} ns, of the others at most "
                                       f"{others.middle:.0f} ns")

    def empty():
        found = Estimate.of(results.times("nop tx", HEAP, 1))
        return at_most(found, 50), with_quartiles(found, lambda ns: f"{ns:.0f} ns")

    def write_time():
        found = Estimate.of(results.times("log for write", HEAP, 1))
        return at_most(found, 1990), with_quartiles(found, lambda ns: f"{ns:.0f} ns")

    return [
        at_most_times("1", "logging for a write costs 6.4 times as much on PCM as on DRAM", 6.4,
                      slower(PCM)),
        at_most_times("1", "on STTM 2.8 times", 2.8, slower(STTM)),
        at_most_times("1", "the same of our undo log, which is the paper's kind: PCM", 6.4,
                      slower(PCM, UNDO)),
        judge("1", "logging for a write is the most expensive operation but new/delete",
              "the medians", writing_costs_most),
        judge("1", "logging an object for a write takes 1.99 us (here with its commit)",
              "at most 1990 ns", write_time),
        judge("1", "an empty transaction takes 50 ns", "at most 50 ns", empty),
        judge("1", "volatile references and reads are not slower on slow memory",
              "PCM at most 1.1 times DRAM, 100 in a transaction", cheap_ones),
        at_most_times("1", "concurrency makes logging for a write 1.18 times as dear (C-TX to TX)",
                      1.18, lambda: results.time_ratio("log for write", HEAP, (TX, DRAM), 1)),
    ]


def of_sizes(results):
    def threads():
        most = results.settings["cores"]
        if most < 2:
            raise NotMeasured("there is one core")
        return most

    def scaling():
        most = threads()
        found = results.speedup("sizes", "SPS", most, swaps=16)
        return at_least(found, 7.5 / 8 * most), f"{with_quartiles(found, times)} by {most} threads"

    def amortised():
        rate = {n: results.rate("sizes", "SPS", HEAP, swaps=n).middle * n for n in (1, 4, 256)}
        few, many = rate[4] / rate[1], rate[256] / rate[4]
        exact = Estimate(many, many, many)
        return at_most(exact, few), (f"1 to 4: {few:.2f} times, 4 to 256: {many:.2f} times")

    return [
        judge("4", "eight threads are 7.5 times as fast as one", "94% of the threads' number, "
              "16 swaps", scaling),
        judge("4", "four elements a transaction amortise most of its cost; more gain little",
              "from 1 to 4 more than from 4 to 256", amortised),
    ]


def of_works(results):
    def durability(of, name="works"):
        return lambda: mean(results.loss(name, work, of, NO_DURABILITY) for work in WORKS)

    def six_degrees():
        found = {work: results.loss("works", work, HEAP, NO_DURABILITY) for work in WORKS}
        worst = max(found, key=lambda work: found[work].middle)
        others = greatest([found[work] for work in WORKS if work != "SixDegs"])
        return less(others, found["SixDegs"]), f"most: {worst}, {with_quartiles(found[worst])}"

    def scaling(work, of_eight):
        def held():
            most = results.settings["cores"]
            steps = [n for n in (2, 4, 8) if n <= most]
            if not steps:
                raise NotMeasured("there is one core")
            found = results.speedup("works", work, steps[-1])
            return (at_least(found, of_eight / 8 * steps[-1]),
                    f"{with_quartiles(found, times)} by {steps[-1]} threads")
        return held

    def by_latency():
        ratios = [results.ratio("works", work, (C_TX, PCM), (C_TX, STTM)) for work in WORKS]
        worst = greatest(ratios)
        return at_most(worst, 1.02), with_quartiles(worst, times)

    return [
        loss_of("5", "durability costs 40% on average", 0.4, durability(HEAP)),
        loss_of("5", "the same with our undo log, which is the paper's kind", 0.4,
                durability((UNDO, DRAM))),
        loss_of("5", "the same with zipfian keys", 0.4, durability(HEAP, "works_zipfian")),
        judge("5", "it costs most in SixDegs", "more than in each of the others", six_degrees),
        judge("5", "PCM is slower than STTM in each workload", "at most 1.02 times as fast",
              by_latency),
        judge("5", "SPS is 7.6 times as fast with 8 threads", "95% of the threads' number",
              scaling("SPS", 7.6)),
        judge("5", "HashTable 7.3 times", "91% of the threads' number",
              scaling("HashTable", 7.3)),
        judge("5", "BTree 7 times", "88% of the threads' number", scaling("BTree", 7)),
    ]


def of_safety(results):
    def step(of, to):
        return lambda: mean(results.loss("safety", work, (of, DRAM), (to, DRAM))
                            for work in WORKS)

    return [
        loss_of("6", "SAFE costs little; most in BTree, 62%", 0.62,
                lambda: results.loss("safety", "BTree", (SAFE, DRAM), (BASE, DRAM))),
        loss_of("6", "TX is 82% slower than SAFE on average", 0.82, step(TX, SAFE)),
        loss_of("6", "C-TX is 30% slower than TX on average", 0.3, step(C_TX, TX)),
        at_most_times("6", "all the safety together costs 11 times on average", 11,
                      lambda: mean(results.ratio("safety", work, (BASE, DRAM), HEAP)
                                   for work in WORKS)),
    ]


def of_systems(results):
    def faster(of, to, works=("BTree", "HashTable")):
        return lambda: mean(results.ratio("systems", work, of, to) for work in works)

    def disk_and_memory():
        found = [results.ratio("systems", work, (BDB, DRAM), (BDB, DISK))
                 for work in ("BTree", "HashTable")]
        worst = least(found)
        return all_of([at_least(worst, 1)]), with_quartiles(worst, times)

    return [
        at_least_times("7", "NV-heaps on DRAM are 32 times as fast as Berkeley DB on average "
                       "(here: on the disk)", 32, faster(HEAP, (BDB, DISK))),
        at_least_times("7", "twice as fast at least: Berkeley DB on a RAM disk", 2,
                       faster(HEAP, (BDB, DRAM))),
        at_least_times("7", "BTree on PCM is 6.7 times as fast as Berkeley DB on a RAM disk", 6.7,
                       faster((C_TX, PCM), (BDB, DRAM), ("BTree",))),
        judge("7", "Berkeley DB is faster on a RAM disk than on a disk (24 times)",
              "at least as fast", disk_and_memory),
        at_least_times("7", "not in the paper: against libpmemobj", 1,
                       faster(HEAP, (PMEMOBJ, DRAM))),
        at_least_times("7", "not in the paper: against LMDB on the same disk, BTree", 1,
                       faster((C_TX, DISK), (LMDB, DISK), ("BTree",))),
        not_measurable("7", "NV-heaps are 244 times as fast as Stasis",
                       "Stasis can't be had: no package registry has it"),
        not_measurable("7", "SixDegs is nearly as fast on Berkeley DB",
                       "peers have no SixDegs here"),
    ]


def of_cache(results):
    def price(of, limit, text):
        return loss_of("8", text, limit,
                       lambda: results.loss("cache", "cache", of, (MALLOC, DRAM)))

    return [
        price(HEAP, 0.08, "8% slower than memcached (here: than its table alone, in the process)"),
        price((C_TX, PCM), 0.16, "up to 16% slower on slower memory: PCM"),
        price(NO_DURABILITY, 0.05, "without durability within 5% of memcached"),
        at_least_times("8", "up to 39 times as fast as Berkeley DB with synchronous commits", 39,
                       lambda: results.ratio("cache", "cache", HEAP, (BDB, DRAM))),
        at_least_times("8", "NoDur is 3.9 times as fast as Berkeley DB without", 3.9,
                       lambda: results.ratio("cache", "cache", NO_DURABILITY, (LAZY_BDB, DRAM))),
    ]


def claims(results):
    found = []
    for of in (of_table, of_sizes, of_works, of_safety, of_systems, of_cache):
        found += of(results)
    return found
