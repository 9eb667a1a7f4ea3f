"""`tools/limits` finds what is too long and what takes too much, and nothing else."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LIMITS = Path(__file__).parents[4] / "tools" / "limits"
EIGHT = ", ".join(f"a{number}: int = 0" for number in range(8))
FIELDS = "\n".join(f"    a{number}: int" for number in range(7))

Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The lines that the tool prints for files of these texts; the folder is left out."""

    def run(**files: str) -> list[str]:
        paths = []
        for stem, text in files.items():
            paths.append(tmp_path / f"{stem}.py")
            paths[-1].write_text(text)
        done = subprocess.run([sys.executable, LIMITS, *paths], capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.returncode == (1 if done.stdout else 0)
        return [line.replace(f"{tmp_path}/", "") for line in done.stdout.splitlines()]

    return run


def test_small_code_passes(check: Check):
    assert check(small="def f(a, b, c, d, e, f, g):\n    return a\n") == []


def test_a_file_of_351_lines_is_found(check: Check):
    assert check(long="x = 1\n" * 350) == []
    assert check(long="x = 1\n" * 351) == ["long.py:1: lines in the file (351, limit 350)"]


def test_a_function_of_61_lines_is_found_with_its_signature_and_docstring(check: Check):
    head = 'class A:\n    @property\n    def f(self):\n        """Why."""\n'
    assert check(long=head + "        x = 1\n" * 58) == []
    assert check(long=head + "        x = 1\n" * 59) == ["long.py:3: lines of function f (61, limit 60)"]


@pytest.mark.parametrize(
    "signature",
    [
        "def f(a, b, c, d, e, f, g, h): ...",
        "def f(a, b, c, /, d, e, f, *, g, h): ...",
        "async def f(a, b, c, d, e, f, *args, **kwargs): ...",
    ],
)
def test_a_function_with_8_arguments_is_found(check: Check, signature: str):
    assert check(wide=signature) == ["wide.py:1: arguments of function f (8, limit 7)"]


def test_self_is_no_argument_of_a_constructor(check: Check):
    text = "class A:\n    def __init__(self, a, b, c, d, e, f, g{more}): ...\n"
    assert check(wide=text.format(more="")) == []
    assert check(wide=text.format(more=", h")) == ["wide.py:2: arguments of function __init__ (8, limit 7)"]


@pytest.mark.parametrize(
    "head",
    ["@dataclass(frozen=True)\nclass Options:", "class Options(msgspec.Struct):", "class Options(NamedTuple):"],
)
def test_a_record_of_values_may_have_many_fields(check: Check, head: str):
    assert check(options=f"{head}\n{FIELDS}\n    a7: int\n") == []


def test_a_record_that_wires_collaborators_is_found_also_over_modules(check: Check):
    client = "class Client:\n    async def get(self): ...\n"
    parts = f"from client import Client as C\n@dataclass(frozen=True)\nclass Parts:\n{FIELDS}\n    client: C | None\n"
    assert check(client=client, parts=parts) == ["parts.py:3: fields of Parts, which wires (8, limit 7)"]


def test_a_record_with_a_callable_that_takes_a_collaborator_holds_none(check: Check):
    client = "class Client:\n    async def get(self): ...\n"
    case = f"@dataclass\nclass Case:\n{FIELDS}\n    act: Callable[[Client], int]\n"
    assert check(case=client + case) == []


def test_a_record_that_does_work_itself_is_found(check: Check):
    text = f"@dataclass\nclass Desk:\n{FIELDS}\n    a7: int\n    async def open(self): ...\n"
    assert check(desk=text) == ["desk.py:2: fields of Desk, which wires (8, limit 7)"]


def test_a_field_that_the_constructor_does_not_take_is_not_counted(check: Check):
    text = f"@dataclass\nclass Desk:\n{FIELDS}\n    a7: int = field(init=False)\n    async def open(self): ...\n"
    assert check(desk=text) == []


def test_options_of_a_command_and_parameters_of_a_route_are_not_limited(check: Check):
    assert check(command=f"@app.command()\ndef workers({EIGHT}): ...\n") == []
    assert check(route=f"from litestar import get\n@get('/v1/workers')\ndef workers({EIGHT}): ...\n") == []


def test_only_real_commands_and_routes_are_exempt(check: Check):
    assert check(other=f"@cache\ndef workers({EIGHT}): ...\n") == [
        "other.py:2: arguments of function workers (8, limit 7)"
    ]
    assert check(other=f"from elsewhere import get\n@get('/x')\ndef workers({EIGHT}): ...\n") == [
        "other.py:3: arguments of function workers (8, limit 7)"
    ]


def test_scripts_without_a_suffix_are_read_too(tmp_path: Path):
    script = tmp_path / "script"
    script.write_text(f"#!/usr/bin/env python3\ndef f({EIGHT}): ...\n")
    done = subprocess.run([sys.executable, LIMITS, script], capture_output=True, text=True, check=False)
    assert "arguments of function f" in done.stdout
