"""What was measured, looked up by what it was measured of."""

from claims import NotMeasured
from measured import Measured
from samples import Estimate, pairwise

BYTES_OF_A_LINE = 64


class Results(Measured):
    def repetitions(self, name, store, workload, keys="integer", spread="uniform", threads=None):
        """Of one point. `spread` says nothing where a workload has its own."""
        spread = {"load": "-", "D": "latest", "E": "zipfian"}.get(workload, spread)
        wanted = {"store": store, "keys": keys, "workload": workload, "distribution": spread,
                  "threads": self.settings["cores"] if threads is None else threads}
        for one in self.entry(name)["output"]["results"]:
            if all(one[key] == value for key, value in wanted.items()):
                return one["repetitions"]
        raise NotMeasured(f"{store} is not measured there")

    def speeds(self, *of, **what):
        """Million operations a second, of each repetition."""
        return [one["operations"] / one["seconds"] / 1e6 for one in self.repetitions(*of, **what)]

    def speed(self, *of, **what):
        return Estimate.of(self.speeds(*of, **what))

    def counted(self, field, *of, **what):
        """Of "lines" (flushed, or streamed), "flushes" or "fences", how many an operation."""
        def count(one):
            if field != "lines":
                return one[field]
            return one["flushes"] + one.get("streamed bytes", 0) / BYTES_OF_A_LINE
        return Estimate.of([count(one) / one["operations"]
                            for one in self.repetitions(*of, **what)])

    def ratio(self, name, store, other, workload, threads=None):
        """Of the speeds of neighbours."""
        return Estimate.of(pairwise(self.speeds(name, store, workload, threads=threads),
                                    self.speeds(name, other, workload, threads=threads)))

    def speedup(self, store, workload):
        """With all cores, to one thread; in one run, but not as neighbours."""
        alone = self.speeds("price", store, workload, threads=1)
        return Estimate.of(pairwise(self.speeds("price", store, workload), alone))

    def points(self, xs, estimate):
        """(x, estimate(x)) where there is one."""
        found = []
        for x in xs:
            try:
                found.append((x, estimate(x)))
            except NotMeasured:
                pass
        return found
