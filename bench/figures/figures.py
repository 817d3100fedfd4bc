#!/usr/bin/env python3
"""./dev figures: the figures of a paper, made on this machine (docs/benchmarks.md).

Three stages: measure.collect() runs the bench program and keeps what it writes; plot.py draws;
page.make() writes the page. The papers are in papers/, a package each.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import claims as claims_of
import drawing
import measure
import page
import surroundings
from papers import PAPERS
from words import number, short_number, span

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/figures"
PROGRAM = ROOT / "build/release/tools/holdfast/holdfast"

HELP = """\
NAME
    ./dev figures - make a paper's figures on this machine

SYNOPSIS
    ./dev figures list
    ./dev figures PAPER [--only PART]... [--short] [--set NAME=VALUE]... [--again]
                        [--no-plots] [--out DIRECTORY] [--from FILE] [--json FILE]

DESCRIPTION
    Measures what the paper's figures show with the release build of `holdfast bench`, draws them
    (SVG and PNG), and writes a page that holds each claim of the paper against what was measured.
    `list` tells which papers there are, of which parts their figures consist, how long each takes
    here, and which numbers --set changes.

    The first run installs matplotlib from PyPI in build/figures/venv. Each measurement is kept, so
    an interrupted run goes on where it was; a new build of the program measures anew.

    The machine should have nothing else to do meanwhile. As root the trees lie in huge pages.

OPTIONS
    --only PART         only this figure or section, e.g. 7; may be given more than once
    --short             tiny trees: shows in seconds that everything works, and tells nothing else
    --set NAME=VALUE    another number than the paper's, e.g. records=5M; may be given repeatedly
    --again             measure even what was measured before
    --no-plots          the page without images; installs nothing
    --out DIRECTORY     for the page (PAPER.md) and the folder PAPER with the images and all that
                        was measured: docs/figures, but build/figures/out with --only, --short,
                        --set or --no-plots
    --from FILE         draw what a former run measured (its measured.json), and measure nothing
    --json FILE         write claims and figures there as JSON, too; - for standard output
    --program FILE      this holdfast instead of the release build's, which is then not made
    --cache DIRECTORY   keep measurements there instead of in build/figures

EXIT STATUS
    0   the page is written, whatever became of the claims
    1   a measurement or a drawing failed
    2   arguments that make no sense
    3   matplotlib cannot be installed; --no-plots does without
    130 interrupted; run it again to go on

