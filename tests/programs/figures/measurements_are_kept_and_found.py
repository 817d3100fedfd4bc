#!/usr/bin/env python3
"""A measurement is made once for a command and a program, and what goes wrong is said."""

import json
import shutil
import subprocess
import unittest

from harness import HERE, Harness

from measure import Cache, Measurement, Progress, cache_key, fingerprint

ONE = Measurement("one", ("bench", "ycsb"), ("2",), 10)
ROOT = HERE.parents[2]


class TheKey(unittest.TestCase):
    def test_is_that_of_the_command_and_the_program(self):
        key = cache_key(["bench", "ycsb"], "a")
        self.assertEqual(key, cache_key(("bench", "ycsb"), "a"))
        others = [cache_key(["bench", "ycsb"], "b"), cache_key(["bench", "pause"], "a"),
                  cache_key(["bench ycsb"], "a"), cache_key(["bench", "ycsb", ""], "a")]
        self.assertEqual(len({key, *others}), 5)

    def test_changes_with_the_programs_contents(self):
        with Harness() as harness:
            program = harness.place / "program"
            program.write_bytes(b"one")
            before = fingerprint(program)
            program.write_bytes(b"two")
            self.assertNotEqual(fingerprint(program), before)


class TheCache(unittest.TestCase):
    def test_has_what_was_kept_and_nothing_else(self):
        with Harness() as harness:
            cache = Cache(harness.place / "cache", "a")
            self.assertIsNone(cache.find(ONE))
            cache.keep(ONE, {"output": 1})
            self.assertEqual(cache.find(ONE), {"output": 1})
            self.assertIsNone(Cache(harness.place / "cache", "b").find(ONE))
            self.assertEqual([file.name for file in (harness.place / "cache").iterdir()],
                             [cache.file(ONE).name])

    def test_does_not_take_half_a_file_for_a_measurement(self):
        with Harness() as harness:
            cache = Cache(harness.place, "a")
            cache.keep(ONE, {"output": 1})
            cache.file(ONE).write_text('{"output":', encoding="utf-8")
            self.assertIsNone(cache.find(ONE))


class TheProgress(unittest.TestCase):
    def test_learns_from_what_was_slower_than_foreseen(self):
        said = []
        progress = Progress([ONE] * 3, said.append)
        self.assertEqual(progress.left(), 30)
        progress.begin(ONE)
        progress.end(ONE, 30)
        self.assertEqual(progress.left(), 20 * (30 + 10) / (10 + 10))
        progress.begin(ONE)
        self.assertEqual(said, ["measuring one (1 of 3); about 30 s left",
                                "measuring one (2 of 3); about 40 s left"])


