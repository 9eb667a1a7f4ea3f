"""The runbook has one complete section for every alert, invariant, check of the doctor and error code, and no other."""

import ast
import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

import hawser
import mooring
from hawser.errors import HawserError
from mooring.api import errors as api_errors
from mooring.cli.main import app
from mooring.client.errors import UNREADABLE, Unreachable, Untrusted
from mooring.model.invariant import INVARIANT_IDS
from mooring.model.runbook import PAGES, anchor, check_runbook, check_section, error_runbook, invariant_runbook
from mooring.runbook import read_page

ROOT = Path(__file__).parents[4]
RUNBOOK = ROOT / "docs" / "runbook"
SOURCE = ROOT / "packages" / "mooring" / "src" / "mooring"
LABELS = ["Meaning", "How bad", "Mooring does", "Look at", "Do", "Over when"]
DEPTH = {"errors": "###"}  # under a heading for each area
COMMANDS: dict[str, Any] = vars(get_command(app))["commands"]


def sections(page: str) -> dict[str, str]:
    """The text of each section by its heading."""
    parts = re.split(rf"^{DEPTH.get(page, '##')} (.+)$", (RUNBOOK / f"{page}.md").read_text(), flags=re.MULTILINE)
    names, texts = parts[1::2], parts[2::2]
    assert len(set(names)) == len(names), "a heading is there twice"
    return dict(zip(names, texts, strict=True))


def test_every_alert_has_a_section_and_nothing_else_has():
    alerts = yaml.safe_load((ROOT / "deploy" / "helm" / "files" / "alerts.yaml").read_text())["alerts"]
    assert list(sections("alerts")) == [alert["alert"] for alert in alerts]


def test_every_invariant_has_a_section_and_nothing_else_has():
    assert set(sections("invariants")) == INVARIANT_IDS


def _beginning(node: ast.expr) -> str:
    """A text as far as it is constant: `pool/` of f"pool/{key}"; empty if it begins with a variable."""
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        return str(node.values[0].value)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _check_ids(tree: ast.AST) -> Iterator[str]:
    """The ids of checks in a module: given to a check, to a look or to phases, or kept in `check_id`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Check", ".look_too", "._phases")):
            yield from map(_beginning, node.args[:1])
        elif isinstance(node, ast.Assign):
            targets = ast.walk(node.targets[0])
            if any(isinstance(target, ast.Name) and target.id == "check_id" for target in targets):
                yield _beginning(node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict) and "Look" in ast.unparse(node):
            yield from (_beginning(key) for key in node.value.keys if key is not None)


def checks_of_the_doctor() -> set[str]:
    """The ids that modules with checks of the doctor name, or their beginnings."""
    texts = (path.read_text() for path in SOURCE.rglob("*.py"))
    trees = [ast.parse(text) for text in texts if "doctor_report import" in text or "look_too(" in text]
    return {found.rstrip("/") for tree in trees for found in _check_ids(tree)} - {""}


def test_every_check_of_the_doctor_has_a_section_and_nothing_else_has():
    found = {check_section(check) for check in checks_of_the_doctor()}
    assert len(found) > 15
    assert found == set(sections("doctor"))


def _subclasses(kind: type[HawserError]) -> Iterator[type[HawserError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _subclasses(below)


def error_codes() -> set[str]:
    """The codes of all errors of the product and of its client of Kubernetes."""
    for package in (mooring, hawser):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    raised = {kind.code for kind in _subclasses(HawserError) if kind.__module__.startswith(("mooring.", "hawser."))}
    limits = ast.parse((SOURCE / "api" / "limits.py").read_text())
    calls = [node for node in ast.walk(limits) if isinstance(node, ast.Call) and ast.unparse(node.func) == "TooMany"]
    named = {_beginning(call.args[1]) for call in calls}
    head = set(re.findall(r'_answer\(\s*\d+,\s*"(\w+)"', (SOURCE / "api" / "request_limit.py").read_text()))
    client = {UNREADABLE, Unreachable.local_code, Untrusted.local_code}
    return raised | named | head | client | set(api_errors.CODES.values())


def test_every_error_code_has_a_section_and_nothing_else_has():
    assert set(sections("errors")) == error_codes()


@pytest.mark.parametrize("page", PAGES)
def test_every_section_has_the_same_six_parts(page: str):
    for heading, text in sections(page).items():
        assert re.findall(r"^- \*\*(.+?):\*\* \S", text, re.MULTILINE) == LABELS, heading


def _parameters(name: str) -> list[Any]:
    """The parameters of a command; of a group, those of its default command too."""
    below = getattr(COMMANDS[name], "commands", {})
    return [one for command in (COMMANDS[name], *below.values()) for one in command.params]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_mooring_in_the_runbook_exists_with_its_options(page: str):
    commands = re.findall(r"`(mooring [a-z][^`]*)`", (RUNBOOK / f"{page}.md").read_text())
    assert commands
    for command in commands:
        name, *arguments = shlex.split(command.partition("|")[0], comments=True)[1:]
        options = {option for one in _parameters(name) for option in (*one.opts, *one.secondary_opts)}
        assert {one.partition("=")[0] for one in arguments if one.startswith("-")} <= options, command


def test_the_links_of_pages_lead_to_headings_of_the_installed_runbook():
    for page, address_of in (("doctor", check_runbook), ("invariants", invariant_runbook), ("errors", error_runbook)):
        for heading in sections(page):
            assert address_of(heading) == f"/runbook/{page}#{anchor(heading)}"
    assert check_runbook("pool/runners/linux") == "/runbook/doctor#pool"
    assert check_runbook("ledger/encryption") == "/runbook/doctor#ledgerencryption"


@pytest.mark.parametrize("page", PAGES)
def test_the_installed_runbook_is_that_of_the_documents(page: str):
    installed = SOURCE / "runbook" / f"{page}.md"
    assert installed.read_text() == (RUNBOOK / f"{page}.md").read_text(), "run tools/reference"
    assert [section.heading for section in read_page(page)] == list(sections(page))
    for section in read_page(page):
        assert [part.label for part in section.parts] == LABELS
        assert not [part for part in section.parts if re.search(r"\]\(|\*\*", part.text)], section.heading


def test_every_link_within_the_installed_runbook_leads_to_a_section():
    anchors = {page: {section.anchor for section in read_page(page)} for page in PAGES}
    pieces = [(page, piece) for page in PAGES for one in read_page(page) for part in one.parts for piece in part.pieces]
    links = [(page, piece.link) for page, piece in pieces if piece.link]
    assert len(links) > 10
    for page, link in links:
        path, _, place = link.partition("#")
        target = path.removeprefix("/runbook/") or page
        assert not place or place in anchors[target], link
