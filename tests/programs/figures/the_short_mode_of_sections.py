#!/usr/bin/env python3
"""./dev figures sections --short with the real program: measures, judges and writes the page."""

import sys
import unittest
from pathlib import Path

from harness import Harness

from papers.sections.plan import GRAPH, ORIGINAL, PARTS, UNFLUSHED

NEVER = ("memcached:",)


class TheShortMode(unittest.TestCase):
    program = None

    def test_measures_every_row(self):
        with Harness(self.program, "sections") as harness:
            done = harness.run("--short")
            self.assertEqual(done.returncode, 0, done.stderr)
            entries = harness.measured()["entries"]
            for claim in harness.told()["claims"]:
                never = claim["claim"].startswith(NEVER)
                missing = "dedup" not in entries and not claim["part"] == "small"
                # A checkout in memory has no disk for it.
                missing = missing or claim["part"] == "disk"
                if not missing:
                    self.assertEqual(claim["outcome"] == "not measured", never, claim)
            if "dedup" in entries:
                self.assertEqual([one["part"] for one in harness.told()["figures"]], list(PARTS))
            self.counts_fit(entries["bank"]["output"])
            self.drawn_as_measured(harness, entries["avl"]["output"])

    def counts_fit(self, output):
        """Graph mode's own numbers against those of the original."""
        for threads in (1, 2, 4):
            counted = next(one for one in output["counts"] if one["threads"] == threads)
            rows = {one["row"]: one for one in output["rows"] if one["threads"] == threads}
            self.assertGreaterEqual(rows[GRAPH]["sections"], counted["sections"])
            self.assertLessEqual(rows[GRAPH]["sections"], counted["sections"] + 1000)
            # A beginning and an end for each section.
            entries = rows[UNFLUSHED]["entries"]
            self.assertGreaterEqual(entries, 2 * counted["sections"])
            self.assertEqual(rows[UNFLUSHED]["flushes"], 0)
            self.assertGreater(rows[GRAPH]["flushes"], counted["sections"])
            self.assertEqual(rows[ORIGINAL]["sections"], 0)

    def drawn_as_measured(self, harness, output):
        """The bars are quotients of neighbouring runs."""
        figure = next(one for one in harness.told()["figures"] if one["part"] == "small")
        drawn = next(one for one in figure["panels"][0]["series"] if "nvram)" in one["name"])
        seconds = {one["row"]: one["seconds"][0] for one in output["rows"]
                   if one["threads"] == 1}
        self.assertAlmostEqual(dict(zip(drawn["x"], drawn["y"]))["AVL tree"],
                               seconds[GRAPH] / seconds[ORIGINAL], places=9)


if __name__ == "__main__":
    TheShortMode.program = Path(sys.argv.pop())
    unittest.main()
