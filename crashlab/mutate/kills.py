"""Reads and writes kills.txt: where each mutant was noticed last time.

    FILE FUNCTION DIGEST TARGET SEED PASS

DIGEST stands for the mutant's kind and text. The list saves time and decides nothing: a hunt begins
with the place that it names, and goes on with all others when nothing is noticed there.
"""

import hashlib


def place(key):
    file, function, kind, text = key
    return f"{file} {function} {hashlib.sha256(f'{kind}: {text}'.encode()).hexdigest()[:12]}"


class Kills(dict):
    """From a mutant's key to the target, seed and pass of its hunt."""

    def get(self, key, default=None):
        return super().get(place(key), default)

    def __setitem__(self, key, kill):
        super().__setitem__(place(key), tuple(kill))

    def by_file(self):
        """For each file, how many of its mutants each target has noticed."""
        found = {}
        for where, (target, _, _) in self.items():
            scores = found.setdefault(where.split()[0], {})
            scores[target] = scores.get(target, 0) + 1
        return found


def read(path):
    known = Kills()
    for line in path.read_text().splitlines() if path.exists() else []:
        words = line.split()
        if len(words) == 6:
            dict.__setitem__(known, " ".join(words[:3]), tuple(words[3:]))
    return known


def write(path, known, existing):
    """Of `known` what belongs to `existing`, the keys of all mutants that there are."""
    alive = {place(key) for key in existing}
    lines = [f"{where} {' '.join(kill)}" for where, kill in sorted(known.items())
             if where in alive]
    path.write_text("\n".join(lines) + "\n")
