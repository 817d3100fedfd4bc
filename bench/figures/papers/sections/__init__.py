"""Chakrabarti, Boehm: Durability Semantics for Lock-based Multithreaded Programs, HotPar 2013."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = "Durability Semantics for Lock-based Multithreaded Programs"
CITATION = ("Chakrabarti, Boehm, *Durability Semantics for Lock-based Multithreaded Programs*, "
            "HotPar 2013")
HAS_PEERS = False
NOTE = ("Each repetition runs all rows one after the other; ratios are of runs in one repetition, "
        "and the quartiles are those of the repetitions.")

__all__ = ["CITATION", "HAS_PEERS", "MEANINGS", "NOTE", "PARTS", "Results", "SETTINGS", "SHORT",
           "TITLE", "claims", "figures", "measurements", "remarks"]
