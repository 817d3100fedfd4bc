"""Order statistics of a few repetitions, and what a comparison of them may conclude."""

from dataclasses import dataclass


def quantile(values, q):
    """At fraction q of the sorted values, between two of them by linear interpolation."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, no quantile")
    at = q * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


@dataclass(frozen=True)
class Estimate:
    """A median with its quartiles."""

    middle: float
    low: float
    high: float

    @staticmethod
    def of(values):
        return Estimate(quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75))


def pairwise(values, others):
    """values[i] / others[i]. Repetition i of either ran next to the other, so what disturbs the
    machine for longer than a repetition falls out of the ratio."""
    return [value / other for value, other in zip(values, others)]


def losses(values, others):
    """What each repetition falls short of the other, as a fraction."""
    return Estimate.of([1 - ratio for ratio in pairwise(values, others)])


def quotient(values, others):
    """The same of runs that were not neighbours, so the quartiles are those of the worst case."""
    value, other = Estimate.of(values), Estimate.of(others)
    return Estimate(value.middle / other.middle, value.low / other.high, value.high / other.low)


def greatest(estimates):
    return max(estimates, key=lambda one: one.middle)


def least(estimates):
    return min(estimates, key=lambda one: one.middle)
