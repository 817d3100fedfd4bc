"""What was counted, looked up by what it was counted of."""

from claims import NotMeasured
from measured import Measured
from samples import Estimate


def exactly(value):
    """A count has no spread."""
    return Estimate(value, value, value)


class Results(Measured):
    def row(self, name, machine, **of):
        for one in self.entry(name)["output"]["rows"]:
            if one["machine"] == machine and all(one[key] == of[key] for key in of):
                return one
        raise NotMeasured(f"{machine} with {of} is not measured in '{name}'")

    def main(self, work, spread, machine):
        return self.row(f"main_{work}", machine, spread=spread)

    def per_transaction(self, row, key="paper flushes"):
        return row[key] / row["transactions"]

    def fewer(self, work, spread, machine, log, key="paper flushes"):
        """How many times as many flushes the log makes."""
        return self.main(work, spread, log)[key] / self.main(work, spread, machine)[key]

    def share(self, row, source):
        """Of the flushes that the paper counts."""
        return row["flushes"][source] / row["paper flushes"]

    def misses(self, work, spread, machine):
        row = self.main(work, spread, machine)
        return row["tlb load misses"] / row["loads"]