class ACollection(unittest.TestCase):
    def test_measures_nothing_twice(self):
        with Harness() as harness:
            wanted = ("--only", "2", "--only", "3", "--only", "8")
            self.assertEqual(harness.run(*wanted).returncode, 0)
            calls, page = harness.calls(), harness.page()
            self.assertEqual(len(calls), 2)
            again = harness.run(*wanted)
            self.assertIn("are there already", again.stderr)
            self.assertEqual(harness.calls(), calls)
            self.assertEqual(harness.page(), page)

    def test_measures_all_again_when_it_is_asked_to(self):
        with Harness() as harness:
            harness.run("--only", "3")
            harness.run("--only", "3", "--again")
            self.assertEqual(len(harness.calls()), 2)

    def test_measures_again_with_another_program_or_another_number(self):
        with Harness() as harness:
            harness.run("--only", "3")
            harness.run("--only", "3", "--set", "seed=2")
            self.assertEqual(len(harness.calls()), 2)
            harness.program = harness.place / "other.py"
            shutil.copy(HERE / "pretender.py", harness.program)
            with open(harness.program, "a", encoding="utf-8") as program:
                program.write("# a new build\n")
            harness.run("--only", "3")
            self.assertEqual(len(harness.calls()), 3)

    def test_goes_on_where_it_was_interrupted(self):
        with Harness() as harness:
            stopped = harness.run(model={"exit": {"3000000": 130}})
            self.assertEqual(stopped.returncode, 130, stopped.stderr)
            before = len(harness.calls())
            self.assertGreater(before, 2)
            self.assertEqual(harness.run().returncode, 0)
            # The one that was interrupted is the only one of these that is made again.
            self.assertEqual(len(harness.calls()), len(set(harness.calls())) + 1)

    def test_measures_only_what_the_figure_needs(self):
        with Harness() as harness:
            harness.run("--only", "6.3")
            self.assertEqual([call.split()[1] for call in harness.calls()], ["recovery"])
            harness.run("--only", "7")
            self.assertTrue(all("--workloads A " in call for call in harness.calls()[1:]))
            self.assertIn("## Figure 7", harness.page())
            self.assertNotIn("## Figure 6", harness.page())

    def test_keeps_nothing_of_a_program_that_is_made_anew_meanwhile(self):
        with Harness() as harness:
            harness.program = harness.place / "program"
            script = f'#!/bin/sh\necho "#" >>"$0"\nexec {HERE}/pretender.py "$@"\n'
            harness.program.write_text(script, encoding="utf-8")
            harness.program.chmod(0o700)
            done = harness.run("--only", "3")
            self.assertEqual(done.returncode, 1)
            self.assertIn("was made anew while it was measured", done.stderr)
            self.assertEqual(list((harness.place / "cache").rglob("*.json")), [])

    def test_leaves_out_what_there_is_no_room_for_and_says_so(self):
        with Harness() as harness:
            done = harness.run(model={"exit": {"100000000": 8}})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Left out: size 100m. cannot do it with 100000000", harness.page())
            self.assertIn("10K to 20M", harness.page())
            self.assertEqual(harness.outcome("5", "affected similarly"), "holds")

    def test_that_has_nothing_claims_nothing(self):
        with Harness() as harness:
            done = harness.run("--only", "2", model={"exit": {"ycsb": 8}})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({one["outcome"] for one in harness.told()["claims"]},
                             {"not measured"})

    def test_is_drawn_again_without_measuring(self):
        with Harness() as harness:
            harness.run("--set", "repetitions=2", "--set", "largest=30K")
            calls, page = harness.calls(), harness.page()
            kept = harness.place / "kept.json"
            shutil.copy(harness.place / "out/incll/measured.json", kept)
            self.assertEqual(harness.run("--from", kept, "--again").returncode, 0)
            self.assertEqual(harness.calls(), calls)
            self.assertEqual(harness.page(), page)


class AMistake(unittest.TestCase):
    def refused(self, status, words, *arguments, **what):
        with Harness() as harness:
            done = harness.run(*arguments, **what)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_in_the_arguments_is_named(self):
        self.refused(2, "there are 2, 3, 4", "--only", "9")
        self.refused(2, "'many' is no whole number", "--set", "records=many")
        self.refused(2, "NAME is one of records", "--set", "colour=1")
        self.refused(2, "--color", "--color")
        self.refused(2, "is no program", "--program", "/nowhere/holdfast")
        self.refused(2, "No such file", "--from", "/nowhere/measured.json")
        self.refused(2, "not what a former run measured", "--from", HERE / "pretender.py")

    def test_of_the_program_is_passed_on(self):
        self.refused(1, "recovery: ", model={"exit": {"recovery": 5}})
        self.refused(1, "ended with 5: cannot do it with recovery",
                     model={"exit": {"recovery": 5}})

    def test_writes_no_page(self):
        with Harness() as harness:
            harness.run(model={"exit": {"ycsb": 1}})
            self.assertFalse((harness.place / "out").exists())


class TheVerb(unittest.TestCase):
    def dev(self, *arguments):
        return subprocess.run([ROOT / "dev", "figures", *arguments], text=True, timeout=60,
                              capture_output=True, check=False, stdin=subprocess.DEVNULL)

    def test_lists_papers_parts_and_numbers(self):
        listed = self.dev("list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for word in ("incll: ", "Recovery time", "--set records=20M"):
            self.assertIn(word, listed.stdout)

    def test_refuses_a_paper_that_there_is_not_and_names_those_that_there_are(self):
        refused = self.dev("fourth")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there are: incll", refused.stderr)

    def test_explains_itself(self):
        told = self.dev("--help")
        self.assertEqual(told.returncode, 0)
        for option in ("--only", "--short", "--set", "--again", "--no-plots", "--out", "--from",
                       "--json", "--program", "--cache"):
            self.assertIn(option, told.stdout)


class WhatWasMeasured(unittest.TestCase):
    def test_is_all_kept(self):
        with Harness() as harness:
            harness.run("--only", "3")
            entry = harness.measured()["entries"]["latency"]
            self.assertEqual(" ".join(entry["arguments"]) + " --json -", harness.calls()[0])
            self.assertEqual(len(entry["output"]["results"]), 6 * 2 * 2)
            self.assertEqual(entry["program"], fingerprint(harness.program))
            self.assertEqual(json.loads(json.dumps(entry)), entry)


if __name__ == "__main__":
    unittest.main()
