"""What is run for which table or figure: a run of `holdfast bench layers` each."""

from measure import Measurement

DRAM, STTM, PCM, DISK = "dram", "sttm", "pcm", "disk"
BASE, SAFE, TX, C_TX, NODUR, UNDO = "base", "safe", "tx", "c-tx", "nodur", "c-tx undo"
BDB, LAZY_BDB, LMDB, PMEMOBJ, MALLOC = "bdb", "bdb fast", "lmdb", "libpmemobj", "malloc"
WORKS = ["SPS", "SixDegs", "BTree", "HashTable", "RBTree", "SSCA"]
SWAPS = [1, 4, 16, 64, 256]

# A layer with its storage, or a peer.
LABELS = {
    (BASE, DRAM): "BASE", (SAFE, DRAM): "SAFE", (TX, DRAM): "TX", (C_TX, DRAM): "C-TX",
    (C_TX, STTM): "C-TX STTM", (C_TX, PCM): "C-TX PCM", (C_TX, DISK): "C-TX disk",
    (UNDO, DRAM): "C-TX undo log", (UNDO, STTM): "undo log STTM", (UNDO, PCM): "undo log PCM",
    (NODUR, DRAM): "NoDur", (BDB, DRAM): "BDB tmpfs", (BDB, DISK): "BDB disk",
    (LMDB, DRAM): "LMDB tmpfs", (LMDB, DISK): "LMDB disk", (PMEMOBJ, DRAM): "libpmemobj",
    (LAZY_BDB, DRAM): "BDB Fast", (MALLOC, DRAM): "malloc'ed table",
}

PARTS = {
    "1": "Basic operation latency",
    "4": "Throughput by the size of a transaction",
    "5": "Durability and the latency of the memory",
    "6": "The price of safety: layer by layer",
    "7": "Comparison with other persistent stores",
    "8": "Memcached's load",
}

SETTINGS = {"elements": 1_000_000, "items": 100_000, "vertices": 10_000, "graph": 1_024,
            "operations": 100_000, "round": 150, "repetitions": 5, "cores": 0, "seed": 1}
SHORT = {"elements": 500, "items": 100, "vertices": 100, "graph": 32, "operations": 500,
         "round": 2, "repetitions": 3}
MEANINGS = {
    "elements": "of arrays and maps",
    "items": "of the cache",
    "vertices": "of SixDegs' graph",
    "graph": "vertices of SSCA's graph",
    "operations": "of each row of table 1, a repetition",
    "round": "milliseconds of a repetition",
    "repetitions": "of each point",
    "cores": "most threads; 0: one a core",
    "seed": "of structures and keys",
}

# (name, parts of the paper, part of the bench, zipfian)
RUNS = [("table", ("1",), "table", False), ("sizes", ("4",), "sizes", False),
        ("works", ("5",), "works", False), ("works_zipfian", ("5",), "works", True),
        ("safety", ("6",), "safety", False), ("systems", ("7",), "systems", False),
        ("cache", ("8",), "cache", False), ("cache_zipfian", ("8",), "cache", True)]


def doublings(cores):
    return [2 ** n for n in range(cores.bit_length())]


def contestants(part, cores):
    """(that make a structure, rounds of one repetition), roughly."""
    steps = len(doublings(cores))
    return {"table": (0, 0), "sizes": (10, 10 * cores), "works": (30, 30 * steps),
            "safety": (24, 18 + 6 * steps), "systems": (20, 20), "cache": (7, 7)}[part]


def seconds(settings, part):
    if part == "table":
        return settings["repetitions"] * (1 + 130 * settings["operations"] * 0.6e-6)
    made, rounds = contestants(part, settings["cores"])
    making = {"cache": 1e-6 * settings["items"] * 5, "systems": 8e-6 * settings["elements"]}
    return (made * making.get(part, 0.7e-6 * settings["elements"] + 0.1)
            + rounds * settings["round"] / 1e3 * (settings["repetitions"] + 0.5))


def measurements(settings):
    found = []
    for name, parts, part, is_zipfian in RUNS:
        given = {"--parts": part, "--elements": settings["elements"], "--items": settings["items"],
                 "--vertices": settings["vertices"], "--graph": settings["graph"],
                 "--operations": settings["operations"], "--round": settings["round"],
                 "--repetitions": settings["repetitions"], "--threads": settings["cores"],
                 "--seed": settings["seed"], "--disk": "."}
        if part in ("systems", "cache"):
            given["--peers"] = ",".join([PMEMOBJ, BDB, LMDB])
        arguments = ["bench", "layers"]
        for option, value in given.items():
            arguments += [option, str(value)]
        found.append(Measurement(name, tuple(arguments + (["--zipfian"] if is_zipfian else [])),
                                 parts, seconds(settings, part)))
    return found
