"""The table and the figures; the paper's own numbers of table 1 are marks on its bars."""

from claims import NotMeasured
from drawing import Figure, Panel, Series, series
from samples import Estimate

from .plan import (BASE, BDB, C_TX, DISK, DRAM, LABELS, LAZY_BDB, LMDB, MALLOC, NODUR, PARTS, PCM,
                   PMEMOBJ, SAFE, STTM, SWAPS, TX, UNDO, WORKS, doublings)
from .setting import caption

SPEED = "operations a second"
OPERATIONS = ["new/delete", "V-to-NV ptr", "NV-to-NV ptr", "weak NV-to-NV ptr", "nop tx",
              "log for read", "log for write"]
# Table 1 of the paper, in nanoseconds; "<0.1 us" and "n/a" are left out.
TABLE = {
    (BASE, DRAM): (None, 30, 30, None, None, None, None),
    (SAFE, DRAM): (None, 50, 50, 50, None, None, None),
    (TX, DRAM): (None, 110, 170, 200, 50, 170, 1680),
    (C_TX, DRAM): (None, 130, 250, 250, 50, 260, 1990),
    (C_TX, STTM): (750, 130, 720, 780, 50, 260, 5550),
    (C_TX, PCM): (2160, 130, 1680, 1840, 50, 260, 12670),
    (NODUR, DRAM): (None, 80, 130, 150, 50, 210, 1000),
}
QUOTED = "the paper's"
MANY = 100  # operations in a transaction, where it isn't one


def bars(results, title, of, xs, estimate, y_label, **how):
    lines = [series(LABELS[one], results.points(xs, lambda x, o=one: estimate(o, x)))
             for one in of]
    lines = [one for one in lines if one.x]
    if not lines:
        raise NotMeasured(f"nothing was measured of '{title}'")
    return Panel(title, "", y_label, lines, kind="bars", **how)


def table(results):
    of = [*TABLE, (UNDO, DRAM), (UNDO, STTM), (UNDO, PCM)]
    panels = []
    for at_once, title in ((1, "each in a transaction of its own"),
                           (MANY, f"{MANY} in a transaction")):
        panel = bars(results, title, of, OPERATIONS,
                     lambda who, what, n=at_once: Estimate.of(results.times(what, who, n)),
                     "nanoseconds", y_log=True)
        there = {one.name: one.x for one in panel.series}
        for who, numbers in TABLE.items() if at_once == 1 else ():
            known = [(what, ns) for what, ns in zip(OPERATIONS, numbers)
                     if ns is not None and what in there.get(LABELS[who], [])]
            if known:
                panel.series.append(Series(QUOTED, [what for what, _ in known],
                                           [ns for _, ns in known], of_paper=True,
                                           like=LABELS[who]))
        panels.append(panel)
    return Figure("1", PARTS["1"], panels, caption(results, "table"),
                  "A pointer is set to an object, then to null. On BASE and SAFE a transaction is "
                  "only the bracket that a checkpoint waits for. The paper logs objects as they "
                  "are first touched, each with barriers of its own; here a commit writes one "
                  "record, so what a transaction costs is shared by all that it does: the second "
                  "panel.", label="Table")


def sizes(results):
    threads = range(1, results.settings["cores"] + 1)
    panels = []
    for of in ((C_TX, DRAM), (NODUR, DRAM)):
        lines = [series(f"{swaps} swaps a transaction", results.points(
            threads, lambda n, s=swaps, o=of: scaled(
                results.rate("sizes", "SPS", o, threads=n, swaps=s), s))) for swaps in SWAPS]
        panels.append(Panel(LABELS[of], "threads", "swaps a second", lines))
    return Figure("4", PARTS["4"], panels, caption(results, "sizes"))


def scaled(one, factor):
    return Estimate(one.middle * factor, one.low * factor, one.high * factor)


def works(results):
    of = [(NODUR, DRAM), (C_TX, DRAM), (C_TX, STTM), (C_TX, PCM), (UNDO, DRAM)]
    panels = []
    for name, spread in (("works", "uniform"), ("works_zipfian", "zipfian")):
        for threads in doublings(results.settings["cores"]):
            panels.append(bars(
                results, f"{spread}, {threads} thread{'s' if threads > 1 else ''}", of, WORKS,
                lambda who, work, n=name, t=threads: relative(results, n, work, who, t),
                "speed, NoDur with one thread = 1"))
    return Figure("5", PARTS["5"], panels, caption(results, "works"))


def relative(results, name, work, of, threads):
    """To NoDur with one thread; not neighbours where threads are several."""
    there = results.rates(name, work, of, threads=threads)
    alone = results.rates(name, work, (NODUR, DRAM))
    return Estimate.of([one / other for one, other in zip(there, alone)])


def safety(results):
    of = [(BASE, DRAM), (SAFE, DRAM), (TX, DRAM), (C_TX, DRAM)]
    alone = bars(results, "one thread", of, WORKS,
                 lambda who, work: results.ratio("safety", work, who, (BASE, DRAM)),
                 "speed, BASE = 1", y_log=True)
    absolute = bars(results, "one thread", of, WORKS,
                    lambda who, work: results.rate("safety", work, who), SPEED, y_log=True)
    return Figure("6", PARTS["6"], [alone, absolute], caption(results, "safety"))


def systems(results):
    of = [(BDB, DISK), (LMDB, DISK), (C_TX, DISK), (BDB, DRAM), (LMDB, DRAM), (PMEMOBJ, DRAM),
          (C_TX, DRAM), (C_TX, STTM), (C_TX, PCM)]
    panel = bars(results, "one thread", of, ["BTree", "HashTable", "SPS"],
                 lambda who, work: results.rate("systems", work, who), SPEED, y_log=True)
    return Figure("7", PARTS["7"], [panel], caption(results, "systems"),
                  "Every commit is durable when it returns: by a system call in Berkeley DB and "
                  "LMDB, by a journal record of the heap on the disk, by a fence elsewhere. What "
                  "bars are missing their store has no structure for.")


def cache(results):
    of = [(C_TX, DRAM), (NODUR, DRAM), (C_TX, STTM), (C_TX, PCM), (BDB, DRAM), (LAZY_BDB, DRAM),
          (MALLOC, DRAM)]
    spreads = {"uniform": "cache", "zipfian": "cache_zipfian"}
    panel = bars(results, "one thread, in one process", of, list(spreads),
                 lambda who, spread: results.rate(spreads[spread], "cache", who), SPEED,
                 y_log=True)
    return Figure("8", PARTS["8"], [panel], caption(results, "cache"))


def figures(results):
    """What can be drawn, and of what cannot, why."""
    drawn, missing = [], []
    for number, make in (("1", table), ("4", sizes), ("5", works), ("6", safety), ("7", systems),
                         ("8", cache)):
        try:
            drawn.append(make(results))
        except NotMeasured as why:
            missing.append(f"{'Table' if number == '1' else 'Figure'} {number}: {why}.")
    return drawn, missing
