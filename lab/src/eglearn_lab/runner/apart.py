"""``python -m eglearn_lab.runner.apart FILE`` does the run that it reads, pickled, and writes its row into the file."""

import json
import os
import pickle
import sys
from pathlib import Path


def main() -> None:
    """Do the run; the file appears whole or not at all."""
    file = Path(sys.argv[1])
    work, job = pickle.load(sys.stdin.buffer)
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(work.attempt(job)))
    os.replace(temporary, file)


if __name__ == "__main__":
    main()
