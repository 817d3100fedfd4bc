"""Coburn, Caulfield, Akel, Grupp, Gupta, Jhala, Swanson: NV-Heaps, ASPLOS 2011."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = ("NV-Heaps: Making Persistent Objects Fast and Safe with Next-Generation, Non-Volatile "
         "Memories")
CITATION = ("Coburn, Caulfield, Akel, Grupp, Gupta, Jhala, Swanson, *NV-Heaps: Making Persistent "
            "Objects Fast and Safe with Next-Generation, Non-Volatile Memories*, ASPLOS 2011, "
            "[doi](https://doi.org/10.1145/1950365.1950380)")
HAS_PEERS = True
NOTE = ("What is compared took turns in one run, and ratios are those of neighbouring repetitions; "
        "numbers of threads follow each other in the same run.")

__all__ = ["CITATION", "HAS_PEERS", "MEANINGS", "NOTE", "PARTS", "Results", "SETTINGS", "SHORT",
           "TITLE", "claims", "figures", "measurements", "remarks"]
