"""What was measured, looked up by what it was measured of."""

from claims import NotMeasured
from measured import Measured
from samples import Estimate, losses, pairwise

from .plan import C_TX, DRAM


class Results(Measured):
    def rates(self, name, work, of, threads=1, swaps=1):
        """Operations a second of each repetition; `of`: who, and on which storage."""
        wanted = {"work": work, "who": of[0], "storage": of[1], "threads": threads, "swaps": swaps}
        for one in self.entry(name)["output"]["rates"]:
            if all(one[key] == value for key, value in wanted.items()):
                return one["operations per second"]
        raise NotMeasured(f"{of[0]} on {of[1]} is not measured there")

    def rate(self, *args, **how):
        return Estimate.of(self.rates(*args, **how))

    def ratio(self, name, work, of, to, **how):
        """Of neighbours' speeds."""
        return Estimate.of(pairwise(self.rates(name, work, of, **how),
                                    self.rates(name, work, to, **how)))

    def loss(self, name, work, of, to):
        return losses(self.rates(name, work, of), self.rates(name, work, to))

    def speedup(self, name, work, threads, of=(C_TX, DRAM), swaps=1):
        """Against one thread; in one run, but not as neighbours."""
        return Estimate.of(pairwise(self.rates(name, work, of, threads=threads, swaps=swaps),
                                    self.rates(name, work, of, swaps=swaps)))

    def times(self, operation, of, at_once):
        """Nanoseconds of each repetition."""
        wanted = {"operation": operation, "who": of[0], "storage": of[1], "at_once": at_once}
        for one in self.entry("table")["output"]["table"]:
            if all(one[key] == value for key, value in wanted.items()):
                return one["ns"]
        raise NotMeasured(f"'{operation}' is not measured of {of[0]} on {of[1]}")

    def time_ratio(self, operation, of, to, at_once):
        return Estimate.of(pairwise(self.times(operation, of, at_once),
                                    self.times(operation, to, at_once)))

    def points(self, xs, estimate):
        """(x, estimate(x)) where there is one."""
        found = []
        for x in xs:
            try:
                found.append((x, estimate(x)))
            except NotMeasured:
                pass
        return found


def mean(estimates):
    """Of several, quartile by quartile."""
    many = list(estimates)
    if not many:
        raise NotMeasured("nothing of it was measured")
    return Estimate(*(sum(getattr(one, part) for one in many) / len(many)
                      for part in ("middle", "low", "high")))
