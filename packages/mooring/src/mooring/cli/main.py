"""The entry point of the terminal."""

from mooring.cli import commands
from mooring.cli.application import app
from mooring.cli.launch import commands as launch_commands
from mooring.cli.launch import demand_commands

__all__ = ["app", "commands", "demand_commands", "launch_commands", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    app()
