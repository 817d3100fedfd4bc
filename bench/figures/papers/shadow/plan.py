"""What is run for which table or figure: a run of `holdfast bench shadow` each."""

from measure import Measurement

WORKS = {"sps": "SPS", "ht": "HT", "rbt": "RBT", "bt": "BT"}
UNIFORM, ZIPF = "uniform", "zipf:0.99"
ORDERED, STEEP = "zipf:0.99:ordered", "zipf:1.5:ordered"
SPREADS = {UNIFORM: "uni", ZIPF: "zipf .99", ORDERED: "zipf .99, hot keys neighbours",
           STEEP: "zipf 1.5, hot keys neighbours"}

OSP, STLB, BACKGROUND = "osp", "osp-stlb", "stlb-background"
RECORD_16, SUPER, SUPER_STLB, AT_MISS = "record-16", "super-page", "super-page-stlb", \
    "insert-at-miss"
IMMEDIATELY = "immediately"
TLBS = {"tlb-16": 16, "tlb-32": 32, "osp": 64, "tlb-128": 128, "tlb-252": 252}
LAZY = {"lazy-1k": 1024, "lazy-4k": 4096, "lazy-8k": 8192, "lazy-16k": 16384}

# An undo log as programs write it: each record, with its address, is durable before its store.
BASELINE = "undo-line-1"
LOGS = {
    "undo-line-1": "undo: a record of 80 bytes a line, packed, each durable by itself",
    "undo-line-aligned-1": "undo: the same, each record begins a line",
    "undo-line-batched-1": "undo: the same, packed, all durable at once",
    "undo-line-headless-0": "undo: a record of one line a line, no marker",
    "undo-line-headless-1": "undo: the same, the commit is marked",
    "undo-line-headless-2": "undo: the same, begin and commit are marked",
    "undo-store-1": "undo: a record of 24 bytes a store, packed, each durable by itself",
    "undo-store-aligned-1": "undo: the same, each record begins a line",
    "undo-store-batched-1": "undo: the same, packed, all durable at once",
    "redo-line-1": "redo: a record of 80 bytes a line",
    "redo-store-1": "redo: a record of 24 bytes a store",
}
AT_ONCE = [1, 4, 16]
CORES = [1, 2, 4]

PARTS = {
    "4a": "Flushes against an undo log",
    "4b": "Flushes of shadow paging by their source",
    "1": "Misses of the last TLB, of all loads",
    "baselines": "The baseline decides: every log against shadow paging",
    "time": "Time of a transaction in a simple core",
    "energy": "Energy of the writes and reads of the medium",
    "tlb": "Sensitivity: entries of the last TLB",
    "transaction": "Sensitivity: operations a transaction, and the B-tree's node size",
    "lazy": "Lazy consolidation",
    "commit": "Super pages against the journal, and where table entries are made",
    "cores": "Several cores",
    "speculation": "Rolling back by clearing bits",
    "wear": "Endurance: writes of one line",
    "speed": "The simulator's own speed",
}

SETTINGS = {"bytes": 1_000_000_000, "lazy_bytes": 64_000_000, "transactions": 100_000,
            "warm_up": 100_000, "seed": 1}
SHORT = {"bytes": 400_000, "lazy_bytes": 400_000, "transactions": 300, "warm_up": 100}
MEANINGS = {
    "bytes": "of each structure",
    "lazy_bytes": "of the B-tree whose pages are consolidated lazily",
    "transactions": "that are counted of each point",
    "warm_up": "transactions before them",
    "seed": "of structures and keys",
}

MAIN = ("4a", "4b", "1", "baselines", "time", "energy", "wear")


def runs():
    """(name, parts, works, options beside the settings)."""
    main = {"--spreads": ",".join(SPREADS), "--machines": ",".join([OSP, STLB, BACKGROUND])}
    return [
        *[(f"main_{work}", MAIN, work, main) for work in WORKS],
        ("nodes", ("4b", "transaction"), "bt",
         {"--node": 4096, "--spreads": f"{UNIFORM},{STEEP}", "--at-once": "1,4,16",
          "--machines": f"{OSP},{STLB}"}),
        ("at_once", ("transaction",), "ht,bt",
         {"--spreads": f"{UNIFORM},{ZIPF}", "--at-once": "4,16", "--machines": f"{OSP},{STLB}"}),
        ("tlb", ("tlb",), "ht,bt",
         {"--spreads": ZIPF, "--machines": ",".join([*TLBS, STLB])}),
        ("lazy", ("lazy",), "bt",
         {"--spreads": UNIFORM, "--machines": ",".join([STLB, IMMEDIATELY, *LAZY])}),
        ("commit", ("commit",), "ht,bt",
         {"--spreads": ZIPF,
          "--machines": ",".join([OSP, STLB, RECORD_16, SUPER, SUPER_STLB, AT_MISS])}),
        ("cores", ("cores",), "ht,bt",
         {"--spreads": f"{UNIFORM},{ZIPF}", "--cores": "1,2,4", "--machines": STLB}),
        ("aborts", ("speculation",), "none", {"--aborts": 100, "--machines": f"{OSP},{STLB}"}),
        ("speed", ("speed",), "none",
         {"--speed": None, "--spreads": f"{UNIFORM},{ZIPF}", "--machines": f"{OSP},{STLB}"}),
    ]


def seconds(settings, works, how):
    """Roughly: an access of a machine takes 60 ns, an operation has about 80."""
    made = 0 if works == "none" else works.count(",") + 1
    machines = how["--machines"].count(",") + 2
    points = max(1, made) * (how.get("--spreads", "").count(",") + 1)
    operations = 10 * points if how.get("--at-once") else points
    return (made * settings["bytes"] * 2e-8
            + operations * machines * 80 * 60e-9 * (settings["transactions"] + settings["warm_up"]))


def measurements(settings):
    found = []
    for name, parts, works, how in runs():
        given = {"--works": works,
                 "--bytes": settings["lazy_bytes" if name in ("lazy", "aborts") else "bytes"],
                 "--transactions": settings["transactions"], "--warm-up": settings["warm_up"],
                 "--seed": settings["seed"], **how}
        arguments = ["bench", "shadow"]
        for option, value in given.items():
            arguments += [option] if value is None else [option, str(value)]
        found.append(Measurement(name, tuple(arguments), parts, seconds(settings, works, how)))
    return found
