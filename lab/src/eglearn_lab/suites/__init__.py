"""Benchmark suites beside COCO, so that nothing is tuned to one suite.

==============  =====================================================================================
`more_wild`     the 53 least-squares problems of Moré and Wild (2009): smooth, nonsmooth, noisy
`wild`          problems as users bring them: clusters, control, structures, tuning, fits, networks...
`profiles`      data and performance profiles
`scores`        ranks, wins against a reference and how often an algorithm is last
==============  =====================================================================================

A problem is a `base.Problem`; those that are ``set_aside`` are for a last check, never for choosing or tuning.
"""
