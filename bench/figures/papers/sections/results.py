"""What was measured, looked up by workload, row and number of threads."""

from claims import NotMeasured
from measured import Measured
from samples import Estimate, pairwise

from .plan import ORIGINAL


def exactly(value):
    """A count has no spread."""
    return Estimate(value, value, value)


class Results(Measured):
    def _find(self, kind, work, **of):
        for one in self.entry(work)["output"][kind]:
            if all(one[key] == value for key, value in of.items()):
                return one
        raise NotMeasured(f"{work} with {of} is not measured")

    def row(self, work, row, threads):
        return self._find("rows", work, row=row, threads=threads)

    def counts(self, work, threads):
        """Of the original: stores, sections."""
        return self._find("counts", work, threads=threads)

    def times(self, work, row, threads):
        """Seconds an operation of each repetition."""
        found = self.row(work, row, threads)
        return [one / found["operations"] for one in found["seconds"]]

    def seconds(self, work, row, threads):
        return Estimate.of(self.row(work, row, threads)["seconds"])

    def by(self, work, row, threads, other=ORIGINAL):
        """The row's time by the other's, of neighbours."""
        return Estimate.of(pairwise(self.times(work, row, threads),
                                    self.times(work, other, threads)))

    def speedup(self, work, row, threads):
        """Against one thread; in one run, but not as neighbours."""
        return Estimate.of(pairwise(self.row(work, row, 1)["seconds"],
                                    self.row(work, row, threads)["seconds"]))

    def a_section(self, work, row, threads, field):
        found = self.row(work, row, threads)
        return found[field] / max(1, found["sections"])
