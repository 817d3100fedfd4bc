"""Reads argued.txt: mutants that change nothing, and why.

    in FILE, FUNCTION
      KIND: TEXT
      KIND: TEXT
    because
      the argument

TEXT is the statement as ./dev mutate --list shows it. A line that begins with # is a comment.
"""


def read(path):
    """From the mutant's key (file, function, kind, text) to the argument."""
    arguments = {}
    keys, lines, place, is_argument = [], [], None, False

    def finish():
        if keys and not "".join(lines).strip():
            raise SystemExit(f"{path}: {', '.join(keys[0])}: the argument is missing")
        for key in keys:
            arguments[key] = " ".join(lines)

    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        if line.startswith("in "):
            if is_argument:
                finish()
                keys, lines, is_argument = [], [], False
            file, _, function = words[3:].partition(", ")
            place = (file, function)
        elif words == "because":
            is_argument = True
        elif is_argument:
            lines.append(words)
        elif place and ": " in words:
            kind, _, text = words.partition(": ")
            keys.append((*place, kind, text))
        elif keys:
            # A long statement goes on.
            keys[-1] = (*keys[-1][:3], keys[-1][3] + " " + words)
        else:
            raise SystemExit(f"{path}:{number}: what is this?")
    finish()
    return arguments
