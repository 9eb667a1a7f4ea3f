"""Validation of text that becomes part of a process: programs, arguments, options and environment variables.

Every error names the field, the value and the allowed form. Values are never repaired or quoted: a value arrives
unchanged or is refused.
"""

import re
from collections.abc import Iterator, Sequence

from mooring.model.errors import InvalidInput

MOST_TEXT_BYTES = 65_536
FORBIDDEN_IN_OPTIONS = "\"'`;&|$(){}\\"
# The text after these options is a program, not an option's value.
CODE_OPTIONS = frozenset({"-c", "-e"})

_PROGRAM = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_.+@/-]{0,1023}")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.-]{0,62}")
_OPTION_WITH_VALUE = re.compile(r"(--?[A-Za-z][A-Za-z0-9_.-]{0,62})=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,252}")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"[\x21-\x7e]{1,253}")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROLS_IN_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_OPTION_FORM = (
    f"free of {' '.join(FORBIDDEN_IN_OPTIONS)}, line breaks and control characters; "
    "several tokens are separated by single spaces, such as 7 std staxids ssciname"
)
_TEXT_FORM = f"at most {MOST_TEXT_BYTES} bytes, free of control characters other than tab and line feed"


def check_key(field: str, value: str) -> Iterator[InvalidInput]:
    """An idempotency key."""
    if not _KEY.fullmatch(value):
        yield InvalidInput(field, value, "1 to 253 printable ASCII characters without spaces")


def check_name(field: str, value: str) -> Iterator[InvalidInput]:
    """The name of a Kubernetes object."""
    if not _NAME.fullmatch(value):
        yield InvalidInput(field, value, "the name of an object: lower case letters, digits, '-' and '.'")


def check_program(field: str, value: str) -> Iterator[InvalidInput]:
    """The program to run."""
    if not _PROGRAM.fullmatch(value):
        yield InvalidInput(field, value, "a program's name or path: letters, digits and . _ - + @ /")


def check_text(field: str, value: str) -> Iterator[InvalidInput]:
    """Text that is passed to a process unchanged."""
    if _CONTROLS_IN_TEXT.search(value) or len(value.encode()) > MOST_TEXT_BYTES:
        yield InvalidInput(field, value, _TEXT_FORM)


def check_arguments(field: str, arguments: Sequence[str]) -> Iterator[InvalidInput]:
    """A list of arguments: any text, except that values of options must have the form of option values."""
    values = dict(_option_values(arguments))
    for index, argument in enumerate(arguments):
        if index in values:
            yield from check_option_value(f"{field}[{index}]", values[index])
        else:
            yield from check_text(f"{field}[{index}]", argument)


def check_option(field: str, name: str, value: str | int | tuple[str | int, ...]) -> Iterator[InvalidInput]:
    """An option by name. Its value is one text or a list of tokens."""
    if not _OPTION.fullmatch(name):
        yield InvalidInput(field, name, "written as on a command line, such as -outfmt or --threads")
    if not isinstance(value, tuple):
        yield from check_option_value(f"{field}[{name}]", str(value))
        return
    for index, token in enumerate(map(str, value)):
        if not token or any(character.isspace() for character in token):
            yield InvalidInput(f"{field}[{name}][{index}]", token, "one token: not empty, without spaces")
        else:
            yield from check_option_value(f"{field}[{name}][{index}]", token)


def check_option_value(field: str, value: str) -> Iterator[InvalidInput]:
    """The value of an option, such as `outfmt`."""
    if set(value) & set(FORBIDDEN_IN_OPTIONS) or _CONTROLS.search(value) or len(value.encode()) > MOST_TEXT_BYTES:
        yield InvalidInput(field, value, _OPTION_FORM)


def check_variable(field: str, name: str) -> Iterator[InvalidInput]:
    """The name of an environment variable."""
    if not _VARIABLE.fullmatch(name):
        yield InvalidInput(field, name, "a variable's name: letters, digits and '_', not beginning with a digit")


def escape_references(text: str) -> str:
    """The kubelet would expand `$(VAR)`. A doubled dollar arrives as a single one."""
    return text.replace("$", "$$") if "$" in text else text


def _option_values(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The arguments that are values of options (`-outfmt 7`, `--format=7`), up to a bare `--`."""
    for index, argument in enumerate(arguments):
        if argument == "--":
            return
        if with_value := _OPTION_WITH_VALUE.fullmatch(argument):
            yield index, with_value[2]
        before = arguments[index - 1] if index else ""
        follows = bool(_OPTION.fullmatch(before)) and before not in CODE_OPTIONS
        if follows and not with_value and not _OPTION.fullmatch(argument):
            yield index, argument
