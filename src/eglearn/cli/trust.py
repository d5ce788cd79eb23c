"""Whether the command or module that a run's file names may be run.

``eglearn resume`` does what the file says, and the file may come from anywhere. So each run is signed with a key that
only its user has: what is run, in which folder, and in which file that stands. A file that was signed here, for this
place, is one's own; of any other the user is asked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shlex
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evaluation.words import visible
from .errors import Usage

if TYPE_CHECKING:
    from .job import Job

_KEY_BYTES = 32


def signature(job: Job) -> str | None:
    """What shows later that this user has run this job here; None if there is no place for a key."""
    key = _key()
    if key is None:
        return None
    told: list[Any] = [job.words, job.once, os.getcwd(), os.path.realpath(job.arguments["store"])]
    return hmac.new(key, json.dumps(told).encode(), hashlib.sha256).hexdigest()


def ask_for_trust(job: Job, signed: Any) -> None:
    """Ask whether to run what the file of the job names, unless this user has run it here before."""
    own = signature(job)
    if own is not None and isinstance(signed, str) and hmac.compare_digest(own.encode(), signed.encode()):
        return
    store, what = visible(str(job.arguments["store"])), visible(job.name)
    kind = "the module" if isinstance(job.words, str) else "the command"
    told = f"{store} would run {kind} {what} in {visible(os.getcwd())}, and you did not start this run here"
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(f"eglearn: {told}.\nRun it? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise Usage(f"{store} is not resumed: nothing was run")
    words = shlex.join(["eglearn", "resume", str(job.arguments["store"]), "--trust"])
    raise Usage(f"{told}: if you trust it, add --trust, as in '{visible(words)}', or name the objective yourself")


def _key() -> bytes | None:
    """The user's key, made when it is first needed; None if nobody else may be kept from it."""
    with suppress(OSError, RuntimeError):
        home = os.environ.get("XDG_STATE_HOME")
        folder = (Path(home) if home else Path.home() / ".local" / "state") / "eglearn"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "key"
        if not path.exists():
            # Under another name first: whoever looks finds all of it or nothing.
            part = folder / f"key.{secrets.token_hex(8)}"
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            with suppress(FileExistsError):
                os.link(part, path)
            part.unlink()
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            key = file.read(_KEY_BYTES)
        private = stat.S_ISREG(status.st_mode) and not status.st_mode & 0o077 and status.st_uid == os.getuid()
        return key if private and len(key) == _KEY_BYTES else None
    return None
