#!/usr/bin/env python3
"""./dev figures recipe --short with the real program: collects, judges and writes the page. How
fast anything is does not matter here."""

import sys
import unittest
from pathlib import Path

from harness import Harness

from papers.recipe.plan import PARTS

# What takes as many records as the quoted numbers are of, or what no registry has.
UNMEASURED_PARTS = {"7", "8", "3.1"}
UNMEASURED = {("4", "fewer lines than FAST & FAIR")}
# Of these there is only text.
NOT_DRAWN = {"7"}


def is_unmeasured(claim):
    return claim["part"] in UNMEASURED_PARTS or any(
        claim["part"] == part and words in claim["claim"] for part, words in UNMEASURED)


class TheShortMode(unittest.TestCase):
    program = None

    def test_measures_everything(self):
        with Harness(self.program, "recipe") as harness:
            done = harness.run("--short", "--set", "cores=2")
            self.assertEqual(done.returncode, 0, done.stderr)
            for claim in harness.told()["claims"]:
                self.assertEqual(claim["outcome"] == "not measured", is_unmeasured(claim), claim)
            page = harness.page()
            for part, title in PARTS.items():
                self.assertIn(f"{part}. {title}\n", page)
            self.assertIn("records=2K (1M)", page)
            self.assertEqual(harness.measured()["left_out"], {})
            drawn = {one["part"] for one in harness.told()["figures"]}
            self.assertEqual(drawn, {part for part in PARTS if "." not in part} - NOT_DRAWN)
            self.drawn_as_measured(harness)
            again = harness.run("--short", "--set", "cores=2")
            self.assertNotIn("measuring", again.stderr)
            self.assertEqual(harness.page(), page)

    def drawn_as_measured(self, harness):
        """Figure 1's bars are the medians of the program's own table."""
        results = harness.measured()["entries"]["own_integer"]["output"]["results"]
        bars = next(one for one in harness.told()["figures"] if one["part"] == "1")
        panel = next(one for one in bars["panels"] if one["title"] == "zipfian")
        art = next(one for one in panel["series"] if one["name"] == "P-ART")
        for workload, speed in zip(art["x"], art["y"]):
            if workload in ("load", "D"):
                continue
            said = [one["Mops/s"] for one in results
                    if (one["workload"], one["distribution"], one["store"])
                    == (workload, "zipfian", "art-eager")]
            self.assertEqual(len(said), 1)
            self.assertAlmostEqual(said[0], speed, places=6)


if __name__ == "__main__":
    TheShortMode.program = Path(sys.argv.pop())
    unittest.main()
