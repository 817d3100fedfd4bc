"""Reads what rooms say of themselves to the mutation gate: a file mutation.txt in a room's folder.

    room NAME                 as targets call it (crashlab/targets); without it, the folder's name
    tests PROGRAM[:FILTER]... test programs that judge (a filter as gtest takes it), besides the lab
                              and those that the room's directory below tests/ declares
    targets own               only the room's own targets come by its code
    targets none              no target of the lab does: the test programs judge alone
    skip FILE: WHY            nothing of this file is broken for the lab: it has no model of it
    tested REGEX: WHY         statements that the test programs judge alone: it has no model of them
    note NAME...              calls that enter something in a list of lines to be written back
    log NAME...               calls that must come before a first change
    fence CALL...             calls that wait for the medium, with what stands before: op.commit
    mark NAME...              calls that tell other threads of a change (mark_* are, without saying)
    validation NAME...        calls that say that what was read may not hold; dropped: it holds
    volatile REGEX: WHY       statements of this room that store to what no crash needs

A line that begins with # is a comment.
"""

import pathlib
import re

# Where rooms are.
TOPS = ("src", "tools", "sim", "include")


class Room:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.tests, self.targets = [], "all"
        self.skip, self.volatile, self.tested = {}, [], []
        self.notes, self.logs, self.marks, self.validations = set(), set(), set(), set()
        self.fences = set()  # of this room alone

    def read(self, path):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.partition(" ")
            try:
                self.take(word, rest.strip())
            except (KeyError, ValueError):
                raise SystemExit(f"{path}:{number}: what is this?") from None
        return self

    def take(self, word, rest):
        if word == "room":
            self.name = rest
        elif word == "tests":
            self.tests += [tuple((t + ":").split(":")[:2]) for t in rest.split()]
        elif word == "targets":
            if rest not in ("own", "none"):
                raise ValueError(rest)
            self.targets = rest
        elif word == "skip":
            file, why = rest.split(": ", 1)
            self.skip[f"{self.folder}/{file}"] = why
        elif word in ("volatile", "tested"):
            pattern, why = rest.split(": ", 1)
            {"volatile": self.volatile, "tested": self.tested}[word].append((pattern, why))
            re.compile(pattern)
        else:
            {"note": self.notes, "log": self.logs, "mark": self.marks, "fence": self.fences,
             "validation": self.validations}[word].update(rest.split())

    def is_tested(self, text):
        return any(re.search(pattern, text) for pattern, _ in self.tested)


class Rooms(list):
    def of(self, name):
        """The room of a file; None: it belongs to none that can be mutated."""
        inside = [r for r in self if name.startswith(r.folder + "/")]
        return max(inside, key=lambda r: len(r.folder), default=None)

    def called(self, name):
        return next((r for r in self if r.name == name), None)


def tests_of(root, folder):
    """The test programs of a room's own directory, or of the one that it is a part of."""
    below = [part for part in pathlib.Path(folder).parts if part != "src"]
    for kind in ("rooms", "programs"):
        top = pathlib.Path(root, "tests", kind)
        place = top.joinpath(*below)
        while place != top and not (place / "CMakeLists.txt").exists():
            place = place.parent
        if place != top:
            text = (place / "CMakeLists.txt").read_text()
            return [(name, "") for name in re.findall(r"hf_test\((\w+)", text)]
    return []


def read(root):
    """All rooms of a source tree, in the order of their folders."""
    found = Rooms()
    files = [p for top in TOPS for p in sorted(pathlib.Path(root, top).rglob("mutation.txt"))]
    for path in files:
        folder = str(path.parent.relative_to(root))
        room = Room(path.parent.name, folder).read(path)
        named = {name for name, _ in room.tests}
        room.tests[:0] = [t for t in tests_of(root, folder) if t[0] not in named]
        found.append(room)
    # Rooms call each other: whoever names a call names it for all.
    for words in ("notes", "logs", "marks", "validations"):
        every = set().union(*(getattr(r, words) for r in found))
        for r in found:
            setattr(r, words, every)
    return found
