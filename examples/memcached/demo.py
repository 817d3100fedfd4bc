#!/usr/bin/env python3
"""Kills the durable memcached under load and compares what it has after a restart.

Loads items into an empty file, updates random ones from two connections while crawlers pass through
the LRU lists, kills the server with SIGKILL and starts it again, three times. After each restart
every version that a durable cut contained must be there, no value may be one that was never stored,
and what came back of a connection's updates must be a prefix of them (ledger.py). Three rows:

  shm    stores found by the plugin's hooks, in place in a file in memory
  file   the same program, its file on a disk; with each kill what was written and not synced is
         taken from the disk as well, as a power cut does (power_cut.c)
  pages  compiled without the plugin: stores are found by pages, the file is on the disk

Exit status: 0 if the verdict is good, 1 if it is not, 2 for wrong arguments, 3 if something is
missing.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import power_cut
import soak
import speed
from ledger import Ledger, value_of
from server import (PIPELINED, Server, ServerError, durable_numbers, expect, free_port,
                    read_values, send_sets)

CONNECTIONS = 2
ROWS = ("shm", "file", "pages")


class Updater(threading.Thread):
    """Updates random keys of its own share until the server is gone."""

    def __init__(self, server, ledger, number):
        super().__init__()
        self.stream = server.connect()
        self.ledger, self.log = ledger, ledger.connections[number]
        self.share = range(number, len(ledger.found), CONNECTIONS)
        self.versions = {}
        self.acknowledged = 0
        self.pauses = []  # of cuts, in microseconds

    def run(self):
        rng = random.Random(self.share.start)
        rounds = 0
        try:
            while True:
                self.send_batch(rng.choices(self.share, k=PIPELINED), rounds % 50 == 0)
                self.read_answers(rounds % 50 == 0)
                rounds += 1
        except (OSError, ValueError, KeyError):
            return  # the server was killed

    def send_batch(self, keys, crawl):
        """Sends an update of each key, then asks which cut has them. `crawl`: and starts crawlers,
        so that the kill finds some in the lists."""
        items = []
        for key in keys:
            version = self.versions.get(key, self.ledger.found[key]) + 1
            self.versions[key] = version
            items.append((key, value_of(key, version)))
        self.log.keys.extend(keys)
        send_sets(self.stream, items)
        if crawl:
            self.stream.write(b"lru_crawler crawl all\r\n")
        self.stream.flush()

    def read_answers(self, crawl):
        """All answers, and the ticket."""
        for _ in range(PIPELINED):
            expect(self.stream, b"STORED\r\n")
        if crawl:
            self.stream.readline()  # OK, or BUSY
        self.acknowledged += PIPELINED
        numbers = durable_numbers(self.stream)
        self.log.tickets.append((self.acknowledged, numbers["ticket"]))
        self.ledger.durable = max(self.ledger.durable, numbers["durable"])
        self.pauses.append(numbers["last_pause_us"])


class Row:
    """One way to run the server, and what is checked of it."""

    def __init__(self, name, options, place):
        self.name, self.options = name, options
        self.file = os.path.join(place, "memcached.hf")
        self.log = os.path.join(place, "server.log")
        self.program = os.path.join(
            options.build, "memcached-pages" if name == "pages" else "memcached")
        self.environment = {"MEMCACHED_DURABLE": self.file}
        self.unsynced = None
        if name == "file":
            self.unsynced = tempfile.mkdtemp(prefix="holdfast.unsynced.", dir="/dev/shm")
            self.environment.update(LD_PRELOAD=options.power_cut, POWER_CUT_FILE=self.file,
                                    POWER_CUT_LOG=self.unsynced, POWER_CUT_SYNC="20000")
        self.ledger = Ledger(options.items)
        self.kills, self.pauses = [], []
        self.server = None

    def start(self):
        """Starts the server. Returns a connection, and the seconds until its first answer."""
        begin = time.monotonic()
        self.server = Server(self.program, free_port(), self.environment, self.log)
        stream = self.server.connect()
        stream.write(b"get k0\r\n")
        stream.flush()
        if stream.readline() != b"END\r\n":
            stream.readline()
            expect(stream, b"END\r\n")
        return stream, time.monotonic() - begin

    def load(self, stream):
        """Stores version 0 of all items and waits until no crash can undo that."""
        for begin in range(0, self.options.items, PIPELINED):
            keys = range(begin, min(begin + PIPELINED, self.options.items))
            send_sets(stream, [(key, value_of(key, 0)) for key in keys])
            stream.flush()
            for _ in keys:
                expect(stream, b"STORED\r\n")
        ticket = durable_numbers(stream)["ticket"]
        until = time.monotonic() + 60
        while durable_numbers(stream)["durable"] < ticket:
            if time.monotonic() > until:
                raise ServerError("no cut of the loaded items has become durable in 60 s")
            time.sleep(0.01)
        for key in range(self.options.items):
            self.ledger.found[key] = 0

    def kill_under_load(self, number):
        """Updates, then the kill. Returns the number of updates that were acknowledged."""
        self.ledger.begin(CONNECTIONS)
        self.ledger.durable = 0
        updaters = [Updater(self.server, self.ledger, i) for i in range(CONNECTIONS)]
        for updater in updaters:
            updater.start()
        time.sleep(self.options.seconds / self.options.kills)
        died = self.server.process.poll() is not None
        if not died:
            self.server.kill()
        for updater in updaters:
            updater.join()
            self.pauses += updater.pauses
        if died:
            self.server.check_alive()
        if self.unsynced is not None:
            # The first loses all that was not synced; the others lose blocks of it by chance.
            self.lost_blocks = power_cut.cut(self.file, self.unsynced, number - 1 or None)
        return sum(updater.acknowledged for updater in updaters)

    def run(self):
        """Returns whether all was well. Prints a line for each kill."""
        stream, _ = self.start()
        begin = time.monotonic()
        self.load(stream)
        print(f"{self.name}: {self.options.items} items loaded in "
              f"{time.monotonic() - begin:.1f} s", flush=True)
        for number in range(1, self.options.kills + 1):
            updates = self.kill_under_load(number)
            stream, seconds = self.start()
            verdict = self.ledger.judge(read_values(stream, self.options.items))
            self.kills.append({
                "updates": updates, "undone": verdict.undone, "lost": verdict.lost,
                "altered": verdict.altered, "torn": verdict.torn, "good": verdict.good,
                "restart_seconds": round(seconds, 3)})
            print(f"{self.name}: kill {number}: {updates} updates acknowledged"
                  f"{self.about_power()}, first answer after {seconds:.2f} s; {verdict.undone} "
                  f"undone, of which promised {verdict.lost}; {verdict.altered} altered, "
                  f"{verdict.torn} connections torn", flush=True)
        return all(kill["good"] for kill in self.kills)

    def about_power(self):
        """What the power cut took."""
        if self.unsynced is None:
            return ""
        return " and {} of {} unsynced blocks lost".format(*self.lost_blocks)

    def summary(self):
        """For --json."""
        pauses = sorted(self.pauses)
        return {"row": self.name, "items": self.options.items, "kills": self.kills,
                "pause_us": {f"p{p}": pauses[len(pauses) * p // 100] for p in (50, 99)}
                if pauses else {}}

    def last_words(self):
        """How the server ended, if it did."""
        try:
            status = self.server.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return f"; it ended with status {status}:\n{self.server.said()}"

    def clean_up(self):
        """Ends the server, and removes the logs of unsynced writes."""
        if self.server is not None:
            self.server.kill()
        if self.unsynced is not None:
            shutil.rmtree(self.unsynced)


def run_row(name, options):
    """Returns the row's summary, with an error if the server misbehaved."""
    parent = "/dev/shm" if name == "shm" else options.disk
    with tempfile.TemporaryDirectory(prefix="holdfast.memcached.", dir=parent) as place:
        row = Row(name, options, place)
        try:
            good = row.run()
            return {**row.summary(), "good": good}
        except (ServerError, OSError) as e:
            print(f"{name}: {e}{row.last_words()}", flush=True)
            return {**row.summary(), "good": False, "error": str(e)}
        finally:
            row.clean_up()


