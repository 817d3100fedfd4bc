"""Lee, Mohan, Kashyap, Kim, Chidambaram: Recipe, SOSP 2019 (and its summary)."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = "Recipe: Converting Concurrent DRAM Indexes to Persistent-Memory Indexes"
CITATION = ("Lee, Mohan, Kashyap, Kim, Chidambaram, *Recipe: Converting Concurrent DRAM Indexes to "
            "Persistent-Memory Indexes*, SOSP 2019, "
            "[doi](https://doi.org/10.1145/3341301.3359635)")
HAS_PEERS = True
NOTE = ("What is compared took turns in one run, and ratios are those of neighbouring repetitions; "
        "only different numbers of records, and integer and string keys, are runs of their own. "
        "Numbers of the originals and of indexes made by hand are quoted, and marked so.")

__all__ = ["CITATION", "HAS_PEERS", "MEANINGS", "NOTE", "PARTS", "Results", "SETTINGS", "SHORT",
           "TITLE", "claims", "figures", "measurements", "remarks"]
