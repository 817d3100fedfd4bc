"""The papers that figures are made of: a package each, and its name in this table."""

from dataclasses import dataclass
from typing import Callable

from . import incll, nv_heaps, recipe, sections, shadow


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
    note: str                # how it was compared, a sentence for the page's top
    has_peers: bool          # other stores take part, whose modules have to be built


def paper(name, of):
    """What a paper's package exports, under the same names in each."""
    return Paper(name, of.TITLE, of.CITATION, of.SETTINGS, of.SHORT, of.MEANINGS, of.PARTS,
                 of.measurements, of.Results, of.figures, of.claims, of.remarks, of.NOTE,
                 of.HAS_PEERS)


PAPERS = {
    "incll": paper("incll", incll),
    "recipe": paper("recipe", recipe),
    "nv-heaps": paper("nv-heaps", nv_heaps),
    "shadow": paper("shadow", shadow),
    "sections": paper("sections", sections),
}