def parsed_arguments():
    """The options; ends the process for wrong ones."""
    parser = argparse.ArgumentParser(
        prog="./dev demo memcached", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000000, metavar="N",
                        help="items that are loaded (1000000)")
    parser.add_argument("--seconds", type=float, default=9, metavar="S",
                        help="of load in each row, all kills together (9)")
    parser.add_argument("--kills", type=int, default=3, metavar="N", help="in each row (3)")
    parser.add_argument("--rows", metavar="NAME,...",
                        help="of these rows only: " + ", ".join(ROWS)
                        + "; with --speed and --soak also " + ", ".join(speed.GRAPH_ROWS))
    parser.add_argument("--disk", metavar="DIRECTORY",
                        help="where the files of `file` and `pages` go (the build's directory)")
    parser.add_argument("--json", action="store_true",
                        help="a last line with all numbers as JSON, after the verdict")
    parser.add_argument("--speed", action="store_true",
                        help="instead: the speed beside the original memcached, taking turns")
    parser.add_argument("--soak", type=float, nargs="?", const=30, metavar="MINUTES",
                        help="instead: constant load for so long (30), and whether memory and "
                        "logs stay flat; rows: " + ", ".join(soak.ROWS))
    parser.add_argument("--build", default=".", help=argparse.SUPPRESS)
    parser.add_argument("--judge-arguments", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rows is None:
        options.rows = ",".join(ROWS if options.soak is None else soak.ROWS)
    options.rows = options.rows.split(",")
    known = (*ROWS, *speed.GRAPH_ROWS) if options.speed or options.soak else ROWS
    for row in options.rows:
        if row not in known:
            parser.error(f"--rows: there is no row {row!r}; there are {', '.join(known)}")
    if options.items < PIPELINED or options.items > 20000000:
        parser.error(f"--items: from {PIPELINED} to 20000000, not {options.items}")
    if options.soak is not None and options.soak <= 0:
        parser.error("--soak: more than 0 minutes")
    if options.kills < 1 or options.seconds <= 0:
        parser.error("--kills and --seconds: more than 0")
    options.disk = options.disk or options.build
    if not os.path.isdir(options.disk):
        parser.error(f"--disk: there is no directory {options.disk!r}")
    return options


def main():
    """Returns the exit status."""
    options = parsed_arguments()
    if options.judge_arguments:
        return 0
    if options.soak is not None:
        return soak.soak(options)
    if options.speed:
        return speed.compare(options)
    options.power_cut = os.path.join(options.build, "power_cut.so")
    rows = [run_row(name, options) for name in options.rows]
    bad = [row["row"] for row in rows if not row["good"]]
    print("verdict: " + ("every row lost nothing that a durable cut had, and altered nothing"
                         if not bad else f"FAILED in {', '.join(bad)}"))
    if options.json:
        print(json.dumps({"good": not bad, "rows": rows}))
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.SubprocessError as e:
        sys.exit(f"demo.py: {e}")
