#!/usr/bin/env python3
"""./dev figures nv-heaps --short with the real program: collects, judges and writes the page. How
fast anything is does not matter here."""

import statistics
import sys
import unittest
from pathlib import Path

from harness import Harness

from papers.nv_heaps.plan import PARTS

# What can't be had, and what needs a peer that may not be installed.
NEVER = ("Stasis", "SixDegs is nearly")
OF_PEERS = ("Berkeley DB", "libpmemobj", "LMDB")


class TheShortMode(unittest.TestCase):
    program = None

    def test_measures_everything(self):
        with Harness(self.program, "nv-heaps") as harness:
            done = harness.run("--short", "--set", "cores=2")
            self.assertEqual(done.returncode, 0, done.stderr)
            left_out = harness.measured()["entries"]["systems"]["output"]["left out"]
            for claim in harness.told()["claims"]:
                if left_out and any(one in claim["claim"] for one in OF_PEERS):
                    continue
                never = any(one in claim["claim"] for one in NEVER)
                self.assertEqual(claim["outcome"] == "not measured", never, claim)
            page = harness.page()
            for part, title in PARTS.items():
                self.assertIn(f"{'Table' if part == '1' else 'Figure'} {part}. {title}\n", page)
            self.assertIn("Stasis can't be had", page)
            self.assertIn("elements=500 (1M)", page)
            self.assertEqual(harness.measured()["left_out"], {})
            self.assertEqual([one["part"] for one in harness.told()["figures"]], list(PARTS))
            self.drawn_as_measured(harness)
            again = harness.run("--short", "--set", "cores=2")
            self.assertNotIn("measuring", again.stderr)
            self.assertEqual(harness.page(), page)

    def drawn_as_measured(self, harness):
        """Figure 6's second panel holds the medians of the program's own rows."""
        rows = harness.measured()["entries"]["safety"]["output"]["rates"]
        figure = next(one for one in harness.told()["figures"] if one["part"] == "6")
        base = next(one for one in figure["panels"][1]["series"] if one["name"] == "BASE")
        for work, speed in zip(base["x"], base["y"]):
            said = [one["operations per second"] for one in rows
                    if (one["work"], one["who"], one["threads"]) == (work, "base", 1)]
            self.assertEqual(len(said), 1)
            self.assertAlmostEqual(statistics.median(said[0]), speed, places=6)


if __name__ == "__main__":
    TheShortMode.program = Path(sys.argv.pop())
    unittest.main()
