"""The figures: bars and lines of counts."""

from claims import NotMeasured
from drawing import Figure, Panel, Series

from .plan import (AT_MISS, AT_ONCE, BACKGROUND, BASELINE, CORES, IMMEDIATELY, LAZY, LOGS, OSP,
                   PARTS, RECORD_16, SPREADS, STEEP, STLB, SUPER, SUPER_STLB, TLBS, UNIFORM, WORKS,
                   ZIPF)
from .setting import caption

MEDIA = ["dram", "sttm", "pcm"]
SOURCES = ["data", "journal", "consolidation"]


def line(name, points):
    """Of (x, value) pairs; a value may raise NotMeasured, and is left out then."""
    found = []
    for x, value in points:
        try:
            found.append((x, value()))
        except NotMeasured:
            pass
    return Series(name, [x for x, _ in found], [y for _, y in found])


def panel(title, y_label, lines, x_label="", **how):
    lines = [one for one in lines if one.x]
    if not lines:
        raise NotMeasured(f"nothing was measured of '{title}'")
    return Panel(title, x_label, y_label, lines, **how)


def bars(title, y_label, lines, **how):
    return panel(title, y_label, lines, kind="bars", **how)


def against_undo(r):
    panels = [bars({OSP: "last TLB: 64 entries", STLB: "last TLB: an STLB of 1,536"}[machine],
                   "undo's flushes by shadow paging's",
                   [line(SPREADS[spread],
                         [(WORKS[w], lambda w=w, s=spread, m=machine: r.fewer(w, s, m, BASELINE))
                          for w in WORKS]) for spread in SPREADS])
              for machine in (OSP, STLB)]
    return Figure("4a", PARTS["4a"], panels, caption(r, "main_sps"),
                  "Flushes are counted as the paper does: of data, journal and consolidation, or "
                  f"of data and log. The undo log is '{BASELINE}': a record of 80 bytes for each "
                  "line, packed, durable before the store, and a line for the commit.")


def by_source(r):
    panels = []
    for spread in (UNIFORM, ZIPF):
        panels.append(bars(SPREADS[spread], "share of the flushes, last TLB 64 entries",
                           [line(source, [(WORKS[w], lambda w=w, s=spread, c=source: r.share(
                               r.main(w, s, OSP), c)) for w in WORKS]) for source in SOURCES]))
    panels.append(bars("BT, nodes of 4 KB, " + SPREADS[STEEP],
                       "share of the flushes, last TLB 64 entries",
                       [line(source, [(f"{n} at once", lambda n=n, c=source: r.share(
                           r.row("nodes", OSP, spread=STEEP, **{"at once": n}), c))
                           for n in AT_ONCE]) for source in SOURCES]))
    return Figure("4b", PARTS["4b"], panels, caption(r, "main_sps"))


def misses(r):
    panels = [bars(title, "load misses by loads",
                   [line(SPREADS[spread], [(WORKS[w], lambda w=w, s=spread, m=machine: r.misses(
                       w, s, m)) for w in WORKS]) for spread in SPREADS], y_log=True)
              for machine, title in ((OSP, "64 entries"), (STLB, "with an STLB of 1,536"))]
    return Figure("1", PARTS["1"], panels, caption(r, "main_sps"), label="Table")


def baselines(r):
    lines = [line(LOGS[log], [(f"{WORKS[w]} {SPREADS[s]}", lambda w=w, s=s, g=log: r.fewer(
        w, s, OSP, g)) for w in WORKS for s in (UNIFORM, ZIPF)]) for log in LOGS]
    counted = line("the first, but all flushes counted: state table and page table, too",
                   [(f"{WORKS[w]} {SPREADS[s]}", lambda w=w, s=s: r.fewer(
                       w, s, OSP, BASELINE, "all flushes")) for w in WORKS
                    for s in (UNIFORM, ZIPF)])
    return Figure("baselines", PARTS["baselines"],
                  [bars("last TLB: 64 entries", "the log's flushes by shadow paging's",
                        lines + [counted])], caption(r, "main_sps"))


def of_media(r, title, y_label, value, machines):
    return [bars(f"{WORKS[w]} {SPREADS[UNIFORM]}, {title}", y_label,
                 [line(machine, [(m, lambda w=w, n=machine, m=m: value(r.main(w, UNIFORM, n), m))
                                 for m in MEDIA]) for machine in machines]) for w in ("ht", "bt")]


