"""A run's file as one HTML page: charts and tables that need no network, no server and no other package."""

from .page import write_report

__all__ = ["write_report"]
