"""Cohen, Aksun, Avni, Larus: Fine-Grain Checkpointing with In-Cache-Line Logging, ASPLOS 2019."""

from .findings import claims
from .pictures import figures
from .plan import MEANINGS, PARTS, SETTINGS, SHORT, measurements
from .results import Results
from .setting import remarks

TITLE = "Fine-Grain Checkpointing with In-Cache-Line Logging"
CITATION = ("Cohen, Aksun, Avni, Larus, *Fine-Grain Checkpointing with In-Cache-Line Logging*, "
            "ASPLOS 2019, [doi](https://doi.org/10.1145/3297858.3304046)")

__all__ = ["CITATION", "MEANINGS", "PARTS", "Results", "SETTINGS", "SHORT", "TITLE", "claims",
           "figures", "measurements", "remarks"]
