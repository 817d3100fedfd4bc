#!/usr/bin/env python3
"""Runs the client libraries of other languages against `holdfast serve`: see docs/server.md.

./dev client-test calls it; --packages is how it learns which Debian packages are missing.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from libraries import LIBRARIES, chosen
from toolchains import debian_packages
from trial import try_library

ROOT = Path(__file__).resolve().parents[3]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="./dev client-test",
        description="Runs memcached's client libraries against the release build's server.")
    parser.add_argument("library", nargs="*", help="only these; all if none is named")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the table there, too")
    parser.add_argument("--program", metavar="FILE", type=Path,
                        default=ROOT / "build/release/tools/holdfast/holdfast",
                        help="this holdfast instead of the release build's, which is then not made")
    parser.add_argument("--packages", action="store_true",
                        help="print the Debian packages that it takes, and end")
    return parser.parse_args(arguments)


def print_row(name, version, language, result, seconds):
    print(f"{name:<24}{version:<42}{language:<10}{result:<8}{seconds:>8}", flush=True)


def print_trial(trial):
    result = "passed" if trial.verdict.passed else "FAILED"
    print_row(trial.library.name, trial.version[:41], trial.library.language, result,
              f"{trial.seconds:.1f}")
    for wrong in trial.verdict.wrong:
        print(f"    {wrong}", flush=True)
    if trial.verdict.lacks:
        print(f"    it has no {', '.join(sorted(trial.verdict.lacks))}", flush=True)


def as_json(trials):
    return [{"library": one.library.name, "version": one.version,
             "language": one.library.language, "passed": one.verdict.passed,
             "seconds": round(one.seconds, 1), "wrong": one.verdict.wrong,
             "steps": one.verdict.done, "lacks": one.verdict.lacks} for one in trials]


def main(arguments):
    options = parse(arguments)
    try:
        libraries = chosen(options.library)
    except KeyError as unknown:
        print(f"client-test: there is no library {unknown}; there are: "
              + ", ".join(one.name for one in LIBRARIES), file=sys.stderr)
        return 2
    if options.packages:
        print("\n".join(debian_packages(libraries)))
        return 0
    if options.list:
        print("\n".join(one.name for one in libraries))
        return 0
    if not os.access(options.program, os.X_OK):
        print(f"client-test: {options.program} is no program", file=sys.stderr)
        return 2
    print_row("library", "version", "language", "result", "seconds")
    trials = []
    for library in libraries:
        trials.append(try_library(library, options.program.resolve(), ROOT / "build/clients"))
        print_trial(trials[-1])
    failed = sum(not one.verdict.passed for one in trials)
    print(f"{len(trials) - failed} passed, {failed} failed")
    if options.json:
        options.json.write_text(json.dumps(as_json(trials), indent=2) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
