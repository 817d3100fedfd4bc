#!/usr/bin/env python3
"""RECIPE's claims, and this project's targets, hold on a machine on which all is twice as fast as
what is quoted, and do not on one that contradicts them. The machines are made up here."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench/figures"))

from claims import Outcome
from papers import PAPERS
from papers.recipe import quoted
from papers.recipe.plan import SETTINGS, SHORT, measurements

RECIPE = PAPERS["recipe"]
# For words of a claim, what a machine does to contradict it.
CONTRADICTIONS = [
    ("outperform hand-made ones by up to 5.2", {"times": 1.3}),
    ("outperform uTree", {"times": 1.3}),
    ("outperform Dash", {"times": 0.4}),
    ("P-ART, E: the original's 1.1", {"times": 1}),
    ("P-CLHT, A: the original's 0.4", {"times": 0.9}),
    ("P-HOT's insert has 6 fences", {"fences": 7}),
    ("P-HOT's insert writes back up to 9", {"lines": 11}),
    ("reads need no flush", {"flushes of reads": 0.5}),
    ("reads are as fast", {"transient": 1.2}),
    ("inherits scalability", {"speed-up": 1.2}),
]


def speed(machine, store, keys, workload, records, threads):
    index, _, discipline = store.partition("-")
    table = (quoted.ORIGINALS_OF_MANY if records == quoted.MANY_RECORDS else
             quoted.ORIGINALS_OF_STRINGS if keys == "string" else quoted.ORIGINALS)
    # What is not quoted is faster than anything that is: but that of the best ordered one in E.
    found = table.get(index, {}).get(workload, 10) * machine.get("times", 5)
    if discipline == "transient":
        found *= machine.get("transient", 1)
    # All but the yardstick gain less from a second thread than they should.
    gain = 2 if discipline == "transient" else machine.get("speed-up", 2)
    return found / gain if threads == 1 else found


def counts(machine, store, workload):
    if not store.endswith("-eager"):
        return 0, 0
    if workload == "C":
        return machine.get("flushes of reads", 0), 0
    lines, fences = quoted.COST_OF_INSERT[store.partition("-")[0]]
    return machine.get("lines", lines), machine.get("fences", fences)


def entry(machine, measurement):
    given = dict(zip(measurement.arguments[2::2], measurement.arguments[3::2]))
    results = []
    for store in given["--stores"].split(","):
        for keys in given["--keys"].split(","):
            for workload in given["--workloads"].split(","):
                for threads in map(int, given["--threads"].split(",")):
                    if workload == "E" and store.startswith("clht"):
                        continue
                    rate = speed(machine, store, keys, workload, int(given["--records"]), threads)
                    lines, fences = counts(machine, store, workload)
                    one = {"operations": 1e6, "seconds": 1 / rate, "cpu seconds": threads / rate,
                           "flushes": lines * 1e6, "fences": fences * 1e6}
                    alone = {"load": "-", "D": "latest", "E": "zipfian"}.get(workload)
                    for spread in [alone] if alone else given["--distributions"].split(","):
                        results.append({"store": store, "keys": keys, "workload": workload,
                                        "distribution": spread, "threads": threads,
                                        "repetitions": [one] * 3})
    environment = {name: "pretended" for name in ("processor", "memory", "kernel", "version",
                                                  "build", "files")}
    return {"arguments": list(measurement.arguments), "begun": "never",
            "output": {"results": results, "environment": environment, "stores": {},
                       "left out": {}}}


def results_on(machine, **settings):
    settings = {**SETTINGS, "cores": 2, **settings}
    entries = {one.name: entry(machine, one) for one in measurements(settings)}
    return RECIPE.results(settings, entries, {})


def outcomes(machine, **settings):
    return {claim.text: claim.outcome for claim in RECIPE.claims(results_on(machine, **settings))}


class Claims(unittest.TestCase):
    def test_hold_on_a_machine_that_is_faster_than_what_is_quoted(self):
        found = outcomes({})
        unmeasured = [text for text, one in found.items() if one is Outcome.UNMEASURED]
        self.assertEqual(len(unmeasured), 2, unmeasured)
        self.assertEqual([text for text, one in found.items()
                          if one not in (Outcome.HOLDS, Outcome.UNMEASURED)], [])

    def test_do_not_hold_on_a_machine_that_contradicts_them(self):
        for words, machine in CONTRADICTIONS:
            found = [one for text, one in outcomes(machine).items() if words in text]
            self.assertEqual(found, [Outcome.FAILS], words)

    def test_that_quote_need_as_many_records_and_threads(self):
        for settings in (SHORT, {"cores": 4}):
            found = outcomes({}, **settings)
            quoting = [one for text, one in found.items() if "original's" in text
                       or "outperform" in text]
            self.assertEqual(set(quoting), {Outcome.UNMEASURED})

    def test_are_drawn_and_remarked_upon(self):
        drawn, missing = RECIPE.figures(results_on({}))
        self.assertEqual(missing, [])
        self.assertEqual([one.part for one in drawn], list("123456789"))
        marks = [one for one in drawn[6].panels[0].series if one.of_paper]
        self.assertEqual({one.like for one in marks}, {"P-CLHT", "P-HOT", "P-ART", "P-BwTree",
                                                       "P-Masstree"})
        self.assertTrue(RECIPE.remarks(results_on({})))


if __name__ == "__main__":
    unittest.main()
