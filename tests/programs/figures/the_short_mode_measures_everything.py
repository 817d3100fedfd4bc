#!/usr/bin/env python3
"""./dev figures incll --short with the real program: collects, judges and writes the page. How fast
anything is does not matter here."""

import sys
import unittest
from pathlib import Path

from harness import Harness

from papers.incll.plan import PARTS

# What no run can tell, and what takes trees of 3M records.
UNMEASURED = {("2", "instructions"), ("2", "first-level cache"), ("4", "44 threads"),
              ("6.1", "internal nodes"), ("7", "beyond 3M, LOGGING levels"),
              ("7", "beyond 3M, LOGGING grows"), ("7", "beyond 3M, INCLL declines rapidly"),
              ("7", "beyond 3M, INCLL declines slowly"), ("7", "drastically")}


def is_unmeasured(claim):
    return any(claim["part"] == part and words in claim["claim"] for part, words in UNMEASURED)


class TheShortMode(unittest.TestCase):
    program = None

    def test_measures_everything(self):
        # A machine with one core has no two numbers of threads to compare.
        with Harness(self.program) as harness:
            done = harness.run("--short", "--set", "cores=2")
            self.assertEqual(done.returncode, 0, done.stderr)
            for claim in harness.told()["claims"]:
                self.assertEqual(claim["outcome"] == "not measured", is_unmeasured(claim), claim)
            page = harness.page()
            for part, title in PARTS.items():
                self.assertIn(f"{part}. {title}\n", page)
            self.assertIn("records=3K (20M)", page)
            self.assertEqual(harness.measured()["left_out"], {})
            self.drawn_as_measured(harness)
            again = harness.run("--short", "--set", "cores=2")
            self.assertNotIn("measuring", again.stderr)
            self.assertEqual(harness.page(), page)

    def drawn_as_measured(self, harness):
        """Figure 2's bars are the medians of the program's own table."""
        results = harness.measured()["entries"]["workloads"]["output"]["results"]
        bars = next(one for one in harness.told()["figures"] if one["part"] == "2")
        panel = next(one for one in bars["panels"] if one["title"] == "zipfian")
        incll = next(one for one in panel["series"] if one["name"] == "INCLL")
        for workload, speed in zip(incll["x"], incll["y"]):
            said = [one["Mops/s"] for one in results
                    if (one["workload"], one["distribution"], one["discipline"])
                    == (workload, "zipfian", "incll")]
            self.assertEqual(len(said), 1)
            self.assertAlmostEqual(said[0], speed, places=6)


if __name__ == "__main__":
    TheShortMode.program = Path(sys.argv.pop())
    unittest.main()
