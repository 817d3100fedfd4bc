"""What was stored in the durable memcached, what was promised of it, and what came back.

A key's value follows from the key and a version: anything else is altered. Each connection stores
versions of its own keys, one after the other, and learns from "stats durable" which cut has them
(the ticket) and which cut is durable by now. A version whose ticket is durable is promised.

A cut is one moment for all threads. So what comes back of a connection's updates is a prefix of
them: if a later one is there, so is each before it.
"""

import random
from array import array

NOISE = random.Random(38).randbytes(8192).hex().encode()


def value_of(key, version):
    """The value of a key: both numbers, then 20 to 219 bytes that follow from them."""
    begin = (key * 31 + version * 1009) % 8000
    return b"%d:%d:" % (version, key) + NOISE[begin:begin + 20 + (key * 7 + version) % 200]


class Connection:
    """The updates of one connection, in order."""

    def __init__(self):
        # The key of each update that was sent; its version is one higher than before.
        self.keys = array("I")
        self.tickets = []  # (number of acknowledged updates, ticket that covers them)

    def promised(self, durable):
        """How many of the updates are durable, if the cut `durable` is."""
        return max((n for n, ticket in self.tickets if ticket <= durable), default=0)


class Verdict:
    """The result of a comparison. `lost`: promised versions that are gone; `altered`: values that
    were never stored; `torn`: connections of which no prefix came back."""

    def __init__(self, lost=0, altered=0, torn=0, undone=0):
        self.lost, self.altered, self.torn, self.undone = lost, altered, torn, undone

    @property
    def good(self):
        """Whether all that was promised is there, and nothing else."""
        return self.lost == self.altered == self.torn == 0


class Ledger:
    """Versions of all keys: those that came back last, and the updates since."""

    def __init__(self, items):
        self.found = array("i", [-1]) * items  # at the last comparison; -1: none
        self.connections = []
        self.durable = 0  # the newest cut known to be durable

    def begin(self, count):
        """Begins a round with so many connections."""
        self.connections = [Connection() for _ in range(count)]

    def judge(self, values):
        """Compares with the values that came back, in the order of keys (None: no value). They are
        where the next round begins."""
        verdict = Verdict()
        sent = array("I", [0]) * len(self.found)
        for connection in self.connections:
            for key in connection.keys:
                sent[key] += 1
        was = array("i", self.found)
        altered = set()
        for key, value in enumerate(values):
            version = version_of(key, value, was[key] + sent[key])
            if version is None:
                verdict.altered += 1
                altered.add(key)
                version = -1
            elif version < was[key]:
                verdict.lost += 1
            self.found[key] = version
        for connection in self.connections:
            self.compare_order(connection, was, altered, verdict)
        return verdict

    def compare_order(self, connection, was, altered, verdict):
        """Looks for the prefix of a connection's updates that came back."""
        promised = connection.promised(self.durable)
        version = {}
        latest, earliest_undone = 0, len(connection.keys)
        for n, key in enumerate(connection.keys):
            version[key] = version.get(key, was[key]) + 1
            if key in altered:
                continue
            if version[key] <= self.found[key]:
                latest = n + 1
                continue
            verdict.undone += 1
            verdict.lost += n < promised
            earliest_undone = min(earliest_undone, n)
        verdict.torn += latest > earliest_undone


def version_of(key, value, newest):
    """The version that the value is of; -1: there is none; None: it was never stored."""
    if value is None:
        return -1
    head = value.split(b":", 1)[0]
    if not head.isdigit() or int(head) > newest or value != value_of(key, int(head)):
        return None
    return int(head)
