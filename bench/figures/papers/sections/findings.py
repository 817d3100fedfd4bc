"""The claims of the paper's section 3 and figure 4, each with what it is held against; then the
targets that this project set itself. The limits are the paper's where the text says so."""

from claims import all_of, at_least, at_most, judge, not_measurable
from words import percent, with_quartiles

from .plan import ELIDED, GRAPH, HOOKS, MSYNC, ORIGINAL, ROWS, THREADS, UNFLUSHED, WORKS
from .results import exactly

DURABLE, NO_FLUSH, OPTIMISED = 1.63, 1.46, 1.33   # dedup, four threads
ENTRIES_A_STORE = 1_400_000 / 900_000
STORES_A_SECTION = 900_000 / 260_000
INSIDE = 857_000 / 900_000


def times(value):
    return f"{value:.2f} times"


def of_dedup(r):
    def slower(row, limit):
        def held():
            found = r.by("dedup", row, 4)
            return at_most(found, limit), with_quartiles(found, times)
        return held

    def order():
        steps = [(GRAPH, UNFLUSHED), (UNFLUSHED, ELIDED)]
        found = {(a, b): r.by("dedup", b, 4, a) for a, b in steps}
        return (all_of(at_most(one, 1.0) for one in found.values()),
                "; ".join(f"'{ROWS[b]}' takes {with_quartiles(one, times)} of '{ROWS[a]}'"
                          for (a, b), one in found.items()))

    def scales():
        ours, original = (r.speedup("dedup", row, 2) for row in (GRAPH, ORIGINAL))
        return (at_least(ours, 0.9 * original.middle),
                f"two threads: {with_quartiles(ours, times)} as fast as one; the original "
                f"{with_quartiles(original, times)}")

    return [
        judge("4", "dedup, four threads: the durable version is 63% slower",
              f"at most {DURABLE} times the original's time", slower(GRAPH, DURABLE)),
        judge("4", "46% without cache flushes", f"at most {NO_FLUSH} times",
              slower(UNFLUSHED, NO_FLUSH)),
        judge("4", "33% where stores outside of sections need not be logged",
              f"at most {OPTIMISED} times", slower(ELIDED, OPTIMISED)),
        judge("4", "leaving out flushes saves time, and eliding log entries saves more",
              "each row takes at most the time of the one before", order),
        judge("4", "in spite of the overheads dedup continues to scale",
              "from one thread to two, at least 90% of the original's gain", scales),
    ]


def of_counts(r):
    def inside():
        n = r.counts("dedup", 4)
        found = n["stores inside"] / max(1, n["stores"])
        return at_least(exactly(found), INSIDE), f"{percent(found)} of {n['stores']} stores"

    def nested():
        n = r.counts("dedup", 4)
        return (at_least(exactly(n["inner sections"]), 1),
                f"{n['sections']} outermost sections, {n['inner sections']} inner ones")

    def entries():
        n, row = r.counts("dedup", 4), r.row("dedup", UNFLUSHED, 4)
        found = row["entries"] / max(1, n["stores"])
        return (at_most(exactly(found), ENTRIES_A_STORE),
                f"{found:.2f}: {row['entries']} entries for {n['stores']} stores. Each of the "
                f"{row['sections']} sections logs its begin and its end besides its stores, and "
                f"has {n['stores'] / max(1, row['sections']):.1f} stores on average; in the "
                f"paper's run a section had {STORES_A_SECTION:.1f}")

    return [
        judge("counts", "dedup: 857 K of 900 K stores are inside sections",
              f"at least {percent(INSIDE)}", inside),
        judge("counts", "dedup has outermost and inner critical sections (260 K and 4 K)",
              "both are there", nested),
        judge("counts", "dedup: 1.4 M log entries for 900 K stores",
              f"at most {ENTRIES_A_STORE:.2f} entries a store, without elision", entries),
    ]


def of_targets(r):
    def epoch():
        found = r.by("dedup", HOOKS, 4)
        return at_most(found, 1.10), with_quartiles(found, times)

    def fences():
        found = {f"{WORKS[w]}, {t} threads": r.a_section(w, HOOKS, t, "fences")
                 for w in WORKS for t in THREADS}
        most = max(found, key=found.get)
        return at_most(exactly(found[most]), 0.01), f"most: {found[most]:.4f} ({most})"

    return [
        judge("4", "(this project's target) dedup, four threads, epoch mode",
              "at most 1.10 times the original's time", epoch),
        judge("persistence", "(this project's target) epoch mode fences at cuts only",
              "at most one fence in 100 sections", fences),
    ]


def of_disk(r):
    def faster():
        found = {work: r.by(work, MSYNC, 1, HOOKS) for work in WORKS if work != "dedup"}
        return (all_of(at_least(one, 100) for one in found.values()),
                "; ".join(f"{WORKS[work]} {with_quartiles(one, times)}"
                          for work, one in found.items()))

    return [
        judge("disk", "2 to 3 orders of magnitude faster than persisting on disks by mmap",
              "one thread, epoch mode by hooks: at least 100 times as fast as an msync() at the "
              "end of each section", faster),
    ]


def claims(r):
    return [
        *of_dedup(r), *of_counts(r), *of_targets(r), *of_disk(r),
        not_measurable("4", "memcached: 3.2 times the original's time, 2.2 without flushes, 1.6 "
                       "with elision", "memcached has a demonstration of its own"),
    ]
