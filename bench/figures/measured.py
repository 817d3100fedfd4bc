"""What was measured, looked up by what it was measured of: what the papers' Results share."""

from claims import NotMeasured


class Measured:
    """`entries` and `left_out` as measure.collect() gives them."""

    def __init__(self, settings, entries, left_out):
        self.settings = settings
        self.entries = entries
        self.left_out = left_out

    def entry(self, name):
        if name in self.entries:
            return self.entries[name]
        raise NotMeasured(self.left_out.get(name, f"the measurement '{name}' was not made"))
