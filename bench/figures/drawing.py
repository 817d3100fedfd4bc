"""A figure as data: what plot.py draws and page.py prints. Nothing here knows matplotlib."""

from dataclasses import asdict, dataclass, field


@dataclass
class Series:
    name: str
    x: list                                   # numbers, or categories of a bar chart
    y: list
    low: list = field(default_factory=list)   # quartiles; empty: none
    high: list = field(default_factory=list)
    of_paper: bool = False                    # the paper's own numbers
    like: str = ""                            # of these: the series that they are drawn like


@dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    series: list
    kind: str = "lines"                       # or "bars"
    x_log: bool = False
    y_log: bool = False
    from_zero: bool = True                    # the y axis; not where it is logarithmic
    mark: dict = field(default_factory=dict)  # a vertical line: {"x": ..., "text": ...}


@dataclass
class Figure:
    part: str        # number in the paper
    title: str
    panels: list
    caption: str     # what it was measured on
    remark: str = "" # what differs from the paper's
    label: str = "Figure"  # or "Table"

    def name(self):
        return f"{self.label.lower()}_{self.part}"


def series(name, points):
    """Of (x, Estimate) pairs."""
    return Series(name, [x for x, _ in points], [one.middle for _, one in points],
                  [one.low for _, one in points], [one.high for _, one in points])


def of_paper(name, points):
    """What the paper's text gives of the series `name`, as (x, y) pairs."""
    return Series(f"{name} (paper)", [x for x, _ in points], [y for _, y in points], of_paper=True,
                  like=name)


def as_data(figures):
    return [{**asdict(one), "name": one.name()} for one in figures]
