"""The entry point of the terminal."""

from mooring.cli import commands
from mooring.cli.application import app

__all__ = ["app", "commands", "main"]


def main() -> None:
    """The entry point."""
    app()
