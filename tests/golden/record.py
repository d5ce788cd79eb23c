"""Run the golden cases; print their hashes as JSON, or write them to traces.json with ``--write``.

Last digits depend on the kernels of BLAS and on SIMD instructions, so both are set to those of AVX2 before anything is
imported: then the hashes are the same on every x86 processor that has it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

PINNED = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
}
FILE = Path(__file__).with_name("traces.json")


def versions() -> dict[str, str]:
    """What else the last digits depend on."""
    import numpy
    import scipy
    import torch

    return {"numpy": numpy.__version__, "scipy": scipy.__version__, "torch": str(torch.__version__)}


def main(words: list[str]) -> None:
    """Run the cases whose names contain one of the words, or are the word after "="; all if there are none."""
    sys.path.insert(0, str(Path(__file__).parent))
    from cases import CASES

    write, slow = "--write" in words, "--times" in words
    wanted = [word for word in words if not word.startswith("--")]
    traces = {}
    for name, run in CASES.items():
        if not wanted or any(word in f"={name}=" if word[0] != "=" else word == f"={name}" for word in wanted):
            begun = time.perf_counter()
            traces[name] = list(run())
            if slow:
                sys.stderr.write(f"{time.perf_counter() - begun:6.2f} s  {name}\n")
    data = {"versions": versions(), "traces": traces}
    text = json.dumps(data, indent=1).replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]") + "\n"
    if write:
        FILE.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in PINNED.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **PINNED})
    main(sys.argv[1:])
