"""Objectives for the tests: f(X) over rows, minimum 0 at a point that is not special."""

import numpy as np


def shift(n):
    return np.linspace(-1.5, 2.0, n)


def sphere(x):
    x = np.atleast_2d(x)
    return np.sum((x - shift(x.shape[1])) ** 2, axis=1)


def ellipsoid(x):
    x = np.atleast_2d(x)
    return np.sum((x - shift(x.shape[1])) ** 2 * 10.0 ** np.linspace(0, 1, x.shape[1]), axis=1)


def ripples(x):
    x = np.atleast_2d(x)
    d = x - shift(x.shape[1])
    return np.sum(d**2 + 0.3 * (1 - np.cos(2 * np.pi * d)), axis=1)


FUNCTIONS = {"sphere": sphere, "ellipsoid": ellipsoid, "ripples": ripples}
