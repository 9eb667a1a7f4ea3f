"""`mooring --help`: commands in groups, by what people want to do."""

from typing import Any

from typer.core import TyperGroup

GROUPS = {
    "Look at the fleet": ("status", "top", "pools", "workers", "nodes", "claims", "usage", "open"),
    "Find the cause": ("doctor", "runbook", "explain", "logs", "drain-check", "invariants", "audit"),
    "Use workers": ("run", "claim", "exec", "release", "retire", "adopt"),
    "Batch work, datasets and services": ("submit", "submissions", "warmups", "warm", "services"),
    "Operate": ("pause", "resume", "arm", "login", "whoami"),
    "Install and start": ("up", "serve", "install", "uninstall", "sandbox", "replay", "demand"),
}
OTHER = "Other commands"


class GroupedHelp(TyperGroup):
    """A command that no group names is printed at the end."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, OTHER: tuple(name for name in self.commands if name not in grouped)}
        limit = formatter.width - 6 - max(map(len, self.commands))
        for title, names in groups.items():
            rows = [(name, self.commands[name].get_short_help_str(limit)) for name in names if name in self.commands]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
