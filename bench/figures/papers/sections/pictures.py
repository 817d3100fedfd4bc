"""The figures: times, ratios and counts as bars."""

from claims import NotMeasured
from drawing import Figure, Panel, series

from .plan import (GRAPH, HOOKS, MSYNC, ORIGINAL, PAGES, PARTS, ROWS, SYNCED, THREADS, UNFLUSHED,
                   WORKS)
from .results import exactly
from .setting import caption

SMALL = [work for work in WORKS if work != "dedup"]


def bars(title, y_label, lines, **how):
    """Of (name, [(x, estimate function)]) pairs; what was not measured is left out."""
    found = []
    for name, points in lines:
        known = []
        for x, value in points:
            try:
                known.append((x, value()))
            except NotMeasured:
                pass
        if known:
            found.append(series(name, known))
    if not found:
        raise NotMeasured(f"nothing was measured of '{title}'")
    return Panel(title, "", y_label, found, kind="bars", **how)


def threads_of(t):
    return f"{t} thread" if t == 1 else f"{t} threads"


def figure_4(r):
    panels = [
        bars("dedup", "seconds", [(ROWS[row], [(threads_of(t), lambda t=t, row=row: r.seconds(
            "dedup", row, t)) for t in THREADS]) for row in ROWS]),
        bars("dedup, against the original", "times the original's time",
             [(ROWS[row], [(threads_of(t), lambda t=t, row=row: r.by("dedup", row, t))
                           for t in THREADS]) for row in ROWS if row != ORIGINAL]),
    ]
    return Figure("4", PARTS["4"], panels, caption(r, "dedup"))


def small(r):
    panels = [bars(threads_of(t), "times the original's time",
                   [(ROWS[row], [(WORKS[w], lambda t=t, w=w, row=row: r.by(w, row, t))
                                 for w in SMALL]) for row in ROWS if row != ORIGINAL], y_log=True)
              for t in THREADS]
    return Figure("small", PARTS["small"], panels, caption(r, SMALL[0]),
                  "These programs only take locks and store, so the cost of a section weighs more "
                  "in them than in a real program.")


def counts(r):
    kinds = {"stores": "stores", "stores inside": "of these inside sections",
             "sections": "outermost sections", "inner sections": "inner sections"}
    lines = [(text, [(WORKS[w], lambda w=w, k=kind: exactly(r.counts(w, 4)[k])) for w in WORKS])
             for kind, text in kinds.items()]
    lines.append(("log entries, graph mode", [
        (WORKS[w], lambda w=w: exactly(r.row(w, UNFLUSHED, 4)["entries"])) for w in WORKS]))
    return Figure("counts", PARTS["counts"], [bars("four threads", "how many", lines, y_log=True)],
                  caption(r, next(iter(WORKS))))


def persistence(r):
    panels = [bars(f"{ROWS[row]}, four threads", "a section", [
        (field, [(WORKS[w], lambda w=w, f=field, row=row: exactly(r.a_section(w, row, 4, f)))
                 for w in WORKS]) for field in ("flushes", "fences")])
        for row in (GRAPH, HOOKS, PAGES)]
    return Figure("persistence", PARTS["persistence"], panels, caption(r, next(iter(WORKS))))


def disk(r):
    lines = [(f"{SYNCED}, against {ROWS[row]}", [
        (WORKS[w], lambda w=w, row=row: r.by(w, MSYNC, 1, row)) for w in SMALL])
        for row in (HOOKS, GRAPH)]
    return Figure("disk", PARTS["disk"],
                  [bars("one thread", "times as long an operation", lines, y_log=True)],
                  caption(r, SMALL[0]))


def figures(r):
    made, missing = [], []
    for part, make in (("4", figure_4), ("small", small), ("counts", counts),
                       ("persistence", persistence), ("disk", disk)):
        try:
            made.append(make(r))
        except NotMeasured as why:
            missing.append(f"Figure {part}: {why}")
    return made, missing
