"""The figures: bars of the stores, by workload; what was quoted is a mark on its bar."""

from claims import NotMeasured
from drawing import Figure, Panel, Series, series

from . import quoted
from .plan import DISTRIBUTIONS, INDEXES, KEYS, LABELS, MAP, NAMES, PARTS, PEERS, YCSB
from .plan import stores as stores_of
from .setting import caption

SPEED_LABEL = "million operations a second"
WORKLOAD = "workload"
QUOTED = "the original's (quoted)"
# These alone would make all others invisible.
SMALL_SPEEDS = True


def bars(results, title, of, xs, estimate, label=SPEED_LABEL, **how):
    """`estimate(store, x)`; stores that have no point are left out."""
    lines = [series(LABELS[store], results.points(xs, lambda x, s=store: estimate(s, x)))
             for store in of]
    lines = [one for one in lines if one.x]
    if not lines:
        raise NotMeasured(f"nothing was measured of '{title}'")
    return Panel(title, WORKLOAD, label, lines, kind="bars", **how)


def marks(numbers, panel):
    """What was quoted, of the indexes and workloads that the panel has."""
    found = []
    for index, by_workload in numbers.items():
        bar = next((one for one in panel.series if one.name == NAMES[index]), None)
        there = [(x, by_workload[x]) for x in (bar.x if bar else []) if x in by_workload]
        if there:
            found.append(Series(QUOTED, [x for x, _ in there], [y for _, y in there],
                                of_paper=True, like=NAMES[index]))
    return found


def throughput(results, part, keys, numbers):
    name = f"own_{keys}"
    panels = []
    for spread in DISTRIBUTIONS:
        panel = bars(results, spread, [*stores_of("eager"), MAP], YCSB,
                     lambda store, w, d=spread: results.speed(name, store, w, keys=keys, spread=d),
                     y_log=SMALL_SPEEDS)
        if spread == "uniform" and is_comparable(results):
            panel.series += marks(numbers, panel)
        panels.append(panel)
    return Figure(part, PARTS[part], panels, caption(results, name),
                  "A, B, D and E insert new keys, as in the paper's driver; F updates. D reads "
                  "what was inserted last, and E's scans begin by Zipf's law, whatever the panel "
                  "is called. The hash table has no order, so no scans (E).")


def is_comparable(results):
    return (results.settings["records"] == quoted.RECORDS
            and results.settings["cores"] == quoted.THREADS)


def writes_and_misses(results):
    panels = [bars(results, spread, [*stores_of("eager"), MAP],
                   ["C", "miss", "B", "B-update", "A", "A-update"],
                   lambda store, w, d=spread: results.speed("own_integer", store, w, spread=d),
                   y_log=True) for spread in DISTRIBUTIONS]
    return Figure("3", PARTS["3"], panels, caption(results, "own_integer"),
                  "C finds its keys, miss none of them. A and B insert new keys, A-update and "
                  "B-update overwrite.")


def counters(results):
    panels = [bars(results, f"{what}, {keys} keys", stores_of("eager"),
                   ["load", "A-update", "A", "C"],
                   lambda store, w, f=what, k=keys: results.counted(f, f"own_{k}", store, w,
                                                                    keys=k),
                   f"{what} an operation")
              for keys in KEYS for what in ("lines", "fences")]
    return Figure("4", PARTS["4"], panels, caption(results, "own_integer"),
                  "Counted by the program, structure changes included: lines that are flushed or "
                  "streamed past the caches, and fences. `load` is inserts only, "
                  "A half of them, A-update half updates.")


def price(results):
    def in_percent(store, workload):
        other = store.replace("-eager", "-transient")
        ratio = results.ratio("price", store, other, workload)
        return type(ratio)(*(100 * one for one in (ratio.middle, ratio.low, ratio.high)))

    panel = bars(results, "integer keys, uniform", stores_of("eager"),
                 ["load", "A", "A-update", "C", "E"], in_percent,
                 "% of the speed with nothing durable")
    return Figure("5", PARTS["5"], [panel], caption(results, "price"),
                  "The yardstick is the same index with every flush and fence compiled out.")


def speedups(results):
    panel = bars(results, "integer keys, uniform", stores_of("eager"),
                 ["load", "A", "A-update", "C", "E"], results.speedup,
                 f"speed of {results.settings['cores']} threads to that of one")
    return Figure("6", PARTS["6"], [panel], caption(results, "price"))


def beside_originals(results):
    panel = bars(results, "integer keys, uniform", stores_of("eager"), ["load", "A", "B", "C", "E"],
                 lambda store, w: results.speed("own_integer", store, w), y_log=True)
    if not is_comparable(results):
        raise NotMeasured(f"it takes {quoted.RECORDS} records and {quoted.THREADS} threads")
    panel.series += marks(quoted.ORIGINALS, panel)
    return Figure("7", PARTS["7"], [panel], caption(results, "own_integer"),
                  f"Quoted: {quoted.MACHINE}.")


def many_keys(results):
    panel = bars(results, "integer keys, uniform", stores_of("eager"), ["load", "A", "C", "E"],
                 lambda store, w: results.speed("many", store, w), y_log=True)
    if results.settings["many"] == quoted.MANY_RECORDS:
        panel.series += marks(quoted.ORIGINALS_OF_MANY, panel)
    return Figure("8", PARTS["8"], [panel], caption(results, "many"), f"Quoted: {quoted.MACHINE}.")


def beside_others(results):
    panels = [bars(results, f"{keys} keys, uniform", [*stores_of("eager"), MAP, *PEERS],
                   ["load", "A", "C", "E"],
                   lambda store, w, k=keys: results.speed("peers", store, w, keys=k), y_log=True)
              for keys in KEYS]
    return Figure("9", PARTS["9"], panels, caption(results, "peers"),
                  "All files lie in the same memory (tmpfs), where a sync is a call of the kernel "
                  "and costs no device's time; docs/benchmarks.md compares on a disk. The eager "
                  "indexes and libpmemobj are durable with every operation, the map, LMDB and "
                  "RocksDB every 64 ms, or with every write where it says so. libpmemobj has a "
                  "hash table, so no scans (E).")


def figures(results):
    """What can be drawn, and of what cannot, why."""
    makers = {
        "1": lambda r: throughput(r, "1", "integer", quoted.ORIGINALS),
        "2": lambda r: throughput(r, "2", "string", quoted.ORIGINALS_OF_STRINGS),
        "3": writes_and_misses, "4": counters, "5": price, "6": speedups, "7": beside_originals,
        "8": many_keys, "9": beside_others,
    }
    drawn, missing = [], []
    for number, make in makers.items():
        try:
            drawn.append(make(results))
        except NotMeasured as why:
            missing.append(f"Figure {number}: {why}.")
    return drawn, missing



