"""A soak of the durable memcached: all rows under load, turn by turn, for the time asked for.

After each slice of load the server's own memory, what its file and journal take, and its cuts are
noted. The verdict is good if memory and files are flat: the median of the last fifth of the time is
at most a tenth and 8 MiB above that of the second fifth (the first fills caches and logs).
"""

import glob
import json
import os
import statistics
import tempfile
import time

from server import durable_numbers
from speed import Contender, durable_contenders

SLICE = 2
ROWS = ("shm", "file", "pages", "graph-elided")
SLACK_SHARE, SLACK_BYTES = 0.1, 8 << 20


def own_memory(pid):
    """Bytes of the process that are no file's."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    return 0


def file_bytes(path):
    """What the group's file and the files beside it (its journal) take of the disk."""
    total = 0
    for name in glob.glob(path + "*"):
        total += os.stat(name).st_blocks * 512
    return total


class Soaked:
    """A server, and what was noted of it."""

    def __init__(self, contender: Contender):
        self.contender, self.samples = contender, []

    def load(self, seed):
        """A slice of load."""
        self.contender.load("mix" if seed % 2 else "set", SLICE, seed)
        self.contender.server.check_alive()
        numbers = durable_numbers(self.contender.stream)
        self.samples.append({
            "memory": own_memory(self.contender.server.process.pid),
            "file": file_bytes(self.contender.file),
            "cuts": numbers["cuts"] + numbers["kept"]})

    def growth(self, what):
        """(early, late) medians of a sampled number."""
        fifth = max(1, len(self.samples) // 5)
        values = [sample[what] for sample in self.samples]
        return statistics.median(values[fifth:2 * fifth]), statistics.median(values[-fifth:])

    def judge(self):
        """What is wrong; an empty list: nothing is."""
        found = []
        for what in ("memory", "file"):
            early, late = self.growth(what)
            if late > early * (1 + SLACK_SHARE) + SLACK_BYTES:
                found.append(f"{what} grew from {early / 2**20:.0f} to {late / 2**20:.0f} MiB")
        early, late = self.growth("cuts")
        if late <= early:
            found.append("nothing has become durable in the last fifth")
        return found

    def summary(self):
        """For the table and --json."""
        row = {"row": self.contender.name, "slices": len(self.samples)}
        for what in ("memory", "file"):
            row[f"{what}_bytes"] = self.growth(what)
        return {**row, "cuts": self.samples[-1]["cuts"], "wrong": self.judge()}


def run(options, disk):
    """Soaks all servers. Returns their summaries."""
    servers = []
    try:
        for one in durable_contenders(options, disk):
            servers.append(one)
            one.load("fill", 0, 0)
        soaked = [Soaked(one) for one in servers]
        until = time.monotonic() + 60 * options.soak
        seed = 0
        while time.monotonic() < until or seed < 10:
            for one in soaked:
                one.load(seed)
            seed += 1
        return [one.summary() for one in soaked]
    finally:
        for one in servers:
            one.server.kill()


def soak(options):
    """Prints a line for each row, then the verdict. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="holdfast.memcached.", dir="/dev/shm") as place, \
            tempfile.TemporaryDirectory(prefix="holdfast.memcached.", dir=options.disk) as disk:
        options.place = place
        rows = run(options, disk)
    for row in rows:
        memory, file = ([f"{value / 2**20:.1f}" for value in row[f"{what}_bytes"]]
                        for what in ("memory", "file"))
        print(f"{row['row']}: {row['slices']} slices of {SLICE} s; memory {memory[0]} then "
              f"{memory[1]} MiB; file and journal {file[0]} then {file[1]} MiB; {row['cuts']} cuts "
              f"or kept sections{''.join('; ' + wrong for wrong in row['wrong'])}")
    bad = [row["row"] for row in rows if row["wrong"]]
    print("verdict: " + ("memory and logs are flat in every row" if not bad
                         else f"FAILED in {', '.join(bad)}"))
    if options.json:
        print(json.dumps({"good": not bad, "rows": rows}))
    return 1 if bad else 0
