"""Searches: each places samples, learns a gradient from their values, steps along it and adapts its scale."""
