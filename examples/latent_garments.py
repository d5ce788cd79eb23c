"""Search the 512 dimensions of a generator for one garment, knowing only its attributes and its outline.

Needs `pip install 'eglearn-lab[latent]'`. Writes latent_garments.png: the target, which the search never sees, beside
the start and what was found. `python latent_garments.py 7` takes another of the 64 targets.
"""

import argparse
import sys

from eglearn import minimize
from eglearn_lab.experiments.latent import bounds, load_garments, start
from eglearn_lab.experiments.latent.figures import draw_found

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("problem", nargs="?", type=int, choices=range(64), default=0, metavar="0-63", help="which target")
problem = parser.parse_args().problem
garments = load_garments()
cost = garments.cost(problem)


def show(intermediate_result):
    r = intermediate_result
    if sys.stdout.isatty():
        print(f"{r.nfev:6d} evaluations, lowest cost {r.fun:<10.4f}", end="\r", flush=True)


result = minimize(cost, bounds(), start(), budget=10_000, seed=0, vectorized=True, callback=show)
terms = cost.terms(result.x)
if sys.stdout.isatty():
    print()
print(f"cost {cost(start()):.2f} at the start, {result.fun:.2f} at the end:")
print(f"attributes {terms.attributes[0]:.2f}, landmarks {terms.landmarks[0]:.2f}, quality {terms.quality[0]:.2f}")
print(f"{draw_found(garments, {'found': {problem: result.x}}, 'latent_garments.png', [problem])} written")