def time(r):
    def ns(row, medium):
        return row["ns"][medium] / row["transactions"]
    return Figure("time", PARTS["time"],
                  of_media(r, "one core", "nanoseconds a transaction", ns,
                           [OSP, STLB, BACKGROUND, BASELINE, "undo-line-batched-1",
                            "redo-line-1"]), caption(r, "main_sps"),
                  "Reads that miss all caches, flushes and fences; a fence waits for the lines "
                  "flushed before it, eight at a time. Table and page table are included. Redo "
                  "does not wait for the data. 'stlb-background' consolidates off the critical "
                  "path.")


def energy(r):
    def joules(row, medium):
        if medium not in row["energy"]:
            raise NotMeasured(f"no energy of {medium} is published there")
        return sum(row["energy"][medium].values()) / row["transactions"]
    return Figure("energy", PARTS["energy"],
                  of_media(r, "all flushes", "nanojoules a transaction", joules,
                           [OSP, STLB, BASELINE, "undo-line-batched-1", "redo-line-1"]),
                  caption(r, "main_sps"),
                  "Every flushed line as an array write, every miss of all caches as an array "
                  "read: 16.82 and 2.47 pJ a bit of PCM, 0.39 and 1.17 of DRAM (Lee, Ipek, Mutlu, "
                  "Burger, ISCA 2009). No figure for STTM is published there.")


def tlb(r):
    sizes = {**{n: m for m, n in TLBS.items()}, 1600: STLB}
    share = [line(WORKS[w], [(n, lambda w=w, m=m: r.share(r.row("tlb", m, work=w),
                                                          "consolidation"))
                             for n, m in sizes.items()]) for w in ("ht", "bt")]
    fewer = [line(WORKS[w], [(n, lambda w=w, m=m: r.row("tlb", BASELINE, work=w)["paper flushes"]
                              / r.row("tlb", m, work=w)["paper flushes"])
                             for n, m in sizes.items()]) for w in ("ht", "bt")]
    return Figure("tlb", PARTS["tlb"],
                  [panel("zipf .99", "share of consolidation", share, "entries", x_log=True),
                   panel("zipf .99", "undo's flushes by shadow paging's", fewer, "entries",
                         x_log=True)], caption(r, "tlb"))


def transaction(r):
    lines = []
    for w in ("ht", "bt"):
        for s in (UNIFORM, ZIPF):
            def value(n, w=w, s=s):
                name = f"main_{w}" if n == 1 else "at_once"
                return (r.row(name, BASELINE, work=w, spread=s, **{"at once": n})["paper flushes"]
                        / r.row(name, OSP, work=w, spread=s, **{"at once": n})["paper flushes"])
            lines.append(line(f"{WORKS[w]} {SPREADS[s]}",
                              [(n, lambda n=n, v=value: v(n)) for n in AT_ONCE]))
    for s in (UNIFORM, STEEP):
        lines.append(line(f"BT {SPREADS[s]}, nodes of 4 KB", [(n, lambda n=n, s=s: r.row(
            "nodes", BASELINE, spread=s, **{"at once": n})["paper flushes"] / r.row(
                "nodes", OSP, spread=s, **{"at once": n})["paper flushes"]) for n in AT_ONCE]))
    return Figure("transaction", PARTS["transaction"],
                  [panel("last TLB: 64 entries", "undo's flushes by shadow paging's", lines,
                         "operations a transaction", x_log=True)], caption(r, "at_once"))


def lazy(r):
    def fewer(machine, log):
        return (r.row("lazy", log)["paper flushes"] / r.row("lazy", machine)["paper flushes"])
    def extra(machine):
        row = r.row("lazy", machine)
        return row["max split pages"] * 4096 / row["used bytes"]
    machines = {**{"at once": IMMEDIATELY, "at eviction": STLB},
                **{f"{n:,} pages": m for m, n in LAZY.items()}}
    ratio = [line(log, [(x, lambda m=m, g=log: fewer(m, g)) for x, m in machines.items()])
             for log in (BASELINE, "undo-line-batched-1", "undo-line-headless-1")]
    space = [line("second slots", [(x, lambda m=m: extra(m)) for x, m in machines.items()])]
    return Figure("lazy", PARTS["lazy"],
                  [bars("BT uni", "undo's flushes by shadow paging's", ratio),
                   bars("BT uni", "pages with two slots by pages of the tree", space)],
                  caption(r, "lazy"),
                  "The oldest page of a full list is consolidated when another is split. It pays "
                  "where the pages that are kept are a large part of the structure, which costs "
                  "as many second pages.")


