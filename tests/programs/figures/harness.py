"""Runs ./dev figures' program with the pretender, in a directory of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIGURES = HERE.parents[2] / "bench/figures"
sys.path.insert(0, str(FIGURES))


class Harness:
    """A cache, a place for pages, and a log of what was measured."""

    def __init__(self, program=HERE / "pretender.py", paper="incll"):
        self.paper = paper
        self.directory = tempfile.TemporaryDirectory()
        self.place = Path(self.directory.name)
        self.program = program
        self.log = self.place / "calls"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def run(self, *arguments, model=None, plots=False):
        env = {**os.environ, "PRETEND": json.dumps(model or {}), "PRETEND_LOG": str(self.log)}
        command = [sys.executable, "-B", FIGURES / "figures.py", self.paper, "--program",
                   self.program, "--cache", self.place / "cache", "--out", self.place / "out",
                   "--json", self.place / "told.json", *([] if plots else ["--no-plots"]),
                   *arguments]
        return subprocess.run(command, env=env, text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=600)

    def calls(self):
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def told(self):
        return json.loads((self.place / "told.json").read_text(encoding="utf-8"))

    def page(self):
        return (self.place / f"out/{self.paper}.md").read_text(encoding="utf-8")

    def measured(self):
        file = self.place / f"out/{self.paper}/measured.json"
        return json.loads(file.read_text(encoding="utf-8"))

    def outcome(self, part, words):
        """Of the one claim of this part whose text has these words."""
        found = [one["outcome"] for one in self.told()["claims"]
                 if one["part"] == part and words in one["claim"]]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} claims of part {part} have '{words}'")
        return found[0]
