"""The runs that each figure needs: a run of `holdfast bench sections` a workload."""

from measure import Measurement

WORKS = {"dedup": "dedup", "bank": "bank", "queue": "queue", "cache": "cache", "avl": "AVL tree"}
ORIGINAL, GRAPH, UNFLUSHED, ELIDED = "original", "graph", "graph-unflushed", "graph-elided"
HOOKS, PAGES, MSYNC = "hooks", "pages", "msync"
ROWS = {
    ORIGINAL: "original",
    GRAPH: "graph mode, flushed (nvram)",
    UNFLUSHED: "graph mode, no flush (nvram noflush)",
    ELIDED: "the same, elided (nvram noflush opt)",
    HOOKS: "epoch mode, hooks",
    PAGES: "epoch mode, pages",
}
SYNCED = "mmap and msync on a disk"
THREADS = [1, 2, 4]

PARTS = {
    "4": "Time of dedup for each number of threads",
    "small": "Time of small programs, against the original",
    "counts": "Stores and sections of the programs, and log entries of graph mode",
    "persistence": "Flushes and fences a section",
    "disk": "Against mmap and msync on a disk",
}
SETTINGS = {"operations": 200_000, "megabytes": 64, "repetitions": 5}
SHORT = {"operations": 2_000, "megabytes": 1, "repetitions": 1}
MEANINGS = {
    "operations": "of each small program, all threads together",
    "megabytes": "of dedup's input",
    "repetitions": "of each point",
}


def measurements(settings):
    found = []
    for work in WORKS:
        parts = (("4",) if work == "dedup" else ("small", "disk")) + ("counts", "persistence")
        rows = [*ROWS, *([] if work == "dedup" else [MSYNC])]
        arguments = ("bench", "sections", "--works", work, "--rows", ",".join(rows),
                     "--threads", ",".join(map(str, THREADS)),
                     "--operations", str(settings["operations"]),
                     "--megabytes", str(settings["megabytes"]),
                     "--repetitions", str(settings["repetitions"]))
        size = 0.05 * settings["megabytes"] if work == "dedup" else 4e-6 * settings["operations"]
        found.append(Measurement(work, arguments, parts,
                                 size * len(ROWS) * len(THREADS) * settings["repetitions"]))
    return found
