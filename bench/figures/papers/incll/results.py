"""What was measured, looked up by what it was measured of."""

from claims import NotMeasured
from measured import Measured
from samples import Estimate, losses

from .plan import INCLL, MT_PLUS, size_name, sizes


class Results(Measured):
    def cell(self, name, discipline, spread, workload="A", threads=None, latency=0):
        """The repetitions of one point."""
        wanted = {"discipline": discipline, "distribution": spread, "workload": workload,
                  "fence latency ns": latency}
        if threads is not None:
            wanted["threads"] = threads
        for one in self.entry(name)["output"]["results"]:
            if all(one[key] == value for key, value in wanted.items()):
                return one["repetitions"]
        raise NotMeasured(f"{discipline} is not measured there")

    def speeds(self, *of, **what):
        """Operations a second, of each repetition."""
        return [one["operations"] / one["seconds"] for one in self.cell(*of, **what)]

    def speed(self, *of, **what):
        return Estimate.of(self.speeds(*of, **what))

    def loss(self, name, spread, **what):
        """What INCLL is slower than MT+."""
        return losses(self.speeds(name, INCLL, spread, **what),
                      self.speeds(name, MT_PLUS, spread, **what))

    def slowdown(self, discipline, spread, latency):
        """What the latency costs, against none."""
        return losses(self.speeds("latency", discipline, spread, latency=latency),
                      self.speeds("latency", discipline, spread))

    def logged(self, name, discipline, spread):
        """Entries of the external log a million operations."""
        return Estimate.of([1e6 * one["log entries"] / one["operations"]
                            for one in self.cell(name, discipline, spread)])

    def sizes(self):
        """Of the trees that are there: records and the measurement's name."""
        named = [(records, size_name(records)) for records in sizes(self.settings)]
        return [(records, name) for records, name in named if name in self.entries]

    def several_sizes(self):
        """As sizes(); a curve has at least three points."""
        found = self.sizes()
        if len(found) < 3:
            raise NotMeasured("fewer than three sizes of the tree were measured")
        return found

    def points(self, xs, estimate):
        """(x, estimate(x)) where there is one."""
        found = []
        for x in xs:
            try:
                found.append((x, estimate(x)))
            except NotMeasured:
                pass
        return found
