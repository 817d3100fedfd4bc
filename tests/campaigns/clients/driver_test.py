#!/usr/bin/env python3
"""The driver of ./dev client-test notices what is wrong. It takes nothing that is not there."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

from liar import Liar
from libraries import LIBRARIES
from server import closed_port
from toolchains import TOOLS, Program
from trial import notices, run
from verdict import NEEDED, STEPS, judge

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ALL_WELL = "".join(f"ok {step}\n" for step in STEPS)


def dev(*arguments):
    return subprocess.run([ROOT / "dev", "client-test", *arguments], text=True, timeout=60,
                          capture_output=True, check=False)


def shell(script):
    """A program that ignores its arguments."""
    return Program(["sh", "-c", script, "program"], "1", HERE, dict(os.environ))


class TheVerb(unittest.TestCase):
    def test_lists_the_libraries(self):
        listed = dev("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(listed.stdout.splitlines(), [one.name for one in LIBRARIES])

    def test_refuses_an_unknown_name_and_says_which_there_are(self):
        refused = dev("libmemcached", "no-such-library")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no-such-library", refused.stderr)
        for library in LIBRARIES:
            self.assertIn(library.name, refused.stderr)

    def test_refuses_a_program_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as place:
            refused = subprocess.run(
                [sys.executable, "-B", HERE / "client_test.py", "--program", Path(place) / "none"],
                capture_output=True, timeout=60, check=False)
        self.assertEqual(refused.returncode, 2)


class TheTable(unittest.TestCase):
    def test_is_that_of_the_documentation(self):
        page = (ROOT / "docs/server.md").read_text(encoding="utf-8")
        section = page.split("## Client libraries")[1].split("\n### ")[0]
        rows = re.findall(r"^\| (\w+) \| (`.*) \|$", section, re.MULTILINE)
        documented = {(language, name) for language, names in rows
                      for name in re.findall(r"`([^`]+)`", names)}
        self.assertEqual(documented, {(one.language, one.name) for one in LIBRARIES})

    def test_names_programs_and_tool_chains_that_are_there(self):
        for library in LIBRARIES:
            self.assertTrue((HERE / library.program).is_file(), library.program)
            self.assertIn(library.language, TOOLS)

    def test_leaves_no_program_out(self):
        there = {path.relative_to(HERE).as_posix() for path in HERE.glob("*/with_*.*")
                 if "__pycache__" not in path.parts}
        self.assertEqual(there, {library.program for library in LIBRARIES})


class AVerdict(unittest.TestCase):
    def test_is_passed_where_every_step_went_well(self):
        self.assertTrue(judge(0, ALL_WELL).passed)

    def test_is_failed_by_a_step_that_nobody_mentioned(self):
        for step in STEPS:
            self.assertFalse(judge(0, ALL_WELL.replace(f"ok {step}\n", "")).passed, step)

    def test_is_failed_by_silence(self):
        self.assertFalse(judge(0, "").passed)

    def test_is_failed_by_a_failure_even_with_a_good_exit_status(self):
        self.assertFalse(judge(0, ALL_WELL + "FAILED cas: how\n").passed)

    def test_is_failed_by_the_exit_status_alone(self):
        self.assertFalse(judge(1, ALL_WELL).passed)

    def test_lets_a_library_lack_only_what_is_not_needed(self):
        for step in STEPS:
            text = ALL_WELL.replace(f"ok {step}\n", f"lacks {step}: no such operation\n")
            self.assertEqual(judge(0, text).passed, step not in NEEDED, step)


class TheLiar(unittest.TestCase):
    def test_changes_what_a_server_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as server, \
                Liar(server.getsockname()[1]) as liar, \
                socket.create_connection(("127.0.0.1", liar.port), timeout=10) as client:
            client.sendall(b"first")
            behind, _ = server.accept()
            with behind:
                self.assertEqual(behind.recv(100), b"first")
                behind.sendall(b"the first one")
                self.assertEqual(client.recv(100), b"the f1rst one")


class ATrial(unittest.TestCase):
    def test_fails_a_program_that_is_content_without_a_server(self):
        unnoticed = notices(shell(f"printf '{ALL_WELL}ok write\\n'"), None)
        self.assertIn("without a server", unnoticed[0])

    def test_fails_a_program_that_does_not_notice_a_changed_value(self):
        # It tells the phases apart, and nothing else.
        program = shell(f"[ $3 = scenario ] || exit 1; printf '{ALL_WELL}'")
        unnoticed = notices(program, SimpleNamespace(port=closed_port()))
        self.assertIn("changed value", unnoticed[0])

    def test_believes_a_program_that_fails_for_both(self):
        program = shell("[ $3 = scenario ] && echo FAILED set_get: other; exit 1")
        self.assertEqual(notices(program, SimpleNamespace(port=closed_port())), [])

    def test_reports_how_a_program_ended(self):
        self.assertEqual(run(shell("echo said; exit 3"), 1, "write"), (3, "said\n"))


if __name__ == "__main__":
    unittest.main()
