"""Collects measurements: each is one run of the bench program, kept as the JSON that it wrote.

A measurement is found again by its command and the program's contents, so a collection that was
interrupted goes on where it was, and a new build measures anew.
"""

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from words import span

# Exit status of the program when memory or disk do not suffice (hf::errc::no_space).
NO_SPACE = 8
INTERRUPTED = 130


@dataclass(frozen=True)
class Measurement:
    name: str
    arguments: tuple  # of the program, without --json
    parts: tuple      # figures and sections that need it
    seconds: float    # about what it takes; for the progress only


class MeasureError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def fingerprint(program):
    return hashlib.sha256(Path(program).read_bytes()).hexdigest()


def cache_key(arguments, program_hash):
    """Of a command: other arguments, or another program, have another key."""
    text = json.dumps([program_hash, list(arguments)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Cache:
    """A file a measurement, whole or not there."""

    def __init__(self, place, program_hash):
        self.place = place
        self.program_hash = program_hash

    def file(self, measurement):
        key = cache_key(measurement.arguments, self.program_hash)
        return self.place / f"{measurement.name}-{key}.json"

    def find(self, measurement):
        try:
            return json.loads(self.file(measurement).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def keep(self, measurement, entry):
        file = self.file(measurement)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(file)


class Progress:
    """Says what comes next and how long all of it will take, by how long the past took."""

    def __init__(self, to_come, say):
        self.to_come = sum(one.seconds for one in to_come)
        self.number, self.of = 0, len(to_come)
        self.expected = self.taken = 0.0
        self.say = say

    def left(self):
        # What was foreseen of a machine that nobody has seen weighs as much as 10 s measured.
        factor = (self.taken + 10) / (self.expected + 10)
        return (self.to_come - self.expected) * factor

    def begin(self, measurement):
        self.number += 1
        self.say(f"measuring {measurement.name} ({self.number} of {self.of}); "
                 f"about {span(self.left())} left")

    def end(self, measurement, seconds):
        self.expected += measurement.seconds
        self.taken += seconds


def run(program, measurement):
    """What the program measured and ""; None and why where there is no room for it."""
    command = [str(program), *measurement.arguments, "--json", "-"]
    try:
        done = subprocess.run(command, text=True, check=False, stdin=subprocess.DEVNULL,
                              capture_output=True)
    except OSError as why:
        raise MeasureError(2, f"{program} cannot be run: {why.strerror}") from why
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    if done.returncode == NO_SPACE:
        return None, last
    if done.returncode in (INTERRUPTED, -2, -15):
        raise KeyboardInterrupt
    if done.returncode != 0:
        raise MeasureError(1, f"{measurement.name}: '{' '.join(command)}' ended with "
                              f"{done.returncode}: {last}")
    return json.loads(done.stdout), ""


def collect(measurements, program, cache, say, again=False):
    """Of each measurement's name its entry (with the program's "output"); and of those that there
    was no room for, why. These are not kept: the next machine, or hour, may have more."""
    found, left_out = {}, {}
    if not again:
        found = {one.name: cache.find(one) for one in measurements}
        found = {name: entry for name, entry in found.items() if entry is not None}
    if found:
        say(f"{len(found)} of {len(measurements)} measurements are there already "
            "(--again measures them anew)")
    to_come = [one for one in measurements if one.name not in found]
    progress = Progress(to_come, say)
    for one in to_come:
        progress.begin(one)
        load, begun = os.getloadavg()[0], time.time()
        output, why = run(program, one)
        seconds = time.time() - begun
        progress.end(one, seconds)
        if fingerprint(program) != cache.program_hash:
            raise MeasureError(1, f"{program} was made anew while it was measured; run it again")
        if output is None:
            say(f"left out: {why}")
            left_out[one.name] = why
            continue
        found[one.name] = {
            "name": one.name, "arguments": list(one.arguments), "program": cache.program_hash,
            "begun": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begun)),
            "seconds": round(seconds, 1), "load": round(load, 2), "output": output}
        cache.keep(one, found[one.name])
    return {one.name: found[one.name] for one in measurements if one.name in found}, left_out
