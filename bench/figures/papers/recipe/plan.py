"""What is run for which figure. What is compared is one run of `holdfast bench recipe`, where the
stores take turns."""

from measure import Measurement

INDEXES = ["clht", "hot", "art", "bwtree", "masstree"]
ORDERED = INDEXES[1:]
MAP = "map"
PEERS = ["lmdb", "lmdb-sync", "rocksdb", "rocksdb-sync", "pmemobj"]
NAMES = {"clht": "P-CLHT", "hot": "P-HOT", "art": "P-ART", "bwtree": "P-BwTree",
         "masstree": "P-Masstree"}
LABELS = {**{f"{index}-eager": name for index, name in NAMES.items()}, MAP: "hf::map (64 ms)",
          "lmdb": "LMDB (64 ms)", "lmdb-sync": "LMDB (synced)", "rocksdb": "RocksDB (64 ms)",
          "rocksdb-sync": "RocksDB (synced)", "pmemobj": "libpmemobj"}
DISTRIBUTIONS = ["uniform", "zipfian"]
KEYS = ["integer", "string"]
YCSB = ["load", "A", "B", "C", "D", "E", "F"]

PARTS = {
    "1": "YCSB, integer keys",
    "2": "YCSB, string keys of 24 bytes",
    "3": "Inserts and updates, hits and misses",
    "4": "Lines flushed and fences an operation",
    "5": "What durability with every operation costs",
    "6": "What a second thread brings",
    "7": "Beside the originals and indexes made by hand",
    "8": "Many keys, beside the originals",
    "9": "Beside other stores",
    "3.1": "Cache misses",
}

SETTINGS = {"records": 1_000_000, "many": 10_000_000, "many_operations": 4_000_000,
            "peer_records": 250_000, "repetitions": 3, "many_repetitions": 2,
            "peer_repetitions": 3, "cores": 0, "seed": 1}
SHORT = {"records": 2_000, "many": 4_000, "many_operations": 2_000,
         "peer_records": 1_000, "repetitions": 2, "many_repetitions": 2, "peer_repetitions": 2}
MEANINGS = {
    "records": "that are loaded, and operations of a workload",
    "many": "records of figure 8",
    "many_operations": "of a workload there",
    "peer_records": "that figure 9's stores are loaded with, and operations of a workload",
    "repetitions": "of each point of figures 1 to 7",
    "many_repetitions": "of figure 8",
    "peer_repetitions": "of figure 9",
    "cores": "threads, beside one; 0: one a core",
    "seed": "of the operations",
}


def stores(discipline):
    return [f"{index}-{discipline}" for index in INDEXES]


def threads(settings):
    return sorted({1, settings["cores"]})


# Million operations a second of a thread, roughly, for the progress only: loads write most.
SPEED = {"own": 4.0, "peer": 0.4}
MAKING = 0.3  # seconds a million records: a new region, drawing, string keys


def seconds(given, speed):
    lives = (len(given["--stores"].split(",")) * len(given["--keys"].split(","))
             * len(given["--threads"].split(",")) * given["--repetitions"])
    millions = (given["--records"] + given["--operations"]
                * len(given["--workloads"].split(",")) * len(given["--distributions"].split(","))
                ) / 1e6
    return lives * (millions / speed / 2 + MAKING * millions)


def recipe(settings, name, parts, of, speed="own", **other):
    given = {
        "--stores": ",".join(of),
        "--keys": ",".join(other.get("keys", KEYS)),
        "--workloads": ",".join(other["workloads"]),
        "--distributions": ",".join(other.get("spreads", ["uniform"])),
        "--threads": ",".join(map(str, other.get("threads", [settings["cores"]]))),
        "--records": other.get("records", settings["records"]),
        "--operations": other.get("operations", settings["records"]),
        "--repetitions": other.get("repetitions", settings["repetitions"]),
        "--seed": settings["seed"],
    }
    arguments = ["bench", "recipe"]
    for option, value in given.items():
        arguments += [option, str(value)]
    return Measurement(name, tuple(arguments), parts, seconds(given, SPEED[speed]))


def measurements(settings):
    everything = YCSB + ["miss", "A-update", "B-update"]
    own = stores("eager") + [MAP]
    both = [store for index in INDEXES for store in (f"{index}-eager", f"{index}-transient")]
    found = [recipe(settings, f"own_{keys}", parts, own, keys=[keys], workloads=everything,
                    spreads=DISTRIBUTIONS)
             for keys, parts in (("integer", ("1", "3", "4", "7")), ("string", ("2", "4")))]
    found.append(recipe(settings, "price", ("5", "6"), both, keys=["integer"],
                        workloads=["load", "A", "A-update", "C", "E"], threads=threads(settings)))
    found.append(recipe(settings, "many", ("8",), stores("eager"), keys=["integer"],
                        workloads=["load", "A", "C", "E"], records=settings["many"],
                        operations=settings["many_operations"],
                        repetitions=settings["many_repetitions"]))
    found.append(recipe(settings, "peers", ("9",), [*stores("eager"), MAP, *PEERS], "peer",
                        workloads=["load", "A", "C", "E"], records=settings["peer_records"],
                        operations=settings["peer_records"],
                        repetitions=settings["peer_repetitions"]))
    return found
