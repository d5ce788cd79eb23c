"""One thread for all tests."""

import os

# One thread: the tests run side by side, and small matrices gain nothing from more. Set before NumPy is loaded.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
