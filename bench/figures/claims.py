"""What a paper claims, held against what was measured.

A claim holds or does not only where both quartiles of the repetitions say so. In between it is
undecided: running it again might turn it.
"""

from dataclasses import dataclass
from enum import Enum

from samples import greatest
from words import percent, percents


class Outcome(Enum):
    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNMEASURED = "not measured"


class NotMeasured(Exception):
    """Why something that a claim or a figure needs is not there."""


@dataclass(frozen=True)
class Claim:
    part: str        # the figure or section that it belongs to
    text: str        # what the paper says
    criterion: str   # when we say that it holds
    measured: str
    outcome: Outcome


def at_most(estimate, limit):
    if estimate.high <= limit:
        return Outcome.HOLDS
    return Outcome.FAILS if estimate.low > limit else Outcome.UNDECIDED


def at_least(estimate, limit):
    if estimate.low >= limit:
        return Outcome.HOLDS
    return Outcome.FAILS if estimate.high < limit else Outcome.UNDECIDED


def less(estimate, other):
    if estimate.high < other.low:
        return Outcome.HOLDS
    return Outcome.FAILS if estimate.low > other.high else Outcome.UNDECIDED


def all_of(outcomes):
    outcomes = list(outcomes)
    for decisive in (Outcome.FAILS, Outcome.UNDECIDED):
        if decisive in outcomes:
            return decisive
    return Outcome.HOLDS if outcomes else Outcome.UNMEASURED


def true_if(condition):
    return Outcome.HOLDS if condition else Outcome.FAILS


def judge(part, text, criterion, find):
    """`find` gives the outcome and what was measured, or raises NotMeasured."""
    try:
        outcome, measured = find()
    except NotMeasured as why:
        outcome, measured = Outcome.UNMEASURED, str(why)
    return Claim(part, text, criterion, measured, outcome)


def not_measurable(part, text, why):
    return Claim(part, text, "", why, Outcome.UNMEASURED)


def cost(part, text, limit, find):
    """A cost that the paper gives a range of: ours may be smaller, not greater."""
    def held():
        found = find()
        return at_most(greatest(found), limit), percents(found)
    return judge(part, text, f"at most {percent(limit)}", held)


def count(claims):
    """How many there are of each outcome, in words."""
    plural = {Outcome.HOLDS: "hold", Outcome.FAILS: "do not hold"}
    said = []
    for outcome in Outcome:
        number = sum(one.outcome is outcome for one in claims)
        words = outcome.value if number == 1 else plural.get(outcome, outcome.value)
        said += [f"{number} {words}"] if number else []
    return ", ".join(said)
