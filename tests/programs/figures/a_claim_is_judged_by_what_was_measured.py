#!/usr/bin/env python3
"""Claims hold for a machine like the paper's, and each fails for one that is not."""

import unittest

import pretender
from harness import Harness

from claims import (NotMeasured, Outcome, all_of, at_least, at_most, cost, count, judge, less,
                    not_measurable)
from page import panel_table
from papers import incll
from papers.incll.plan import SETTINGS, measurements, sizes, thread_counts
from samples import Estimate, losses, quantile, quotient
from words import number, percents, short_number, significant, span

HOLDS, FAILS = Outcome.HOLDS, Outcome.FAILS
UNDECIDED, UNMEASURED = Outcome.UNDECIDED, Outcome.UNMEASURED

# For a part and words of its claim, a machine on which it does not hold.
CONTRADICTIONS = [
    ("2", "MT+ is 2.4%", {"malloc": 1.1}),
    ("2", "MT is slightly slower", {"malloc": 0.99}),
    ("2", "INCLL is 5.9%", {"loss": {"A": 0.2, "B": 0.09, "C": 0.08, "E": 0.06}}),
    ("2", "A, half writes", {"loss": {"A": 0.2, "B": 0.09, "C": 0.08, "E": 0.06}}),
    ("2", "B, 5% writes", {"loss": {"A": 0.12, "B": 0.2, "C": 0.08, "E": 0.06}}),
    ("2", "C, reads only", {"loss": {"A": 0.12, "B": 0.09, "C": 0.2, "E": 0.06}}),
    ("2", "A loses more", {"loss": {"A": 0.08, "B": 0.09, "C": 0.08, "E": 0.06}}),
    ("2", "loses least", {"loss": {"A": 0.12, "B": 0.09, "C": 0.08, "E": 0.1}}),
    ("2", "zipfian load is faster", {"zipfian": 0.9}),
    ("2", "zipfian load loses less", {"zipfian loss": 1.2}),
    ("3", "(uniform)", {"latency": {"incll": 0.044, "logged": 0.4}}),
    ("3", "(zipfian)", {"latency": {"incll": 0.061, "logged": 0.4}}),
    ("4", "(uniform;", {"loss": {"A": 0.22, "B": 0, "C": 0, "E": 0}}),
    ("4", "(zipfian;", {"loss": {"A": 0.25, "B": 0, "C": 0, "E": 0}}),
    ("4", "grows with each thread", {"scales": -0.1}),
    ("5", "uniform load's throughput", {"shrinks": 0.3}),
    ("5", "zipfian load's throughput", {"shrinks": 0.3}),
    ("5", "affected similarly", {"by size": {"100000000": 0.5}}),
    ("6", "parabola", {"by size": {"10000": 0.2}}),
    ("6", "at most 27%", {"by size": {"30000": 0.28}}),
    ("7", "drastically", {"logs": 0.6}),
    ("8", "INCLL 4.1%", {"latency": {"incll": 0.042, "logged": 0.4}}),
    ("8", "INCLL 5.7%", {"latency": {"incll": 0.058, "logged": 0.4}}),
    ("8", "LOGGING 42.5%", {"latency": {"incll": 0.04, "logged": 0.03}}),
    ("8", "LOGGING 28.5%", {"latency": {"incll": 0.04, "logged": 0.03}}),
    ("6.2", "global flush takes", {"pause": 1400.0}),
    ("6.2", "2.2% of the time", {"pause": 1420.0}),
    ("6.3", "about 15 ms", {"recovery ms": 15.1}),
]
LIKE_THE_PAPER = {"by size": {"1000000": 0.2}}


class Samples(unittest.TestCase):
    def test_quantiles_lie_between_the_values(self):
        self.assertEqual(quantile([3, 1, 2], 0.5), 2)
        self.assertEqual(quantile([4, 1], 0.25), 1.75)
        self.assertEqual(quantile([7], 1), 7)
        with self.assertRaises(ValueError):
            quantile([], 0.5)

    def test_a_loss_is_that_of_neighbours(self):
        # The machine was half as fast in the second repetition.
        self.assertEqual(losses([9, 4.5, 9], [10, 5, 10]).middle, 1 - 0.9)

    def test_runs_that_were_no_neighbours_are_compared_by_their_worst_cases(self):
        ratio = quotient([1, 2, 3], [4, 4, 4])
        self.assertEqual(ratio, Estimate(0.5, 0.375, 0.625))


class AnOutcome(unittest.TestCase):
    def test_is_undecided_where_the_quartiles_lie_on_both_sides(self):
        estimate = Estimate(5, 4, 6)
        self.assertEqual([at_most(estimate, limit) for limit in (6, 5, 4, 3.9)],
                         [HOLDS, UNDECIDED, UNDECIDED, FAILS])
        self.assertEqual([at_least(estimate, limit) for limit in (4, 5, 6, 6.1)],
                         [HOLDS, UNDECIDED, UNDECIDED, FAILS])
        self.assertEqual([less(estimate, Estimate(m, m - 1, m + 1)) for m in (8, 6, 4, 2)],
                         [HOLDS, UNDECIDED, UNDECIDED, FAILS])

    def test_of_several_is_that_of_the_worst(self):
        self.assertEqual(all_of([HOLDS, UNDECIDED, FAILS]), FAILS)
        self.assertEqual(all_of([HOLDS, UNDECIDED]), UNDECIDED)
        self.assertEqual(all_of([HOLDS, HOLDS]), HOLDS)
        self.assertEqual(all_of([]), UNMEASURED)

    def test_of_a_cost_is_that_of_the_greatest_one(self):
        def found():
            return [Estimate(0.01, 0.01, 0.01), Estimate(0.2, 0.2, 0.2)]
        self.assertEqual(cost("2", "it costs", 0.2, found).outcome, HOLDS)
        self.assertEqual(cost("2", "it costs", 0.19, found).outcome, FAILS)
        self.assertEqual(percents(found()), "1.0% to 20.0%")

    def test_needs_a_measurement(self):
        def find():
            raise NotMeasured("no room")
        claim = judge("2", "it is fast", "it is", find)
        self.assertEqual((claim.outcome, claim.measured), (UNMEASURED, "no room"))
        self.assertEqual(count([claim, not_measurable("2", "what", "why")]), "2 not measured")


