"""A run's report as a live page on this machine; there, the run can be paused, stopped and given a larger budget."""

from .server import Server

__all__ = ["Server"]
