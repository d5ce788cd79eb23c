"""The laboratory's commands are tested as the library's: from a folder, with the same program."""

from tests.cli.conftest import folder, inside

__all__ = ["folder", "inside"]