def commit(r):
    machines = [OSP, RECORD_16, SUPER, STLB, SUPER_STLB, AT_MISS]
    panels = [bars(f"{WORKS[w]} {SPREADS[ZIPF]}", "flushes a transaction",
                   [line(source, [(m, lambda w=w, m=m, c=source: r.row(
                       "commit", m, work=w)["flushes"][c] / r.row(
                           "commit", m, work=w)["transactions"]) for m in machines])
                    for source in ("data", "journal", "consolidation", "table", "mapping")])
              for w in ("ht", "bt")]
    return Figure("commit", PARTS["commit"], panels, caption(r, "commit"),
                  "'journal' means super pages where these commit. 'table' are the entries of the "
                  "state table: made, removed, and written back when the journal is truncated. "
                  "The paper does not count them.")


def cores(r):
    def of(w, s, n, value):
        return lambda: value(r.row("cores", STLB, work=w, spread=s, cores=n))
    def lines(value, least):
        return [line(f"{WORKS[w]} {SPREADS[s]}", [(n, of(w, s, n, value)) for n in CORES
                                                 if n >= least])
                for w in ("ht", "bt") for s in (UNIFORM, ZIPF)]
    return Figure("cores", PARTS["cores"],
                  [panel("flushes", "a transaction", lines(
                      lambda row: row["paper flushes"] / row["transactions"], 1), "cores"),
                   panel("messages to other cores", "a transaction", lines(
                       lambda row: row["messages"] / row["transactions"], 2), "cores"),
                   panel("aborts", "a transaction", lines(
                       lambda row: row["aborts"] / row["transactions"], 2), "cores")],
                  caption(r, "cores"),
                  "Each core has a transaction of its own under way, four accesses a turn. An "
                  "access to a line that another core's transaction has updated aborts.")


def speculation(r):
    def restored(machine):
        row = r.row("aborts", machine)
        return row["flushes"]["data"] / max(1, row["transactions"])
    machines = [OSP, STLB, BASELINE, "redo-line-1"]
    return Figure("speculation", PARTS["speculation"],
                  [bars("a tenth of the transactions aborts", "flushes of data a commit",
                        [line("data", [(m, lambda m=m: restored(m)) for m in machines])]),
                   bars("a tenth of the transactions aborts", "lines rolled back an abort",
                        [line("lines", [(m, lambda m=m: r.row("aborts", m)["rolled back lines"]
                                         / r.row("aborts", m)["aborts"]) for m in machines])])],
                  caption(r, "aborts"),
                  "An undo log restores each line and flushes it; shadow paging clears bits, a "
                  "redo log is dropped. The old lines' fetch at the first store is paid by both.")


def wear(r):
    machines = [OSP, STLB]
    return Figure("wear", PARTS["wear"],
                  [bars(f"{SPREADS[ZIPF]}", "writes of the line that is written most",
                        [line(m, [(WORKS[w], lambda w=w, m=m: r.main(w, ZIPF, m)["wear"]["worst"])
                                  for w in WORKS]) for m in machines + [BASELINE]],
                        y_log=True),
                   bars(f"{SPREADS[ZIPF]}", "lines that were written",
                        [line(m, [(WORKS[w], lambda w=w, m=m: r.main(w, ZIPF, m)["wear"]["lines"])
                                  for w in WORKS]) for m in machines + [BASELINE]],
                        y_log=True)], caption(r, "main_sps"),
                  "The journal and the log are rings of 1,024 lines.")


def speed(r):
    rows = r.entry("speed")["output"]["speed"]
    lines = [Series(m, [f"{one['work']} {one['spread']}" for one in rows if one["machine"] == m],
                    [one["accesses a second"] for one in rows if one["machine"] == m])
             for m in (OSP, STLB)]
    online = r.entry("speed")["output"].get("slowdown", [])
    slower = [Series(m, [f"{one['work']} {one['spread']}" for one in online
                         if one["machine"] == m],
                     [one["times slower"] for one in online if one["machine"] == m])
              for m in (OSP, STLB)]
    return Figure("speed", PARTS["speed"],
                  [bars("accesses replayed from memory, processor time", "accesses a second",
                        lines),
                   bars("structures simulated while they run, processor time",
                        "times slower than alone", slower)], caption(r, "speed"))


MAKERS = {"4a": against_undo, "4b": by_source, "1": misses, "baselines": baselines, "time": time,
          "energy": energy, "tlb": tlb, "transaction": transaction, "lazy": lazy,
          "commit": commit, "cores": cores, "speculation": speculation, "wear": wear,
          "speed": speed}


def figures(results):
    """What can be drawn, and of what cannot, why."""
    drawn, missing = [], []
    for number, make in MAKERS.items():
        try:
            drawn.append(make(results))
        except NotMeasured as why:
            missing.append(f"Part {number}: {why}.")
    return drawn, missing
