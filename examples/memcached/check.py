#!/usr/bin/env python3
"""Kills the durable memcached under load and compares what it has after a restart.

    check.py PROGRAM FILE [--items N] [--kills N] [--lag SECONDS]

Loads N items into an empty FILE, updates random ones from two connections, kills the server with
SIGKILL and starts it again, several times. After each restart every key must have a value that was
stored for it, at least as new as the newest one acknowledged LAG seconds before the kill: durability
is buffered, and a crash loses what was stored since the last cut. The last line is a verdict.
"""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

PIPELINED = 100


def value_of(key, version):
    """The value of a key: its version, then bytes that follow from both."""
    return f"{version}:{key}:" + "v" * (20 + (key * 7 + version) % 200)


class Server:
    """One process of memcached."""

    def __init__(self, program, path, port):
        self.port = port
        self.process = subprocess.Popen(
            [program, "-u", "root", "-U", "0", "-p", str(port), "-l", "127.0.0.1", "-m", "512"],
            env={**os.environ, "MEMCACHED_DURABLE": path})

    def connect(self):
        """A connection, as soon as the server answers."""
        limit = time.monotonic() + 30
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).makefile("rwb")
            except OSError:
                if self.process.poll() is not None or time.monotonic() > limit:
                    sys.exit(f"check.py: the server did not start: status {self.process.poll()}")
                time.sleep(0.01)

    def kill(self):
        """As a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def store(stream, keys, versions):
    """Stores a version of each key. Returns once all are acknowledged."""
    for key, version in zip(keys, versions):
        value = value_of(key, version).encode()
        stream.write(b"set k%d 0 0 %d\r\n%s\r\n" % (key, len(value), value))
    stream.flush()
    for _ in keys:
        answer = stream.readline()
        if answer != b"STORED\r\n":
            raise OSError(answer)


class Updater(threading.Thread):
    """Updates random keys of its own share, and notes when each version was sent and acknowledged."""

    def __init__(self, server, share, newest):
        super().__init__()
        self.stream = server.connect()
        self.share = share
        self.newest = newest
        self.acknowledged = []  # (time, key, version)

    def run(self):
        rng = random.Random(len(self.share))
        try:
            while True:
                keys = rng.sample(self.share, PIPELINED)
                versions = [self.newest[key] + 1 for key in keys]
                for key, version in zip(keys, versions):
                    self.newest[key] = version
                store(self.stream, keys, versions)
                now = time.monotonic()
                self.acknowledged += [(now, k, v) for k, v in zip(keys, versions)]
        except OSError:
            return  # the server was killed


def read(stream, keys):
    """The value of each key; None: the server has none."""
    stream.write(b"".join(b"get k%d\r\n" % key for key in keys))
    stream.flush()
    for _ in keys:
        head = stream.readline()
        if head == b"END\r\n":
            yield None
            continue
        yield stream.read(int(head.split()[3]) + 2)[:-2].decode()
        stream.readline()


def compare(stream, wanted, newest):
    """Counts keys that are lost or too old, and values that were never stored. What is there is what
    the next round begins with."""
    old = altered = 0
    for begin in range(0, len(newest), PIPELINED):
        keys = range(begin, min(begin + PIPELINED, len(newest)))
        for key, value in zip(keys, list(read(stream, keys))):
            version = int(value.split(":")[0]) if value else -1
            if value and (value != value_of(key, version) or version > newest[key]):
                altered += 1
            elif version < wanted[key]:
                old += 1
            newest[key] = wanted[key] = max(version, 0)
    return old, altered


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--items", type=int, default=100000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--lag", type=float, default=1.0)
    options = parser.parse_args()
    port = 20000 + os.getpid() % 10000
    newest = [0] * options.items
    wanted = [0] * options.items
    server = Server(options.program, options.file, port)
    stream = server.connect()
    for begin in range(0, options.items, PIPELINED):
        keys = range(begin, min(begin + PIPELINED, options.items))
        store(stream, keys, [0] * len(keys))
    time.sleep(options.lag)
    bad = 0
    for kill in range(1, options.kills + 1):
        updaters = [Updater(server, range(i, options.items, 2), newest) for i in range(2)]
        for updater in updaters:
            updater.start()
        time.sleep(3)
        killed = time.monotonic()
        server.kill()
        updates = 0
        for updater in updaters:
            updater.join()
            updates += len(updater.acknowledged)
            for when, key, version in updater.acknowledged:
                if when < killed - options.lag:
                    wanted[key] = max(wanted[key], version)
        begin = time.monotonic()
        server = Server(options.program, options.file, port)
        stream = server.connect()
        seconds = time.monotonic() - begin
        old, altered = compare(stream, wanted, newest)
        bad += old + altered
        print(f"kill {kill}: {updates} updates acknowledged, restarted in {seconds:.2f} s, "
              f"{old} keys lost or older than {options.lag} s, {altered} altered", flush=True)
    server.kill()
    print("verdict: " + ("everything older than the last cut survived" if bad == 0
                         else f"{bad} keys are wrong"))
    return 0 if bad == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
