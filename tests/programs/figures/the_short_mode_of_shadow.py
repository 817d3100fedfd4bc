#!/usr/bin/env python3
"""./dev figures shadow --short with the real program: simulates, judges and writes the page."""

import sys
import unittest
from pathlib import Path

from harness import Harness

from papers.shadow.plan import PARTS

NEVER = "a hardware implementation is faster"


class TheShortMode(unittest.TestCase):
    program = None

    def test_counts_everything(self):
        with Harness(self.program, "shadow") as harness:
            done = harness.run("--short")
            self.assertEqual(done.returncode, 0, done.stderr)
            for claim in harness.told()["claims"]:
                self.assertEqual(claim["outcome"] == "not measured", NEVER in claim["claim"], claim)
            self.assertEqual([one["part"] for one in harness.told()["figures"]], list(PARTS))
            page = harness.page()
            for part, title in PARTS.items():
                self.assertIn(f"{'Table' if part == '1' else 'Figure'} {part}. {title}\n", page)
            self.assertIn("transactions=300", page)
            self.drawn_as_counted(harness)
            again = harness.run("--short")
            self.assertNotIn("measuring", again.stderr)
            self.assertEqual(harness.page(), page)

    def test_counts_the_same_again(self):
        counts = []
        for _ in range(2):
            with Harness(self.program, "shadow") as harness:
                self.assertEqual(harness.run("--short", "--only", "commit").returncode, 0)
                counts.append(harness.measured()["entries"]["commit"]["output"]["rows"])
        self.assertEqual(*counts)

    def drawn_as_counted(self, harness):
        """Part 4a's bars are quotients of the program's own rows."""
        entries = harness.measured()["entries"]
        figure = next(one for one in harness.told()["figures"] if one["part"] == "4a")
        uniform = next(one for one in figure["panels"][0]["series"] if one["name"] == "uni")
        for work, shown in zip(("sps", "ht", "rbt", "bt"), uniform["y"]):
            rows = {one["machine"]: one for one in entries[f"main_{work}"]["output"]["rows"]
                    if one["spread"] == "uniform"}
            flushes = {name: sum(row["flushes"][source] for source in
                                 ("data", "journal", "consolidation", "log", "marker"))
                       for name, row in rows.items()}
            self.assertAlmostEqual(flushes["undo-line-1"] / flushes["osp"], shown, places=9)


if __name__ == "__main__":
    TheShortMode.program = Path(sys.argv.pop())
    unittest.main()
