"""Blocks of code in the documents work: manifests are accepted, commands are understood, programs are run by a test."""

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer
import yaml
from typer.main import get_command

from drydock import VirtualLoop, plain_nodes, virtual_cluster
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.resources import NAMESPACES, ROLEBINDINGS, ROLES, Resource
from mooring.cli.main import app
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS
from packages.mooring.tests.client.test_documentation import PAGES as RUN_WITH_THE_SDK
from packages.mooring.tests.docs.blocks import ROOT, Block, blocks, inline_code

KINDS: dict[str, Resource] = {
    "WorkerPool": WORKERPOOLS,
    "Warmup": WARMUPS,
    "Submission": SUBMISSIONS,
    "ManagedService": MANAGEDSERVICES,
    "Role": ROLES,
    "RoleBinding": ROLEBINDINGS,
}


def _pool(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "worker", "image": "registry.example/worker:1"}]}}
    whole = {**({} if "demand" in spec else {"warm": 1}), "max": 2, "template": template, **spec}
    return {"kind": "WorkerPool", "metadata": {"name": "part", "namespace": "runners"}, "spec": whole}


PARTS_OF_POOLS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "docs/how-to/demand.md": lambda part: _pool(**{"max": 50, **part["spec"]}),
    "docs/how-to/tenants.md": lambda part: _pool(**part["spec"]),
    "docs/how-to/mint.md": lambda part: _pool(**part),
    "docs/reference/sdk.md": lambda part: _pool(template=part, dispatch="Poll"),
}
PARTS_OF_OTHER_FILES = {
    "docs/how-to/access.md": "packages/mooring/tests/docs/test_program_blocks.py",
    "docs/how-to/alerts.md": "packages/mooring/tests/docs/test_shell_blocks.py",
    "docs/drydock/using.md": "packages/mooring/tests/docs/test_program_blocks.py",
}
PROGRAMS_RUN_BY = {
    **dict.fromkeys(RUN_WITH_THE_SDK, "packages/mooring/tests/client/test_documentation.py"),
    "docs/concepts/health.md": "packages/mooring/tests/docs/test_program_blocks.py",
    "docs/drydock/using.md": "packages/mooring/tests/docs/test_program_blocks.py",
    "docs/how-to/mint.md": "packages/mooring/tests/controllers/claims/test_mint.py",
    "docs/how-to/notebooks.md": "integrations/jupyterhub/tests/test_page.py",
    "integrations/buildbot/README.md": "integrations/buildbot/tests/test_readme.py",
    "packages/hawser/README.md": "packages/hawser/tests/test_readme.py",
    "docs/hawser/README.md": "packages/hawser/tests/test_page.py",
    "packages/drydock/README.md": "packages/drydock/tests/test_readme.py",
}
OUTLINES = {"docs/incidents/README.md"}  # a class without its bodies; only its grammar is checked
SHORTENED = re.compile("Missing|requires an argument")  # a sentence names commands and options without arguments
OPTIONAL = re.compile(r"[\[\]…|]|\.\.\.")


def documented_manifests() -> Iterator[tuple[Block, dict[str, object]]]:
    for block in blocks("yaml"):
        for body in yaml.safe_load_all(block.text):
            if isinstance(body, dict) and "kind" in body:
                yield block, body
            elif block.page in PARTS_OF_POOLS:
                yield block, PARTS_OF_POOLS[block.page](body)


MANIFESTS = list(documented_manifests())


async def test_every_manifest_is_accepted_by_the_api_server() -> None:
    assert len(MANIFESTS) >= 8
    clock = VirtualLoop.running().clock
    async with virtual_cluster(clock, Entropy(1), plain_nodes(1)) as cluster:
        await install_crds(cluster.client, clock)
        for block, body in MANIFESTS:
            await _create(cluster.client, block, body)


async def _create(client: KubeClient, block: Block, body: dict[str, object]) -> None:
    metadata = body["metadata"]
    assert isinstance(metadata, dict), block.place
    namespace = metadata.get("namespace", "default")
    if namespace not in {one.metadata.name for one in (await client.list(NAMESPACES)).items}:
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    resource = KINDS.get(str(body["kind"]))
    assert resource is not None, f"{block.place}: {body['kind']}"
    name = f"{metadata['name']}-{len(block.text)}"  # several pages describe the pool `linux`
    await client.create(resource, {**body, "metadata": {**metadata, "name": name}}, namespace)


def test_every_other_block_of_yaml_is_read_by_a_test() -> None:
    whole = {block.page for block, _ in MANIFESTS}
    parts = {block.page for block in blocks("yaml")} - whole
    assert parts == set(PARTS_OF_OTHER_FILES)
    for page, test in PARTS_OF_OTHER_FILES.items():
        assert page in (ROOT / test).read_text(), f"{test} does not read {page}"


def test_every_block_of_python_is_run_by_a_test() -> None:
    found = {block.page for block in blocks("python")}
    assert found == {*PROGRAMS_RUN_BY, *OUTLINES}
    for page, test in PROGRAMS_RUN_BY.items():
        assert page.rpartition("/")[2] in (ROOT / test).read_text(), f"{test} does not read {page}"


def test_outlines_are_grammatical() -> None:
    for block in blocks("python"):
        if block.page in OUTLINES:
            compile(block.text, block.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def documented_commands() -> Iterator[tuple[str, str]]:
    """Commands of Mooring in blocks and in prose, with their page."""
    for block in blocks("sh"):
        lines = block.text.replace("\\\n", " ").splitlines()
        for line in (line for line in lines if " # -> " not in line):  # sessions are run by tests of their own
            for part in re.split(r"\s&&\s|\s\|\|?\s|;\s|\$\(|\s#\s|\s>\s|\s&\s|\s2>", line):
                if part.strip().startswith("mooring "):
                    yield block.page, part.strip().rstrip(")&; ")
    for page, text in inline_code():
        if re.match(r"mooring [a-z]", text) and not OPTIONAL.search(text) and "/12 nodes" not in text:
            yield page, text


def _understand(words: list[str]) -> None:
    group: Any = get_command(app)
    name, command, arguments = group.resolve_command(group.make_context("mooring", [*words]), [*words])
    command.make_context(name, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({page for page, _ in documented_commands()}))
def test_every_command_is_understood(page: str) -> None:
    for where, text in documented_commands():
        if where == page and where != "CHANGELOG.md":
            words = shlex.split(text.partition(" > ")[0])[1:]
            try:
                _understand(words)
            except (SystemExit, typer.Exit):
                continue  # --help, --version
            except typer.TyperException as error:
                message = str(error)
                if not SHORTENED.search(message):
                    raise AssertionError(f"{page}: {text}: {message}") from error


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {text.split()[1] for _, text in inline_code() if re.match(r"make [a-z-]+( |$)", text)}
    assert named and named <= targets
