"""An external program that is started once per point, here by four workers at a time; here a Python script stands in.

`{x}` in the command stands for the coordinates. The program prints the value on its last line; a non-zero exit code
means that the point has failed. A program that hangs is killed after `timeout` seconds.
"""

import sys
import tempfile
from pathlib import Path

from eglearn import minimize
from eglearn.evaluation import Command

SIMULATOR = """
import sys
a, b = map(float, sys.argv[1:])
if a + b > 6:
    sys.exit("no mesh")  # a message on standard error, and exit code 1
print("mesh of 120 cells")
print((a - 1) ** 2 + (b - 2) ** 2)
"""

with tempfile.TemporaryDirectory() as folder:
    script = Path(folder, "simulate.py")
    script.write_text(SIMULATOR)
    simulate = Command([sys.executable, "-S", str(script), "{x}"], once=True)
    result = minimize(simulate, bounds=[(-5, 5)] * 2, budget=60, workers=4, timeout=30, x0=[3, 2.5])
print(result.message)
print(f"value {result.fun:.2g} at {result.x.round(3)}, {result.n_failed} points without a mesh")
