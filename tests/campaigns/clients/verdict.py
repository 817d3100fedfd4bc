"""What a scenario has to print, and the judgement of what it printed.

A program prints a line for each step: `ok STEP`, `lacks STEP: WHY` where the library has no such
operation, or `FAILED STEP: HOW`. It ends with 0 if nothing failed.
"""

from dataclasses import dataclass, field

# Every library has these; a program may not say that its library lacks them.
NEEDED = ("set_get", "types", "empty", "binary", "large", "long_key", "add", "delete", "counters",
          "get_many", "expiry")
STEPS = NEEDED + ("version", "stats", "replace", "append_prepend", "cas", "touch", "gat", "noreply",
                  "flush_all")


@dataclass
class Verdict:
    """Passed only if every step is accounted for."""

    done: list = field(default_factory=list)
    lacks: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)

    @property
    def passed(self):
        return not self.wrong


def judge(status, output, steps=STEPS):
    """Judges a run that ended with `status`. A step that is not mentioned was not tried."""
    verdict = Verdict()
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        step, _, why = rest.partition(": ")
        if word == "ok":
            verdict.done.append(step)
        elif word == "lacks" and step in NEEDED:
            verdict.wrong.append(f"{step}: must not be left out ({why})")
        elif word == "lacks":
            verdict.lacks[step] = why
        elif word == "FAILED":
            verdict.wrong.append(rest)
    mentioned = {*verdict.done, *verdict.lacks, *(wrong.split(":")[0] for wrong in verdict.wrong)}
    missing = [step for step in steps if step not in mentioned]
    if missing:
        verdict.wrong.append(f"not tried: {', '.join(missing)}")
    if status != 0 and (missing or not verdict.wrong):
        tail = " / ".join(output.splitlines()[-4:])
        verdict.wrong.append(f"the program ended with {status}: {tail}")
    return verdict
