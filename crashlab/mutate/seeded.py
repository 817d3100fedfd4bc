"""Reads seeded.txt: bugs that other people's code had, written into ours.

    bug WHAT IS WRONG
    in FILE
    instead of | behind
      TEXT
    comes
      CODE

TEXT stands in the file once, whatever its white space; ... in it is anything. It is a row of whole
statements; one that ends with { goes on to its closing brace. A line that begins with # is a
comment.
"""

import re
from dataclasses import dataclass, field

KIND = "seeded bug"


@dataclass
class Bug:
    name: str
    file: str = ""
    how: str = ""
    text: list = field(default_factory=list)
    code: list = field(default_factory=list)

    def pattern(self):
        parts = " ".join(self.text).split("...")
        return r"\s*.*?\s*".join(r"\s+".join(map(re.escape, p.split())) for p in parts)


def read(path):
    bugs, lines = [], None
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        words = line.strip()
        if not words or line.startswith("#"):
            continue
        if line.startswith("bug "):
            bugs.append(Bug(words[4:]))
            lines = None
        elif line.startswith("in ") and bugs:
            bugs[-1].file = words[3:]
        elif line in ("instead of", "behind") and bugs:
            bugs[-1].how, lines = line, bugs[-1].text
        elif line == "comes" and bugs:
            lines = bugs[-1].code
        elif lines is not None and line.startswith(" "):
            lines.append(words)
        else:
            raise SystemExit(f"{path}:{number}: what is this?")
    return bugs


def plant(file, bug):
    """The mutant of a sources.File that is this bug."""
    found = list(re.finditer(bug.pattern(), file.source, re.DOTALL))
    if len(found) != 1:
        raise SystemExit(f"mutate: seeded bug '{bug.name}': its text stands in {bug.file} "
                         f"{len(found)} times")
    start, end = found[0].span()
    if file.source[end - 1] not in ";}{":
        raise SystemExit(f"mutate: seeded bug '{bug.name}': its text is no whole statement")
    if file.source[end - 1] == "{":
        last = next(i for i, t in enumerate(file.tokens) if t.end == end)
        end = file.tokens[file.pair[last]].end
    m = file.seeded(bug.name, start)
    code = " ".join(bug.code)
    if bug.how == "behind":
        file.edit(start, end, [m], lambda: "",
                  lambda: f" if (::hf::is_mutant({m.number})) {{ {code} }}")
    else:
        file.edit(start, end, [m],
                  lambda: f"{{ if (::hf::is_mutant({m.number})) {{ {code} }} else {{ ",
                  lambda: " } }")
    return m
