#!/usr/bin/env python3
"""hf-report [--fail] [--all] [--known PREFIX] REPORT...: joins the reports of a program's modules.

REPORT is a JSON file that hf-clang --hf-report=PATH has written, or a directory of such files. A
call of a function that one of the modules defines is no external call: the function is compiled
with the plugin, too. Prints the number of writes by outcome, then every write that may be missed:
external functions that no module defines, with the number of their calls and the place of the first,
and writes that cannot be announced. --known PREFIX: functions with such names do not write to
regions. --all prints all writes. --fail: exit status 1 if a write may be missed.
"""

import argparse
import collections
import json
import sys
from pathlib import Path


def read_reports(paths):
    """The reports of the files and directories."""
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        for file in files:
            yield json.loads(file.read_text(encoding="utf-8"))


def text_of(write):
    """One write as a line of text, as compilers print places."""
    detail = f" ({write['detail']})" if write["detail"] else ""
    return (f"{write['file'] or '?'}:{write['line']}: {write['function']}: "
            f"{write['outcome']} {write['what']}{detail}")


def lines_of_missed(writes):
    """What may be missed: a line per external function and per unannounced write."""
    calls = collections.defaultdict(list)
    for write in writes:
        if write["outcome"] == "external":
            calls[write["what"]].append(write)
        elif write["outcome"] == "unannounced":
            yield text_of(write)
    for name, places in sorted(calls.items()):
        first = places[0]
        yield (f"external {name}: {len(places)} call{'s' if len(places) > 1 else ''}, "
               f"the first in {first['function']}, {first['file'] or '?'}:{first['line']}")


def main():
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT")
    parser.add_argument("--fail", action="store_true", help="status 1 if a write may be missed")
    parser.add_argument("--all", action="store_true", help="print all writes")
    parser.add_argument("--known", action="append", default=[], metavar="PREFIX",
                        help="external functions that do not write to regions")
    options = parser.parse_args()
    try:
        reports = list(read_reports(options.reports))
    except (OSError, ValueError) as error:
        print(f"hf-report: {error}; is it a file that --hf-report=FILE.json has written?",
              file=sys.stderr)
        return 2
    defined = {name for report in reports for name in report["defined"]}
    known = tuple(options.known)
    writes = [write for report in reports for write in report["writes"]
              if write["outcome"] != "external" or
              not (write["what"] in defined or write["what"].startswith(known))]
    counts = collections.Counter(write["outcome"] for write in writes)
    names = ("instrumented", "elided", "redirected", "external", "unannounced")
    print(f"{len(reports)} modules: " + ", ".join(f"{counts[name]} {name}" for name in names))
    missed = list(lines_of_missed(writes))
    for line in map(text_of, writes) if options.all else missed:
        print("  " + line)
    return 1 if options.fail and missed else 0


if __name__ == "__main__":
    sys.exit(main())
