"""hf-clang as the tests call it, and what its programs print."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PROGRAMS = HERE / "programs"

# What a program may do before its time is over; the programs need milliseconds.
SECONDS = 60


class Toolchain:
    """The plugin's build directory, a directory to work in, and the libraries to link."""

    def __init__(self, plugin, work, libraries):
        self.bin = Path(plugin) / "bin"
        self.work = Path(work)
        self.libraries = [str(library) for library in libraries]
        self.work.mkdir(parents=True, exist_ok=True)

    def run(self, command, expected=0, **environment):
        """Runs a command and returns what it printed. Fails unless it ends with `expected`."""
        done = subprocess.run(
            [str(word) for word in command], env={**os.environ, **environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        if done.returncode != expected:
            words = " ".join(str(word) for word in command)
            raise AssertionError(f"{words}\nended with {done.returncode}, not {expected}:\n"
                                 + done.stdout)
        return done.stdout

    def compile(self, source, *flags, name=None, runtime=None, expected=0):
        """Compiles and links a program with the plugin, and returns its path."""
        source = Path(source)
        driver = self.bin / ("hf-clang++" if source.suffix == ".cpp" else "hf-clang")
        target = self.work / (name or source.stem + "".join(flags).replace("/", "_")[:80])
        own = re.search(r"^// flags: (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE)
        libraries = self.libraries + ["-lstdc++", "-lm", "-pthread"] if runtime is None else runtime
        self.run([driver, source, "-o", target, f"-I{ROOT}/include", f"-I{ROOT}/tests/programs",
                  "-Wno-psabi", "--hf-runtime=" + " ".join(libraries),
                  *(own.group(1).split() if own else []), *flags], expected)
        return target

    def report(self, source, *flags):
        """The JSON report on a program."""
        path = self.work / (Path(source).stem + ".json")
        self.compile(source, *flags, f"--hf-report={path}", name="reported")
        return json.loads(path.read_text(encoding="utf-8"))


def outcomes(report, function=None):
    """(outcome, what, line) of each write of the report."""
    return [(w["outcome"], w["what"], w["line"]) for w in report["writes"]
            if function is None or w["function"] == function]


def skip(why):
    """Ends the test as skipped, as ctest understands it."""
    print("skipped:", why)
    sys.exit(77)
