"""The laboratory's commands of ``eglearn``, found by it through the entry points in ``pyproject.toml``."""
