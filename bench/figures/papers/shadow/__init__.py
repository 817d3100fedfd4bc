"""Ni, Zhao, Bittman, Miller: Optimized Shadow Paging, HotStorage 2018."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = "Reducing NVM Writes with Optimized Shadow Paging"
CITATION = ("Ni, Zhao, Bittman, Miller, *Reducing NVM Writes with Optimized Shadow Paging*, "
            "HotStorage 2018")
HAS_PEERS = False
NOTE = ("Here nothing is timed: a simulator counts, and the same seed gives the same counts, so "
        "there are no quartiles. Only the simulator's own speed is measured.")

__all__ = ["CITATION", "HAS_PEERS", "MEANINGS", "NOTE", "PARTS", "Results", "SETTINGS", "SHORT",
           "TITLE", "claims", "figures", "measurements", "remarks"]
