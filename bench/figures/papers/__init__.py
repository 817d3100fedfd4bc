"""The papers that figures are made of: a package each, and its name in this table."""

from dataclasses import dataclass
from typing import Callable

from . import incll


@dataclass(frozen=True)
class Paper:
    name: str
    title: str
    citation: str            # of the page
    settings: dict           # numbers that --set changes, as they are by default
    short: dict              # what --short makes of them
    meanings: dict           # of each setting, for `list`
    parts: dict              # figures and sections: title
    measurements: Callable   # (settings) -> [Measurement]
    results: Callable        # (settings, entries, left out) -> what the next three are given
    figures: Callable        # (results) -> ([Figure], [why one is missing])
    claims: Callable         # (results) -> [Claim]
    remarks: Callable        # (results) -> [paragraph]: what differs from the paper's set-up


PAPERS = {
    "incll": Paper("incll", incll.TITLE, incll.CITATION, incll.SETTINGS, incll.SHORT,
                   incll.MEANINGS, incll.PARTS, incll.measurements,
                   incll.Results, incll.figures, incll.claims, incll.remarks),
}