FILES
    docs/figures/PAPER.md           the page; its images and measured.json in docs/figures/PAPER
    build/figures/PAPER/*.json      the measurements, one a file; they may be removed at any time
    build/figures/venv              the private environment of matplotlib
"""


class UsageError(Exception):
    pass


def say(text):
    print(f"figures: {text}", file=sys.stderr, flush=True)


class Parser(argparse.ArgumentParser):
    def format_help(self):
        return HELP

    def error(self, message):
        raise UsageError(message)


def parse(arguments):
    parser = Parser(prog="./dev figures", allow_abbrev=False)
    parser.add_argument("paper")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--no-plots", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--json")
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--cache", type=Path, default=BUILD)
    # What ./dev asks before it installs and builds.
    parser.add_argument("--needs", action="store_true")
    options = parser.parse_args(arguments)
    if options.paper not in PAPERS and options.paper != "list":
        raise UsageError(f"there is no paper '{options.paper}'; there are: "
                         + ", ".join(PAPERS))
    return options


# ---------------------------------------------------------------- what is wanted


def settings_of(paper, options):
    settings = {**paper.settings, **(paper.short if options.short else {})}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals or name not in settings:
            raise UsageError(f"--set {text}: give NAME=VALUE, where NAME is one of "
                             + ", ".join(settings))
        try:
            settings[name] = number(value)
        except ValueError as why:
            raise UsageError(f"--set {text}: {why}") from why
    if settings.get("cores") == 0:
        settings["cores"] = len(os.sched_getaffinity(0))
    return settings


def parts_of(paper, options):
    for part in options.only:
        if part not in paper.parts:
            raise UsageError(f"--only {part}: there is no such part; there are "
                             + ", ".join(paper.parts))
    return options.only or list(paper.parts)


def place_of(options):
    """The documentation's page has all figures, with the numbers that they should have."""
    if options.out:
        return options.out
    partial = options.short or options.only or options.set or options.no_plots
    return BUILD / "out" if partial else ROOT / "docs/figures"


def list_papers():
    for paper in PAPERS.values():
        settings = settings_of(paper, argparse.Namespace(short=False, set=[]))
        measurements = paper.measurements(settings)
        print(f"{paper.name}: {paper.title}")
        for part, title in paper.parts.items():
            time = sum(one.seconds for one in measurements if part in one.parts)
            print(f"    {part:<12}{title:<68}{span(time) if time else '':>8}")
        total = sum(one.seconds for one in measurements)
        print(f"    {'all of it, as they share measurements':<80}{span(total):>8}")
        for name, meaning in paper.meanings.items():
            print(f"    --set {name}={short_number(settings[name])}\n          {meaning}")


# ---------------------------------------------------------------- the stages


@dataclass
class Measured:
    """What is written to measured.json: enough to make the page again."""

    command: str   # that makes it
    settings: dict
    left_out: dict
    entries: dict


def read_measured(file):
    try:
        return Measured(**json.loads(file.read_text(encoding="utf-8")))
    except OSError as why:
        raise UsageError(f"--from {file}: {why.strerror}") from why
    except (ValueError, TypeError) as why:
        raise UsageError(f"--from {file}: it is not what a former run measured") from why


def command_of(options):
    return " ".join(["./dev figures", options.paper, *(f"--only {one}" for one in options.only),
                     *(["--short"] if options.short else []),
                     *(f"--set {one}" for one in options.set)])


def find_measured(paper, options):
    """From the cache, the program, or a former run."""
    if options.source:
        return read_measured(options.source)
    settings = settings_of(paper, options)
    wanted = [one for one in paper.measurements(settings)
              if set(one.parts) & set(parts_of(paper, options))]
    if not os.access(options.program, os.X_OK):
        raise UsageError(f"{options.program} is no program")
    program = options.program.resolve()
    cache = measure.Cache(options.cache / paper.name, measure.fingerprint(program))
    entries, left_out = measure.collect(wanted, program, cache, say, options.again)
    return Measured(command_of(options), settings, left_out, entries)


def draw(python, figures, place):
    source = place / "figures.json"
    source.write_text(json.dumps(figures), encoding="utf-8")
    say(f"drawing {len(figures)} figures")
    env = {**os.environ, "MPLCONFIGDIR": str(BUILD / "venv/config")}
    drawn = subprocess.run([python, "-B", HERE / "plot.py", source, place], env=env, text=True,
                           check=False, capture_output=True)
    source.unlink()
    if drawn.returncode != 0:
        raise measure.MeasureError(1, "the figures could not be drawn: "
                                   + (drawn.stderr.strip().splitlines() or ["why?"])[-1])


def as_json(figures, claims):
    return {"figures": figures,
            "claims": [{"part": one.part, "claim": one.text, "criterion": one.criterion,
                        "measured": one.measured, "outcome": one.outcome.value}
                       for one in claims]}


def write(file, text):
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as why:
        raise UsageError(f"{file} cannot be written: {why.strerror}") from why


def write_measured(file, measured):
    """A line a measurement: a change of one shows as such."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}"
                       for name, entry in measured.entries.items())
    write(file, f'{{\n "command": {json.dumps(measured.command)},\n'
                f' "settings": {json.dumps(measured.settings)},\n'
                f' "left_out": {json.dumps(measured.left_out)},\n'
                f' "entries": {{\n{lines}\n }}\n}}\n')


def make(options):
    paper = PAPERS[options.paper]
    parts = parts_of(paper, options)
    # First what may fail: it would be a pity after half an hour of measuring.
    python = None if options.no_plots else surroundings.make_environment(BUILD / "venv", say)
    measured = find_measured(paper, options)
    results = paper.results(measured.settings, measured.entries, measured.left_out)
    drawn, missing = paper.figures(results)
    figures = drawing.as_data([one for one in drawn if one.part in parts])
    claims = [one for one in paper.claims(results) if one.part in parts]
    out = place_of(options)
    write_measured(out / paper.name / "measured.json", measured)
    if python:
        draw(python, figures, out / paper.name)
    remarks = paper.remarks(results) + (missing if not options.only else [])
    text = page.make(paper, figures, claims, remarks, measured.command, paper.name,
                     python is not None)
    write(out / f"{paper.name}.md", text)
    if options.json == "-":
        print(json.dumps(as_json(figures, claims), indent=2))
    elif options.json:
        write(Path(options.json), json.dumps(as_json(figures, claims), indent=2) + "\n")
    say(f"of {len(claims)} claims: {claims_of.count(claims)}")
    say(f"the page is {out / paper.name}.md")


def needs(options):
    """What ./dev has to see to: 'program', 'PAPER-peers' where other stores take part, and Debian
    packages."""
    if options.paper == "list":
        return []
    found = [] if options.source or options.program != PROGRAM else ["program"]
    if found and PAPERS[options.paper].has_peers:
        found.append(f"{options.paper}-peers")
    if not options.no_plots and not surroundings.can_make_environments():
        found += ["python3", "python3-venv"]
    return found


def main(arguments):
    try:
        options = parse(arguments)
        if options.paper != "list":
            settings_of(PAPERS[options.paper], options)
            parts_of(PAPERS[options.paper], options)
        if options.needs:
            print("\n".join(needs(options)))
        elif options.paper == "list":
            list_papers()
        else:
            make(options)
    except UsageError as why:
        say(f"{why}; './dev figures --help' tells more")
        return 2
    except surroundings.InstallError as why:
        say(f"{why}; --no-plots does without matplotlib")
        return 3
    except measure.MeasureError as why:
        say(str(why))
        return why.status
    except KeyboardInterrupt:
        say("interrupted; what was measured is kept, run it again to go on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
