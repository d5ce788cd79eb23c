"""The lightest structure that carries its loads, made of sections from a catalogue.

Trusses are computed by the displacement method: with B the matrix of direction cosines (bars, free movements) and
k = E A / L the stiffness of the bars, B^T diag(k) B u = loads, and the stress of a bar is E (B u) / L.
A variable is the section that is wished for; the catalogue's next larger one is built.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base import Array, Problem, uniform_box

PENALTY = 1e9


class Truss:
    """A truss of pin-jointed bars: ``nodes`` (nodes, space), ``bars`` (bars, 2), and which nodes cannot move."""

    def __init__(self, nodes: Array, bars: NDArray[np.int64], fixed: list[int]) -> None:
        count, space = nodes.shape
        span = nodes[bars[:, 1]] - nodes[bars[:, 0]]
        self.lengths = np.linalg.norm(span, axis=1)
        cosines = np.zeros((len(bars), count, space))
        rows = np.arange(len(bars))
        cosines[rows, bars[:, 1]] = span / self.lengths[:, None]
        cosines[rows, bars[:, 0]] = -span / self.lengths[:, None]
        self.free = np.setdiff1d(np.arange(count), fixed)
        self.cosines = cosines[:, self.free].reshape(len(bars), -1)

    def respond(self, areas: Array, loads: Array, modulus: float) -> tuple[Array, Array]:
        """Return the movements of the free nodes, (nodes, space), and the stresses; ``loads`` is (nodes, space)."""
        stiffness = modulus * areas / self.lengths
        matrix = self.cosines.T @ (stiffness[:, None] * self.cosines)
        moves = np.linalg.solve(matrix, loads[self.free].ravel())
        return moves.reshape(self.free.size, -1), modulus * (self.cosines @ moves) / self.lengths


def from_catalogue(wishes: Array, catalogue: Array) -> Array:
    """Return the smallest sections of the catalogue that are no smaller than those wished for.

    Examples
    --------
    >>> import numpy as np
    >>> from_catalogue(np.array([0.5, 1.0, 1.1]), np.array([1.0, 2.0]))
    array([1., 1., 2.])
    """
    return np.asarray(catalogue[np.minimum(np.searchsorted(catalogue, wishes), catalogue.size - 1)])


# fmt: off
SECTIONS_10 = np.array([
    1.62, 1.80, 1.99, 2.13, 2.38, 2.62, 2.63, 2.88, 2.93, 3.09, 3.13, 3.38, 3.47, 3.55, 3.63, 3.84, 3.87, 3.88, 4.18,
    4.22, 4.49, 4.59, 4.80, 4.97, 5.12, 5.74, 7.22, 7.97, 11.5, 13.5, 13.9, 14.2, 15.5, 16.0, 16.9, 18.8, 19.9, 22.0,
    22.9, 26.5, 30.0, 33.5,
])
SECTIONS_25 = np.concatenate([np.arange(1, 27) / 10, [2.8, 3.0, 3.2, 3.4]])
BARS_25 = np.array([  # by group
    (1, 2), (1, 4), (2, 3), (1, 5), (2, 6), (2, 5), (2, 4), (1, 3), (1, 6), (3, 6), (4, 5), (3, 4), (5, 6),
    (3, 10), (6, 7), (4, 9), (5, 8), (3, 8), (4, 7), (6, 9), (5, 10), (3, 7), (4, 8), (5, 9), (6, 10),
]) - 1
GROUPS_25 = np.repeat(np.arange(8), [1, 4, 4, 2, 2, 4, 4, 4])
# fmt: on


def truss_10() -> Problem:
    """Ten-bar cantilever truss with sections from a catalogue; 1e9 if a limit is exceeded. 10 variables.

    The standard test of Haftka and Gürdal with the 42 sections of Rajeev and Krishnamoorthy, J. Struct. Eng. 118 (1992)
    1233: stresses up to 25 ksi, movements up to 2 in. Best known weight, of several authors: 5490.74 lb.
    """
    nodes = 360.0 * np.array([(2, 1), (2, 0), (1, 1), (1, 0), (0, 1), (0, 0)])
    bars = np.array([(3, 5), (1, 3), (4, 6), (2, 4), (3, 4), (1, 2), (4, 5), (3, 6), (2, 3), (1, 4)]) - 1
    truss = Truss(nodes, bars, fixed=[4, 5])
    loads = np.zeros((6, 2))
    loads[[1, 3], 1] = -1e5

    def weight(x: Array) -> float:
        areas = from_catalogue(x, SECTIONS_10)
        moves, stresses = truss.respond(areas, loads, 1e7)
        if np.abs(moves).max() > 2.0 or np.abs(stresses).max() > 25_000.0:
            return PENALTY
        return float(0.1 * areas @ truss.lengths)

    return Problem(
        *uniform_box(10, 1.0, 33.5),
        x0=np.full(10, 30.0),
        budget=5_000,
        build=lambda rng: weight,
        best_known=5490.73,
        steps=True,
        penalty=True,
    )


def truss_25() -> Problem:
    """Transmission tower of 25 bars in 8 groups, sections from a catalogue; 1e9 times the excess of a limit.

    As in Rajeev and Krishnamoorthy, J. Struct. Eng. 118 (1992) 1233: stresses up to 40 ksi, movements of the two top
    nodes up to 0.35 in. Best known weight, of several authors: 484.85 lb.
    """
    corners = np.array([(-1, 1), (1, 1), (1, -1), (-1, -1)])
    nodes = np.zeros((10, 3))
    nodes[:2, 0] = -37.5, 37.5
    nodes[2:6, :2] = 37.5 * corners
    nodes[6:, :2] = 100.0 * corners
    nodes[:6, 2] = np.repeat([200.0, 100.0], [2, 4])
    truss = Truss(nodes, BARS_25, fixed=[6, 7, 8, 9])
    loads = np.zeros((10, 3))
    loads[[0, 1, 2, 5]] = [(1000, -10_000, -10_000), (0, -10_000, -10_000), (500, 0, 0), (600, 0, 0)]

    def weight(x: Array) -> float:
        areas = from_catalogue(x, SECTIONS_25)[GROUPS_25]
        moves, stresses = truss.respond(areas, loads, 1e7)
        excess = max(np.abs(moves[:2]).max() / 0.35, np.abs(stresses).max() / 40_000.0) - 1.0
        return float(0.1 * areas @ truss.lengths) + PENALTY * max(float(excess), 0.0)

    return Problem(
        *uniform_box(8, 0.05, 3.4),
        x0=np.full(8, 3.0),
        budget=3_000,
        build=lambda rng: weight,
        best_known=484.85,
        steps=True,
        penalty=True,
    )


def stepped_beam() -> Problem:
    """Cantilever of five segments, widths in steps of 1 mm and heights of 1 cm; 1e9 if a limit is exceeded.

    Thanedar and Vanderplaats, J. Struct. Eng. 121 (1995) 301: 50 kN at the tip of 5 m, stresses up to 14 kN/cm^2, tip
    deflection up to 2.7 cm, height up to 20 widths. Minimise the volume in cm^3. 10 variables: widths, then heights.
    """
    load, modulus, piece = 50_000.0, 2e7, 100.0
    arms = piece * np.arange(5, 0, -1)  # from the tip to the wall side of each segment
    cubes = arms**3 - (arms - piece) ** 3

    def volume(x: Array) -> float:
        widths, heights = np.ceil(10.0 * x[:5]) / 10.0, np.ceil(x[5:])
        inertia = widths * heights**3 / 12.0
        stress = load * arms * heights / (2.0 * inertia)
        deflection = load / (3.0 * modulus) * (cubes / inertia).sum()
        if stress.max() > 14_000.0 or deflection > 2.7 or (heights > 20.0 * widths).any():
            return PENALTY
        return float(piece * widths @ heights)

    return Problem(
        lower=np.repeat([1.0, 20.0], 5),
        upper=np.repeat([6.0, 80.0], 5),
        x0=np.repeat([5.5, 70.0], 5),
        budget=2_000,
        build=lambda rng: volume,
        best_known=None,
        steps=True,
        penalty=True,
    )


def lattice_bridge() -> Problem:
    """Bridge of 10 panels and 45 bars with sections in steps of 1 cm^2; 1e9 times the excess of a limit. 45 variables.

    Pratt truss with crossed diagonals, 50 m long and 5 m high, 100 kN at each lower joint; steel, 200 GPa, stresses up
    to 160 MPa, movements up to 8 cm. Displacement method as above; minimise the mass in kg.
    """
    joints = np.arange(11)
    lower, upper = joints, 11 + joints[:-2]  # upper joints above lower ones 1 to 9
    nodes = np.concatenate(
        [np.stack([5.0 * joints, 0.0 * joints], 1), np.stack([5.0 * joints[1:-1], np.full(9, 5.0)], 1)]
    )
    bars = np.concatenate(
        [
            np.stack([lower[:-1], lower[1:]], 1),  # lower chord, 10
            np.stack([upper[:-1], upper[1:]], 1),  # upper chord, 8
            np.stack([lower[1:-1], upper], 1),  # posts, 9
            [[0, 11], [10, 19]],  # end posts, 2
            np.stack([lower[1:-2], upper[1:]], 1),  # rising diagonals, 8
            np.stack([lower[2:-1], upper[:-1]], 1),  # falling diagonals, 8
        ]
    )
    truss = Truss(nodes, bars.astype(np.int64), fixed=[0, 10])
    loads = np.zeros((20, 2))
    loads[1:10, 1] = -100e3

    def mass(x: Array) -> float:
        areas = 1e-4 * np.ceil(x)
        moves, stresses = truss.respond(areas, loads, 200e9)
        excess = max(np.abs(moves).max() / 0.08, np.abs(stresses).max() / 160e6) - 1.0
        return float(7850.0 * areas @ truss.lengths) + PENALTY * max(float(excess), 0.0)

    return Problem(
        *uniform_box(len(bars), 1.0, 200.0),
        x0=np.full(len(bars), 150.0),
        budget=10_000,
        build=lambda rng: mass,
        steps=True,
        penalty=True,
    )


PROBLEMS = (truss_10, truss_25, stepped_beam, lattice_bridge)
