"""Every command that Mooring can print is understood by the program that it is for, with its placeholders filled in.

`acceptance/test_fixes.py` runs those that a sick fleet prints. This test knows all others too: it reads the source.
"""

import itertools
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from hawser import resources as builtin
from hawser.resources import Resource
from mooring.cli.main import app
from mooring.kinds import karpenter
from mooring.kinds import resources as own
from packages.mooring.tests.docs.printed_commands import PLACEHOLDER, PROGRAMS, PrintedCommand, extract, find_commands
from packages.mooring.tests.requirements import require_kubectl

SOURCE = Path(__file__).parents[4] / "packages" / "mooring" / "src" / "mooring"
FOUND = find_commands(SOURCE)
MOORING = get_command(app)
COMMANDS: dict[str, Any] = vars(MOORING)["commands"]
# Sentences with the name of a program, by its place and the word after it.
SENTENCES = {
    ("cli/commands/workload.py", "kubectl does"),
    ("cli/commands/workload.py", "kubectl chooses"),
    ("cli/launch/commands.py", "kubectl does"),
    ("cli/launch/serve.py", "mooring serves"),
    ("client/kubectl.py", "kubectl does"),
    ("client/kubectl.py", "kubectl is"),
    ("demo/records.py", "helm hull"),
}
FILLED = "1"  # fits names, numbers and paths
KINDS = {
    word
    for module in (builtin, own, karpenter)
    for one in vars(module).values()
    if isinstance(one, Resource)
    for word in (one.plural, one.kind.lower())
} | {"crd", "hpa", "pvc", "networkpolicies", "docker-registry", "generic"}
WORDS = {"restart", "status", "image", "mooring"}  # of kubectl, and the Secret that `mooring install` names


def commands_of(program: str) -> list[PrintedCommand]:
    """Each command once, from the first place that prints it."""
    found = {one.text: one for one in reversed(FOUND) if one.words[0] == program and _is_command(one)}
    return list(found.values())


def _is_command(command: PrintedCommand) -> bool:
    place, first = command.place.partition(":")[0], " ".join(command.words[:2])
    return (place, first) not in SENTENCES and command.words[1] != PLACEHOLDER


def fill(command: PrintedCommand) -> list[str]:
    """Its words with a value in place of each placeholder and of each blank such as NAME or <USER>."""
    text = re.sub(r"<[A-Z/]+>", FILLED, command.text.replace(PLACEHOLDER, FILLED))
    return shlex.split(text)


def test_commands_are_found_in_sentences_in_quotes_and_whole():
    assert list(extract("give 'mooring pools -n x', or: kubectl get nodes  # now")) == [
        "mooring pools -n x",
        "kubectl get nodes",
    ]
    assert list(extract("mooring nodes && kubectl get x | kubectl apply -f -; mooring pools")) == [
        "mooring nodes",
        "kubectl get x",
        "kubectl apply -f -",
        "mooring pools",
    ]
    assert {one.words[0] for one in FOUND} == set(PROGRAMS) and len(FOUND) > 150


def test_every_sentence_is_still_there():
    said = {(one.place.partition(":")[0], " ".join(one.words[:2])) for one in FOUND}
    assert said >= SENTENCES


@pytest.mark.parametrize("command", commands_of("mooring"), ids=lambda one: f"{one.place} {one.text}")
def test_a_command_of_mooring_is_parsed_by_its_own_parser(command: PrintedCommand) -> None:
    name, *arguments = fill(command)[1:]
    assert name in COMMANDS, f"there is no command {name!r}"
    if "--help" in arguments:
        return
    with MOORING.make_context("mooring", [], resilient_parsing=True) as context:
        COMMANDS[name].make_context(name, arguments, parent=context)


@pytest.mark.slow
@pytest.mark.parametrize("command", commands_of("kubectl"), ids=lambda one: f"{one.place} {one.text}")
def test_a_command_of_kubectl_has_options_that_it_knows_and_names_kinds_that_exist(command: PrintedCommand) -> None:
    words = fill(command)
    parsed = subprocess.run([require_kubectl(), *words[1:], "--help"], capture_output=True, text=True, check=False)
    assert parsed.returncode == 0, parsed.stderr
    if "-p" in words:
        assert isinstance(json.loads(words[words.index("-p") + 1]), int | dict)
    values = {"-n", "-p", "-o", "-l", "-c", "-f", "--type", "--audience", "--raw"}
    positional = [
        word for before, word in itertools.pairwise(words[1:]) if not word.startswith("-") and before not in values
    ]
    for word in positional[words[1] == "-n" :]:
        known = all(part in KINDS | WORDS for part in word.partition("/")[0].split(","))
        assert known or FILLED in word or word.isupper(), f"{word!r} is no kind, no value and no blank"