class Words(unittest.TestCase):
    def test_numbers_are_read_as_they_are_printed(self):
        for value in (0, 7, 1_000, 1_200, 84_000, 20_000_000, 1_000_000_000):
            self.assertEqual(number(short_number(value)), value)
        for text in ("", "K", "-1", "1.5M", "many", "1KK"):
            with self.assertRaises(ValueError):
                number(text)

    def test_significant_digits_have_no_exponent(self):
        self.assertEqual([significant(x) for x in (0, 0.01234, 1.2, 389123.0)],
                         ["0", "0.0123", "1.2", "389000"])

    def test_a_time_to_wait_is_short(self):
        self.assertEqual([span(seconds) for seconds in (4.4, 89, 100, 1500)],
                         ["4 s", "89 s", "2 min", "25 min"])

    def test_a_table_has_a_hole_where_a_point_is_missing(self):
        line = {"name": "MT+", "x": [1, 10], "y": [2.0, 3.0], "low": [1.0, 2.0],
                "high": [3.0, 4.0], "of_paper": False}
        other = {"name": "INCLL", "x": [10], "y": [1.0], "low": [], "high": [], "of_paper": False}
        paper = {**other, "name": "the paper's", "of_paper": True}
        table = panel_table({"title": "t", "y_label": "y", "x_label": "x",
                             "series": [line, other, paper]})
        self.assertEqual(table.splitlines()[2:], [
            "| x | MT+ | INCLL |", "| --- | --- | --- |", "| 1 | 2 (1 to 3) |  |",
            "| 10 | 3 (2 to 4) | 1 |"])


class ThePlan(unittest.TestCase):
    def test_has_the_papers_numbers(self):
        settings = {**SETTINGS, "cores": 2}
        self.assertEqual(thread_counts(settings), [1, 2, 4, 8])
        self.assertEqual(thread_counts({"cores": 1}), [1, 2, 4])
        self.assertEqual(thread_counts({"cores": 6}), [1, 2, 4, 6, 12, 24])
        self.assertEqual(sizes(settings)[0], 10_000)
        self.assertEqual(sizes(settings)[-1], 100_000_000)
        self.assertIn(20_000_000, sizes(settings))

    def test_names_each_measurement_once_and_needs_it(self):
        planned = measurements({**SETTINGS, "cores": 2})
        self.assertEqual(len({one.name for one in planned}), len(planned))
        self.assertTrue(all(one.parts and one.seconds > 0 for one in planned))


def claims_on(machine, **numbers):
    settings = {**SETTINGS, "cores": 2, **numbers}
    entries = {one.name: {"output": pretender.output(one.arguments, machine)}
               for one in measurements(settings)}
    return incll.claims(incll.Results(settings, entries, {}))


class AClaim(unittest.TestCase):
    def outcome(self, claims, part, words):
        found = [one.outcome for one in claims if one.part == part and words in one.text]
        self.assertEqual(len(found), 1, words)
        return found[0]

    def test_holds_on_a_machine_like_the_papers(self):
        claims = claims_on(LIKE_THE_PAPER)
        for part, words, _ in CONTRADICTIONS:
            self.assertEqual(self.outcome(claims, part, words), HOLDS, words)
        self.assertTrue(all(one.measured for one in claims))

    def test_does_not_hold_on_a_machine_that_contradicts_it(self):
        for part, words, machine in CONTRADICTIONS:
            claims = claims_on({**LIKE_THE_PAPER, **machine})
            self.assertEqual(self.outcome(claims, part, words), FAILS, words)

    def test_is_undecided_where_the_repetitions_disagree(self):
        machine = {"loss": {"A": 0.2, "B": 0, "C": 0, "E": 0}, "noise": 0.1}
        claims = claims_on(machine, repetitions=2)
        self.assertEqual(self.outcome(claims, "2", "A, half writes"), UNDECIDED)

    def test_that_does_not_hold_is_shown_at_the_pages_top_and_at_its_figure(self):
        with Harness() as harness:
            done = harness.run("--only", "3", model={"latency": {"incll": 0.05, "logged": 0.4}})
            self.assertEqual(done.returncode, 0, done.stderr)
            page = harness.page()
            self.assertIn("Of 2 claims: 1 holds, 1 does not hold.", page)
            self.assertIn("- does not hold (part 3): 1 µs after each fence", page)
            self.assertIn("| 5.0% (5.0% to 5.0%) | **does not hold** |", page)


if __name__ == "__main__":
    unittest.main()
