"""Cohen, Aksun, Avni, Larus: Fine-Grain Checkpointing with In-Cache-Line Logging, ASPLOS 2019."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = "Fine-Grain Checkpointing with In-Cache-Line Logging"
CITATION = ("Cohen, Aksun, Avni, Larus, *Fine-Grain Checkpointing with In-Cache-Line Logging*, "
            "ASPLOS 2019, [doi](https://doi.org/10.1145/3297858.3304046)")

HAS_PEERS = False
NOTE = ("What is compared took turns in one run, and ratios are those of neighbouring repetitions; "
        "only trees of different sizes are runs of their own.")

__all__ = ["CITATION", "HAS_PEERS", "MEANINGS", "NOTE", "PARTS", "Results", "SETTINGS", "SHORT",
           "TITLE", "claims", "figures", "measurements", "remarks"]
