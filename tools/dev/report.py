#!/usr/bin/env python3
"""The report at the end of `./dev test`: a table of its stages, and what failed.

    report.py table DIRECTORY STAGE:STATUS:TITLE...
    report.py failures STAGE DIRECTORY

DIRECTORY/STAGE holds what a stage wrote: a file `phases` with a line for each part of the stage
(its kind, `building` or `running`; then wall clock and processor time in seconds, at its begin and
at its end), and what ctest wrote as JUnit XML. For `failures` DIRECTORY is that of the stage. The
XML is read line by line, for what a test printed may contain characters that XML does not allow.
"""

import collections
import html
import pathlib
import re
import sys

COMPLAINT = re.compile(
    "Failure|WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error|violation")
LINES_OF_A_FAILURE = 16
FAILURES_WITH_OUTPUT = 6
LONGEST_TESTS = 8


def lines_of(directory):
    """All lines of the XML files in a directory."""
    for file in sorted(pathlib.Path(directory).rglob("*.xml")):
        with file.open(encoding="utf-8", errors="replace") as text:
            yield from text


def attribute(line, name):
    """The value of an attribute of a <testcase> tag; empty if it has none."""
    found = re.search(rf'\b{name}="([^"]*)"', line)
    return html.unescape(found.group(1)) if found else ""


Test = collections.namedtuple("Test", "name outcome seconds output")


def tests_of(directory):
    """Each test that ctest reported in a directory, with the lines that it printed."""
    head, output = None, []
    for line in lines_of(directory):
        if "<testcase " in line:
            head, output = line, []
        if head is not None:
            output.append(line.rstrip("\n"))
            if "</testcase>" in line or "/>" in head:
                yield Test(attribute(head, "name"), attribute(head, "status"),
                           float(attribute(head, "time") or 0), output)
                head = None


def excerpt(output):
    """What a failed test printed from the first complaint on; its end if nothing is a complaint."""
    complaints = (i for i, line in enumerate(output) if i > 0 and COMPLAINT.search(line))
    begin = next(complaints, max(0, len(output) - LINES_OF_A_FAILURE + 4))
    return [html.unescape(line) for line in output[begin:begin + LINES_OF_A_FAILURE]]


def print_failures(stage, directory):
    """Each failed test, the command that runs it again, and an excerpt for the first few."""
    failed = (test for test in tests_of(directory) if test.outcome == "fail")
    for number, test in enumerate(failed):
        print(f"  failed: {test.name}   (./dev test --stage {stage} -R '{test.name}')")
        if number < FAILURES_WITH_OUTPUT:
            print("\n".join("    " + line for line in excerpt(test.output)))


def times_of(directory):
    """Seconds of a stage by (kind, wall or CPU)."""
    times = collections.Counter()
    phases = pathlib.Path(directory, "phases")
    for line in phases.read_text().splitlines() if phases.exists() else []:
        kind, wall, cpu, wall_end, cpu_end = line.split()
        times[kind, "wall"] += float(wall_end) - float(wall)
        times[kind, "CPU"] += float(cpu_end) - float(cpu)
    return times


def print_row(title, result, times, ran, skipped):
    numbers = [times[kind, clock] for kind in ("building", "running") for clock in ("wall", "CPU")]
    print(f"  {title:<34} {result:<6}" + "".join(f" {n:6.0f}" for n in (*numbers, ran, skipped)))


def print_table(directory, stages):
    """A row for each stage and their sum; the longest tests; tests that every stage skipped."""
    print(f"{'building s':>51}{'running s':>16}{'tests':>12}")
    heads = "".join(f" {head:>6}" for head in ("wall", "CPU", "wall", "CPU", "ran", "skipped"))
    print(f"  {'stage':<34} {'':<6}{heads}")
    total, ran_anywhere, skipped_somewhere, longest = collections.Counter(), [], [], []
    for stage in stages:
        number, status, title = stage.split(":", 2)
        place = pathlib.Path(directory, number)
        tests = list(tests_of(place))
        ran = [test.name for test in tests if test.outcome in ("run", "fail")]
        skipped = [test.name for test in tests if test.outcome == "notrun"]
        times = times_of(place)
        print_row(title, "passed" if status == "0" else "FAILED", times, len(ran), len(skipped))
        total.update(times)
        ran_anywhere += ran
        skipped_somewhere += skipped
        longest += [(test.seconds, number, test.name) for test in tests]
    print_row("sum", "", total, len(ran_anywhere), len(skipped_somewhere))
    longest.sort(reverse=True)
    if longest:
        print("  The longest tests:")
    for seconds, number, name in longest[:LONGEST_TESTS]:
        print(f"    {seconds:6.1f} s  stage {number}  {name}")
    nowhere = sorted(set(skipped_somewhere) - set(ran_anywhere))
    if nowhere:
        print("\n    ".join(["  Skipped, and run by none of these stages:", *nowhere]))
    else:
        print("  Every test that one stage skipped ran in another.")


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "table":
        print_table(arguments[1], arguments[2:])
    elif len(arguments) == 3 and arguments[0] == "failures":
        print_failures(arguments[1], arguments[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
