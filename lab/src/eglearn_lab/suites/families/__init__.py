"""The families of the suite `wild`, one module each.

A module lists its problems in ``PROBLEMS``: functions without arguments, whose docstrings say what a user would call
the problem and where the formulas come from. All data is synthetic or printed in the module.
"""
