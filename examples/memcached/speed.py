"""The durable memcached beside the original, all servers at once, taking turns slice by slice.

Besides the rows of the demonstration there are `graph`, `graph-unflushed` and `graph-elided`: graph
mode in memory, as the paper's figure 4 has it.

A row is a way to run the durable server; its slices follow slices of the original directly, so that
whatever else the machine does meets both. Printed are medians over pairs of slices: operations a
second of both, their ratio (how many times slower), the ratio of the server's own processor time an
operation, the pauses of the cuts that the server made under that load, and the longest time
between two.
"""

import glob
import json
import os
import statistics
import subprocess
import tempfile

from server import Server, durable_numbers, free_port

CONNECTIONS, DEPTH, VALUE = 4, 16, 100
WORKLOADS = ("set", "mix")  # mix: nine gets to a set
GRAPH_ROWS = {"graph": "flushed", "graph-unflushed": "unflushed", "graph-elided": "elided"}
SLICE = 0.7


def processor_seconds(pid):
    """Of all threads of the process."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


class Contender:
    """A running server, filled with items."""

    def __init__(self, name, options, environment, program):
        self.name, self.options = name, options
        self.file = environment.get("MEMCACHED_DURABLE")
        self.server = Server(os.path.join(options.build, program), free_port(), environment,
                             os.path.join(options.place, name + ".log"), ["-t", "4"])
        self.stream = self.server.connect()

    def load(self, operation, seconds, seed):
        """Operations a second, and the server's processor seconds an operation."""
        before = processor_seconds(self.server.process.pid)
        done = subprocess.run(
            [os.path.join(self.options.build, "load"), str(self.server.port), operation,
             str(CONNECTIONS), str(DEPTH), str(seconds), str(VALUE), str(self.options.items),
             str(seed)], check=True, capture_output=True, text=True)
        operations, took = done.stdout.split()
        used = processor_seconds(self.server.process.pid) - before
        return int(operations) / float(took), used / int(operations)


def durable_contenders(options, disk):
    """The durable servers of the chosen rows, each started when it is asked for."""
    for row in options.rows:
        parent = disk if row in ("file", "pages") else options.place
        environment = {"MEMCACHED_DURABLE": os.path.join(parent, row + ".hf")}
        if row in GRAPH_ROWS:
            environment["MEMCACHED_DURABLE_FIGURE"] = GRAPH_ROWS[row]
        yield Contender(row, options, environment,
                        "memcached-pages" if row == "pages" else "memcached")


def one_pair(original, durable, workload, seed):
    """(operations a second of both, ratio of time, ratio of processor time)"""
    base, base_cpu = original.load(workload, SLICE, seed)
    mine, mine_cpu = durable.load(workload, SLICE, seed)
    return base, mine, base / mine, mine_cpu / base_cpu


def measure(original, durable, options):
    """A row's results, one for each workload."""
    for workload in WORKLOADS:
        before = durable_numbers(durable.stream)  # pauses and longest times begin anew
        pairs = max(3, round(options.seconds / (2 * SLICE)))
        measured = [one_pair(original, durable, workload, seed) for seed in range(pairs)]
        base, mine, ratio, cpu = (statistics.median(m[i] for m in measured) for i in range(4))
        numbers = durable_numbers(durable.stream)
        yield {"row": durable.name, "workload": workload, "original_per_s": round(base),
               "durable_per_s": round(mine), "times": round(ratio, 3), "cpu_times": round(cpu, 3),
               "pause_us_p50": numbers["pause_p50_us"], "pause_us_p99": numbers["pause_p99_us"],
               "pause_us_max": numbers["longest_pause_us"],
               "between_us_max": numbers["longest_between_us"],
               "cuts": numbers["cuts"] - before["cuts"],
               "failed_cuts": numbers["failed_cuts"] - before["failed_cuts"],
               "log_waits": numbers["log_waits"] - before["log_waits"]}


def print_row(result):
    """One line of the table."""
    print(f"{result['row']:>15} {result['workload']:>4} {result['original_per_s']:>10} "
          f"{result['durable_per_s']:>10} {result['times']:>6.2f} {result['cpu_times']:>9.2f} "
          f"{result['pause_us_p50'] / 1000:>10.2f} {result['pause_us_p99'] / 1000:>6.2f} "
          f"{result['pause_us_max'] / 1000:>6.1f} {result['between_us_max'] / 1000:>10.0f} "
          f"{result['cuts']:>6} {result['failed_cuts']:>7}", flush=True)


def compare(options):
    """Prints the table. Returns the exit status."""
    results, servers = [], []
    with tempfile.TemporaryDirectory(prefix="holdfast.memcached.", dir="/dev/shm") as place, \
            tempfile.TemporaryDirectory(prefix="holdfast.memcached.", dir=options.disk) as disk:
        options.place = place
        try:
            servers.append(Contender("original", options, {}, "memcached-original"))
            for contender in durable_contenders(options, disk):
                servers.append(contender)
            for contender in servers:
                contender.load("fill", 0, 0)
            print(f"{options.items} items, values of {VALUE} bytes, {CONNECTIONS} connections, "
                  f"{DEPTH} requests at once; medians of pairs of slices of {SLICE} s")
            print("            row load original/s  durable/s  times cpu times  pause p50    p99"
                  "    max ms between ms   cuts  failed")
            for durable in servers[1:]:
                for result in measure(servers[0], durable, options):
                    results.append(result)
                    print_row(result)
        finally:
            for contender in servers:
                contender.server.kill()
    if options.json:
        print(json.dumps({"rows": results}))
    return 0
