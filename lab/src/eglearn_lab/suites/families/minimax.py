"""The worst of many responses, made as good as can be: antennas and filters. All values are in decibels."""

from __future__ import annotations

import numpy as np

from ..base import Array, Problem, uniform_box

FIR_BEST = -32.335894
"""Least ripple of `fir_filter`, by linear programming on its grid."""


def _decibels(amplitude: float) -> float:
    return float(20.0 * np.log10(max(amplitude, 1e-12)))


def antenna_gaps() -> Problem:
    """Positions of a symmetric array of 20 antennas for low side lobes. 10 gaps, in wavelengths.

    Array factor of isotropic elements (Balanis, *Antenna Theory*, ch. 6): sum of cos(2 pi x_i sin t). The value is the
    highest side lobe beyond sin t = 0.11 over the main lobe. Equal gaps of a half give -13.2 dB.
    """
    u = np.linspace(0.11, 1.0, 300)

    def side_lobe(gaps: Array) -> float:
        position = np.cumsum(gaps) - gaps[0] / 2
        return _decibels(float(np.abs(np.cos(2 * np.pi * u[:, None] * position).mean(axis=1)).max()))

    return Problem(
        *uniform_box(10, 0.3, 1.0), x0=np.full(10, 0.5), budget=3_000, build=lambda rng: side_lobe, kinks=True
    )


def phased_array() -> Problem:
    """Phases of 24 antennas: a beam to 20 degrees, low side lobes, and two directions kept silent. 24 phases.

    The value is the larger of the highest side lobe, and of the two silent directions plus 15 dB, over the beam.
    """
    element = 0.5 * np.arange(24)
    beam = np.sin(np.deg2rad(20.0))
    silent = np.sin(np.deg2rad([-35.0, 50.0]))
    u = np.linspace(-1.0, 1.0, 400)
    u = np.concatenate([[beam], silent, u[np.abs(u - beam) > 0.12]])
    steering = np.exp(2j * np.pi * u[:, None] * element)
    lift = np.ones(u.size)
    lift[1:3] = 10.0 ** (15.0 / 20.0)

    def worst(phases: Array) -> float:
        field = np.abs(steering @ np.exp(-1j * phases)) * lift
        return _decibels(float(field[1:].max())) - _decibels(float(field[0]))

    return Problem(
        *uniform_box(24, 0.0, 2 * np.pi), x0=np.full(24, 3.0), budget=10_000, build=lambda rng: worst, kinks=True
    )


def fir_filter() -> Problem:
    """Low-pass filter of 31 taps with linear phase: the largest ripple of pass and stop band. 16 coefficients.

    Parks and McClellan (1972): amplitude a_0 + sum of a_k cos(k w), pass band to 0.4 pi, stop band from 0.5 pi. The
    best value on the grid comes from a linear program.
    """
    pass_band, stop_band = np.linspace(0.0, 0.4, 120) * np.pi, np.linspace(0.5, 1.0, 150) * np.pi
    w = np.concatenate([pass_band, stop_band])
    basis = np.cos(w[:, None] * np.arange(16))
    ideal = np.repeat([1.0, 0.0], [120, 150])

    def ripple(a: Array) -> float:
        return _decibels(float(np.abs(basis @ a - ideal).max()))

    return Problem(
        *uniform_box(16, -1, 1),
        x0=np.zeros(16),
        budget=20_000,
        build=lambda rng: ripple,
        best_known=FIR_BEST,
        kinks=True,
    )


def iir_filter() -> Problem:
    """Band-pass filter of three second-order sections; unstable ones cost 1e6 and more. 13 coefficients.

    Magnitude of the product of (1 + b1 z + b2 z^2) / (1 + a1 z + a2 z^2), z = exp(-i w), times a gain; a section is
    stable within the triangle abs(a2) < 1, abs(a1) < 1 + a2. Pass band 0.3 pi to 0.5 pi; the value is the largest
    deviation, that in the pass band counted fivefold.
    """
    bands = [np.linspace(0.0, 0.22, 60), np.linspace(0.3, 0.5, 60), np.linspace(0.58, 1.0, 80)]
    z = np.exp(-1j * np.pi * np.concatenate(bands))
    powers = np.stack([z, z * z])
    weight, ideal = np.repeat([1.0, 5.0, 1.0], [60, 60, 80]), np.repeat([0.0, 1.0, 0.0], [60, 60, 80])

    def deviation(x: Array) -> float:
        b, a = x[1:7].reshape(3, 2), x[7:13].reshape(3, 2)
        outside = np.maximum(np.abs(a[:, 1]) - 0.99, np.abs(a[:, 0]) - 0.99 - a[:, 1]).max()
        if outside > 0:
            return 1e6 * (1.0 + float(outside))
        gain = np.abs(10.0 ** x[0] * ((1.0 + b @ powers) / (1.0 + a @ powers)).prod(axis=0))
        return _decibels(float((weight * np.abs(gain - ideal)).max()))

    x0 = np.concatenate([[-1.0], np.tile([0.0, -0.5], 3), np.tile([-0.5, 0.5], 3)])
    lower = np.concatenate([[-3.0], np.tile([-2.0, -1.0], 6)])
    upper = np.concatenate([[1.0], np.tile([2.0, 1.0], 6)])
    return Problem(lower, upper, x0, budget=10_000, build=lambda rng: deviation, kinks=True, penalty=True)


PROBLEMS = (antenna_gaps, phased_array, fir_filter, iir_filter)
