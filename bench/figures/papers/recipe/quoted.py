"""What others measured: the paper's own code, and indexes made by hand for persistent memory, built
and run on a virtual machine with two cores, memory that is DRAM, and clwb. Million operations a
second by two threads; reads uniform, where scans begin by Zipf's law; A's and B's writes are
inserts: all as in the paper's driver."""

MACHINE = ("the paper's code and that of hand-made indexes, built and run on a machine with two "
           "cores, clwb on DRAM, by two threads: not in turns with what was measured here")

RECORDS = 1_000_000
MANY_RECORDS = 10_000_000
THREADS = 2

ORIGINALS = {
    "clht": {"load": 3.2, "A": 7.9, "B": 46, "C": 58},
    "hot": {"load": 2.3, "A": 3.5, "B": 10.9, "C": 13.1, "E": 3.2},
    "art": {"load": 3.4, "A": 4.3, "B": 6.4, "C": 6.5, "E": 1.1},
    "bwtree": {"load": 2.7, "A": 3.1, "B": 6.5, "C": 7.1, "E": 2.9},
    "masstree": {"load": 3.1, "A": 3.4, "B": 5.5, "C": 6.2, "E": 4.3},
}
ORIGINALS_OF_MANY = {
    "clht": {"load": 4.2, "A": 0.4, "C": 32},
    "hot": {"load": 1.7, "A": 2.3, "C": 7.8, "E": 1.3},
    "art": {"load": 3.6, "A": 2.7, "C": 4.0, "E": 0.6},
    "bwtree": {"load": 1.8, "A": 2.0, "C": 2.8, "E": 1.7},
    "masstree": {"load": 2.0, "A": 2.2, "C": 2.9, "E": 2.1},
}
ORIGINALS_OF_STRINGS = {
    "hot": {"load": 2.3, "A": 3.1, "C": 8.4, "E": 2.6},
    "art": {"load": 2.4, "A": 2.5, "C": 4.1, "E": 0.6},
    "bwtree": {"load": 1.2, "A": 1.0, "C": 1.5, "E": 1.1},
    "masstree": {"load": 2.1, "A": 2.5, "C": 4.2, "E": 1.5},
}
# Made by hand: trees, and hash tables.
HAND_MADE_TREES = {
    "FAST & FAIR": {"load": 1.5, "A": 2.1, "B": 5.9, "C": 7.2, "E": 2.8},
    "uTree": {"load": 3.1, "A": 3.8, "B": 6.6, "C": 6.2, "E": 8.7},
    "ROART": {"load": 1.4, "A": 1.7, "B": 3.7, "C": 4.3, "E": 1.0},
}
HAND_MADE_TABLES = {
    "Level hashing": {"load": 1.5, "A": 5.5, "B": 9.9, "C": 10.5},
    "Dash": {"load": 4.5, "A": 8.6, "B": 20, "C": 20},
}
# Lines flushed and fences of an insert in the paper's code, without a structure change; streamed
# stores are lines, too.
COST_OF_INSERT = {"clht": (2, 2), "hot": (9, 6), "art": (3, 3), "bwtree": (3, 2),
                  "masstree": (2, 2)}
# What this project is to reach, in times of the original's speed.
TARGETS = {
    "clht": {"load": 1.3, "C": 1},
    "hot": {"load": 1.3, "A": 1.2, "C": 1, "E": 1},
    "art": {"load": 1.2, "A": 1.2, "C": 1.2, "E": 2},
    "bwtree": {"load": 1.2, "A": 1.2, "C": 1, "E": 1},
    "masstree": {"load": 1.2, "A": 1.3, "C": 1.3, "E": 1},
}
