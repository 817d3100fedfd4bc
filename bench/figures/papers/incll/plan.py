"""What is run for which figure. All that is compared with each other is one run of the program,
where the trees take turns; only trees of different sizes are runs of their own."""

from measure import Measurement
from words import short_number

MT, MT_PLUS, LOGGING, INCLL = "malloc", "transient", "logged", "incll"
LABELS = {MT: "MT", MT_PLUS: "MT+", LOGGING: "LOGGING", INCLL: "INCLL"}
WORKLOADS = ["A", "B", "C", "E"]
DISTRIBUTIONS = ["uniform", "zipfian"]

PARTS = {
    "2": "Throughput of MT, MT+ and INCLL under each workload",
    "3": "INCLL under emulated latency of the memory",
    "4": "MT+ and INCLL by the number of threads",
    "5": "MT+ and INCLL by the size of the tree",
    "6": "Overhead of INCLL over MT+ by the size of the tree",
    "7": "Nodes logged externally by LOGGING and INCLL",
    "8": "LOGGING and INCLL under emulated latency of the memory",
    "6.1": "In-cache-line logs for internal nodes",
    "6.2": "Cost of the global flush",
    "6.3": "Recovery time",
}

SETTINGS = {"records": 20_000_000, "smallest": 10_000, "largest": 100_000_000,
            "operations": 1_000_000, "repetitions": 5, "cores": 0, "recovery": 2_000_000,
            "entries": 84_000, "seed": 1}
SHORT = {"records": 3_000, "smallest": 1_000, "largest": 10_000, "operations": 1_000,
         "repetitions": 3, "recovery": 4_000, "entries": 100}
MEANINGS = {
    "records": "in the trees of figures 2, 3, 4 and 8",
    "smallest": "records in the smallest tree of figures 5 to 7",
    "largest": "records in the greatest one; where memory does not suffice, it is left out",
    "operations": "of a thread in a repetition; four times as many in trees of up to 1M records",
    "repetitions": "of each point",
    "cores": "threads that work at once but in figure 4; 0: one a core",
    "recovery": "records in the tree that is recovered (section 6.3)",
    "entries": "of the external log that it is recovered from",
    "seed": "of the operations",
}

LATENCIES = [0, 100, 200, 400, 700, 1000]
SIZES = [factor * 10 ** power for power in range(3, 7) for factor in (1, 3)] + [10_000_000]
SMALL_TREE = 1_000_000
# Three trees of this size still fit into 24 GiB; of greater ones MT+ and INCLL are measured.
MOST_FOR_THREE = 50_000_000


def sizes(settings):
    """1 and 3 of the powers of ten up to 10M, the ends, and the size that other figures have."""
    least, most = settings["smallest"], settings["largest"]
    inner = {size for size in SIZES if least <= size <= most}
    inner |= {size for size in (settings["records"],) if least <= size <= most}
    return sorted(inner | {least, most})


def thread_counts(settings):
    """Powers of two up to the cores, and twice and four times as many threads as these."""
    cores = settings["cores"]
    return sorted({2 ** n for n in range(cores.bit_length()) if 2 ** n < cores}
                  | {cores, 2 * cores, 4 * cores})


def seconds(trees, records, operations, runs):
    """Roughly, on two cores: to load, and to draw and run operations with a warm-up of an
    eighth."""
    speed = 4e6 if records <= SMALL_TREE else 2e6
    return trees * records / speed + runs * 1.125 * operations * (1 / speed + 1 / 20e6)


def ycsb(settings, name, parts, trees, options, records=0, threads=(), latencies=(0,)):
    records = records or settings["records"]
    threads = threads or (settings["cores"],)
    operations = settings["operations"] * (4 if records <= SMALL_TREE else 1)
    workloads = options.get("workloads", ["A"])
    given = {
        "--workloads": ",".join(workloads),
        "--compare": ",".join(trees),
        "--records": records,
        "--operations": operations,
        "--threads": ",".join(map(str, threads)),
        "--latency": ",".join(map(str, latencies)),
        "--repetitions": settings["repetitions"],
        "--seed": settings["seed"],
    }
    arguments = ["bench", "ycsb"]
    for option, value in given.items():
        arguments += [option, str(value)]
    cells = len(workloads) * len(DISTRIBUTIONS) * len(latencies) * len(trees)
    runs = cells * settings["repetitions"]
    return Measurement(name, tuple(arguments), parts,
                       seconds(len(trees), records, operations * sum(threads), runs))


def size_name(records):
    return f"size_{short_number(records)}".lower()


def measurements(settings):
    """Small ones first: what is wrong shows soon."""
    found = [Measurement("recovery", (
        "bench", "recovery", "--records", str(settings["recovery"]), "--log-entries",
        str(settings["entries"]), "--repetitions", str(settings["repetitions"]), "--seed",
        str(settings["seed"])), ("6.3",), 3 + settings["recovery"] / 0.5e6)]
    for records in sizes(settings):
        trees = [MT_PLUS, INCLL] + ([LOGGING] if records <= MOST_FOR_THREE else [])
        found.append(ycsb(settings, size_name(records), ("5", "6", "7"), trees, {}, records))
    found.append(ycsb(settings, "workloads", ("2", "6.2"), [MT_PLUS, INCLL, MT],
                      {"workloads": WORKLOADS}))
    found.append(ycsb(settings, "latency", ("3", "8"), [INCLL, LOGGING], {}, latencies=LATENCIES))
    found.append(ycsb(settings, "threads", ("4",), [MT_PLUS, INCLL], {},
                      threads=thread_counts(settings)))
    return found
