"""The judge of examples/memcached: what it must notice, each planted here; and its power cut."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "examples", "memcached")
sys.path.insert(0, EXAMPLE)

# pylint: disable=wrong-import-position
import power_cut  # noqa: E402
from ledger import Ledger, value_of  # noqa: E402


class Judge(unittest.TestCase):
    """Four keys at version 0; two connections, of which the first updates 0, 2, 0."""

    def setUp(self):
        self.ledger = Ledger(4)
        for key in range(4):
            self.ledger.found[key] = 0
        self.ledger.begin(2)
        self.ledger.connections[0].keys.extend([0, 2, 0])
        self.ledger.connections[0].tickets.extend([(1, 7), (2, 8), (3, 9)])

    def judge(self, versions, durable=0):
        self.ledger.durable = durable
        return self.ledger.judge(
            [None if v is None else value_of(key, v) for key, v in enumerate(versions)])

    def test_accepts_each_prefix(self):
        for versions in ([0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [2, 0, 1, 0]):
            self.setUp()
            self.assertTrue(self.judge(versions).good, versions)

    def test_counts_what_was_undone_and_not_promised(self):
        self.assertEqual(self.judge([1, 0, 0, 0]).undone, 2)

    def test_notices_a_later_update_without_an_earlier_one(self):
        self.assertEqual(self.judge([2, 0, 0, 0]).torn, 1)
        self.setUp()
        self.assertEqual(self.judge([0, 0, 1, 0]).torn, 1)

    def test_notices_that_a_promised_update_is_lost(self):
        self.assertEqual(self.judge([1, 0, 0, 0], durable=8).lost, 1)
        self.setUp()
        self.assertEqual(self.judge([1, 0, 1, 0], durable=9).lost, 1)
        self.setUp()
        self.assertTrue(self.judge([1, 0, 1, 0], durable=8).good)

    def test_notices_a_key_that_no_update_touched_and_that_is_gone(self):
        self.assertEqual(self.judge([0, 0, 0, None]).lost, 1)

    def test_notices_altered_values(self):
        good = [value_of(key, 0) for key in range(4)]
        for bad in (good[3][:-1] + b"!", good[3][:-1], good[2], b"", b"x", value_of(3, 1)):
            self.setUp()
            self.assertEqual(self.ledger.judge(good[:3] + [bad]).altered, 1, bad)

    def test_begins_the_next_round_where_the_last_one_ended(self):
        self.judge([1, 0, 0, 0])
        self.ledger.begin(1)
        self.ledger.connections[0].keys.append(0)
        self.assertTrue(self.judge([2, 0, 0, 0]).good)
        self.assertEqual(list(self.ledger.found), [2, 0, 0, 0])


WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(fd, b"a" * 8192, 0)
os.fsync(fd)
os.pwrite(fd, b"b" * 4096, 4096)
os.pwrite(fd, b"c" * 5000, 8192)
os.kill(os.getpid(), 9)
"""


class PowerCut(unittest.TestCase):
    """A program writes, syncs, writes more, and is killed."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.file = os.path.join(self.place.name, "data")
        self.library = os.path.join(self.place.name, "power_cut.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", os.path.join(EXAMPLE, "power_cut.c"),
                        "-o", self.library], check=True)

    def write_and_cut(self, seed):
        with open(self.file, "wb") as file:
            file.write(b"-" * 16384)
        done = subprocess.run(
            [sys.executable, "-c", WRITER, self.file], check=False,
            env={**os.environ, "LD_PRELOAD": self.library, "POWER_CUT_FILE": self.file,
                 "POWER_CUT_LOG": self.place.name})
        self.assertEqual(done.returncode, -signal.SIGKILL)
        counts = power_cut.cut(self.file, self.place.name, seed)
        with open(self.file, "rb") as file:
            return counts, file.read()

    def test_takes_what_was_not_synced_and_nothing_else(self):
        counts, data = self.write_and_cut(None)
        self.assertEqual(counts, (3, 3))
        self.assertEqual(data, b"a" * 8192 + b"-" * 8192)

    def test_takes_blocks_by_chance(self):
        seen = set()
        for seed in range(12):
            _, data = self.write_and_cut(seed)
            self.assertEqual(data[:4096], b"a" * 4096)
            blocks = [data[at:at + 4096] for at in (4096, 8192, 12288)]
            whole = [b"b" * 4096, b"c" * 4096, b"c" * 904 + b"-" * 3192]
            lost = [b"a" * 4096, b"-" * 4096, b"-" * 4096]
            for block, w, gone in zip(blocks, whole, lost):
                self.assertIn(block, (w, gone))
            seen.add(tuple(b == w for b, w in zip(blocks, whole)))
        self.assertGreater(len(seen), 2)


if __name__ == "__main__":
    unittest.main()
