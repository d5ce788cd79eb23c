"""One runner for all grids of runs: jobs in, rows out, a process for each run; killed, the same call goes on."""

from .folder import Folder
from .run import Progress, run_jobs
from .work import CannotBegin, FolderInUse, FolderRefused, Job, Row, Work, describe, now, versions

__all__ = [
    "CannotBegin",
    "Folder",
    "FolderInUse",
    "FolderRefused",
    "Job",
    "Progress",
    "Row",
    "Work",
    "describe",
    "now",
    "run_jobs",
    "versions",
]
