"""The page of the terminal's commands, and the table of its exit codes."""

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from mooring.cli.failures import EXIT_CODES
from mooring.cli.help_groups import GROUPS, OTHER
from mooring.cli.main import app
from referencing.text import one_line, table

_SHARED = ("--url", "--token", "--state", "--help")


def commands_page() -> str:
    """Every command with its arguments and options, in the groups of `mooring --help`."""
    return "\n".join(_commands())


def exit_codes() -> str:
    """The table of exit codes."""
    return table(("code", "meaning"), ((f"`{code}`", meaning) for code, meaning in EXIT_CODES.items()))


def _commands() -> Iterator[str]:
    commands: dict[str, Any] = vars(get_command(app))["commands"]
    yield "# Commands\n"
    yield "What `mooring COMMAND --help` prints, for all commands. Formats, confirmation and how a server is found:"
    yield "[terminal](terminal.md). Commands that call a server also take `--url`, `--token` and `--state`."
    grouped = {name for names in GROUPS.values() for name in names}
    for title, names in {**GROUPS, OTHER: tuple(name for name in commands if name not in grouped)}.items():
        known = [name for name in names if name in commands]
        if known:
            yield f"\n## {title}"
        for name in known:
            yield from _command(f"mooring {name}", commands[name])


def _command(title: str, command: Any) -> Iterator[str]:
    below: dict[str, Any] = getattr(command, "commands", {})
    yield f"\n### {title}\n"
    yield f"{one_line(command.help or '')}\n"
    own = [one for one in command.params if not one.opts[-1].startswith(_SHARED) and not getattr(one, "hidden", False)]
    if own:
        yield table(("parameter", "default", "meaning"), map(_parameter, own))
    for name, inner in below.items():
        yield from _command(f"{title} {name}", inner)


def _parameter(one: Any) -> tuple[str, str, str]:
    is_option = one.opts[0].startswith("-")
    name = (
        ", ".join(f"`{opt}`" for opt in (*one.opts, *one.secondary_opts))
        if is_option
        else f"`{one.metavar or one.name}`"
    )
    default = "required" if one.required else "" if one.default in (None, "", False, ()) else f"`{_shown(one.default)}`"
    return name, default, one_line(getattr(one, "help", None) or "")


def _shown(value: object) -> str:
    return str(getattr(value, "value", value))
