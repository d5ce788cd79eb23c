"""One SQLite file per run: every evaluation, the progress of every batch, and the last two checkpoints.

Each evaluation is its own transaction, so nothing waits in memory: a process that is killed loses only what
had not been recorded. In SQLite's WAL mode such a commit is a write to the operating system; the disk itself
is waited for about once a second, which limits what a power cut can take without slowing a fast objective.

``Store`` writes a run's file and continues it, ``History`` reads it (also while it is being written).
"""

from .copying import backup
from .errors import StoreError, StoreMismatch
from .history import Evaluation, History
from .writer import KeepX, Store

__all__ = ["Evaluation", "History", "KeepX", "Store", "StoreError", "StoreMismatch", "backup"]
