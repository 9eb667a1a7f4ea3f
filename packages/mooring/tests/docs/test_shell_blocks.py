"""Every block of shell commands in the documents is run by a test, or is listed here with the reason why not."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.ledger.embedded.binaries import find_binaries
from packages.mooring.tests.docs.blocks import ROOT, blocks, inline_code
from packages.mooring.tests.docs.test_kubectl_session import kubeconfig
from packages.mooring.tests.postgres import PostgresForTests, postgres
from packages.mooring.tests.requirements import require_helm, require_kubectl

__all__ = ["kubeconfig", "postgres"]
DIGEST = "sha256:" + "a" * 64
VALUES = {"sha256:...": DIGEST, "postgresql://...": "postgresql://mooring@db.example.com/mooring"}

HERE = "packages/mooring/tests/docs/test_shell_blocks.py"
GATEWAY_TESTS = "integrations/postgres-gateway/tests/postgres_gateway_tests"
RUN_BY = {
    "deploy/helm/README.md": HERE,
    "docs/how-to/access.md": HERE,
    "docs/how-to/alerts.md": HERE,
    "docs/how-to/backup.md": HERE,
    "docs/how-to/install.md": HERE,
    "docs/how-to/mint.md": HERE,
    "docs/how-to/pods.md": HERE,
    "docs/tutorial/first-pool.md": "packages/mooring/tests/acceptance/test_tutorial.py",
    "docs/tutorial/kubectl.md": "packages/mooring/tests/docs/test_kubectl_session.py",
    "integrations/blast/README.md": "integrations/blast/tests/test_live_searches.py",
    "integrations/buildbot/README.md": "integrations/buildbot/tests/test_readme.py",
    "integrations/github-actions/README.md": "integrations/github-actions/tests/test_readme.py",
    "integrations/go/README.md": "integrations/go/tests/test_client.py",
    "integrations/jupyterhub/README.md": "integrations/jupyterhub/tests/test_readme.py",
    "integrations/postgres-gateway/README.md": f"{GATEWAY_TESTS}/test_readme.py",
}
# Only parsed: by bash here, and every `mooring` command by its own parser in test_blocks.py.
NOT_RUN = {
    "CONTRIBUTING.md": "set up a clone with its virtual environment: the tests run in what they make",
    "README.md": "`make up` and `make test` are the tests' own start; the tour needs a person who ends --watch",
    "docs/concepts/invariants.md": "pauses invariants of a running Mooring: tests/cli and tests/api do so with each",
    "docs/concepts/ledger.md": "needs a ledger restored from a backup: tests/scenarios arm one",
    "docs/drydock/testing-an-operator.md": "starts pytest on examples/operator, which is part of the tests itself",
    "docs/how-to/adopt.md": "needs a fleet of another tool: tests/controllers/pools adopt one",
    "docs/how-to/releasing.md": "everything that a release runs, and wheels: hours",
    "docs/incidents/README.md": "`replay all`: tests/incidents play each half, and compare with the pages",
    "examples/runners/README.md": "`mooring up` in the background: tests/examples run the same program",
}

ENGINES = re.compile(r"(docker|podman|skopeo|ctr) ")
NOT_RUN_PROGRAMS = {
    "docker": "needs a container engine; the same image is built without one by `make image`, and tested",
    "skopeo": "pushes to a registry",
    "ctr": "needs a containerd with that image; tests/nodes import the same archive",
}


def commands(page: str, program: str = "") -> Iterator[str]:
    """The command lines of a page, joined where they go on, with values in place of its blanks."""
    for block in blocks("sh"):
        if block.page == page:
            for line in block.text.replace("\\\n", " ").splitlines():
                for blank, value in VALUES.items():
                    line = line.replace(blank, value)
                if line.startswith(program):
                    yield line


def test_every_page_with_commands_is_run_or_has_a_reason() -> None:
    pages = {block.page for block in blocks("sh")}
    assert pages == {*RUN_BY, *NOT_RUN} and not set(RUN_BY) & set(NOT_RUN)
    for page, test in RUN_BY.items():
        text = (ROOT / test).read_text()
        assert Path(page).name in text or "README.md" in text or "blocks(" in text, f"{test} does not read {page}"


@pytest.mark.slow
def test_every_block_is_grammatical() -> None:
    for block in blocks("sh"):
        parsed = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
        assert (parsed.returncode, parsed.stderr) == (0, ""), block.place


def run(line: str, kubeconfig: Path, folder: Path) -> str:
    """Run a line as a reader does, in a folder with the chart in it."""
    path = [str(Path(one).parent) for one in (sys.executable, require_helm(), require_kubectl())]
    environment = {**os.environ, "PATH": ":".join([*path, "/usr/bin:/bin"]), "KUBECONFIG": str(kubeconfig)}
    command = ["bash", "-o", "pipefail", "-c", line]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the reader is: in a clone."""
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    return tmp_path


@pytest.mark.realtime
@pytest.mark.slow
def test_the_commands_that_install_and_grant_work_on_a_cluster(kubeconfig: Path, folder: Path) -> None:
    run("kubectl delete crd --all", kubeconfig, folder)  # of the fixture: Helm takes nothing over that is not its own
    for line in sorted(
        commands("docs/how-to/install.md"), key=lambda line: "kubectl apply" in line
    ):  # Helm's way first
        run(
            f"{line} --no-hooks" if line.startswith("helm uninstall") else line, kubeconfig, folder
        )  # a hook needs the image
    run("kubectl create namespace runners && kubectl create namespace blast", kubeconfig, folder)
    run("kubectl -n runners create role claim-linux --verb=get --resource=pods", kubeconfig, folder)
    answers = [run(line, kubeconfig, folder) for line in commands("docs/how-to/access.md")]
    assert answers[-1].strip() == "yes"
    for page in ("docs/how-to/mint.md", "docs/how-to/pods.md"):
        for line in commands(page):
            assert run(line, kubeconfig, folder).strip().endswith("created"), line


@pytest.mark.realtime
def test_a_backup_brings_back_what_was_lost(postgres: PostgresForTests, tmp_path: Path) -> None:
    """The programs of the embedded server are of its own version; those of the system may be older."""
    [dump] = commands("docs/how-to/backup.md", "pg_dump")
    [restore] = (
        code for page, code in inline_code() if page == "docs/how-to/backup.md" and code.startswith("pg_restore")
    )
    url = postgres.fresh_database()
    environment = {**os.environ, "PATH": f"{find_binaries()}:{os.environ['PATH']}", "MOORING_DATABASE": url}

    def shell(line: str) -> str:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout.strip()

    ask = 'psql -X -At "$MOORING_DATABASE" -c '
    shell(ask + "'CREATE TABLE mooring.kept AS SELECT 42 AS answer'")
    shell(dump)
    shell(ask + "'DROP TABLE mooring.kept'")
    shell(restore)
    assert shell(ask + "'SELECT answer FROM mooring.kept'") == "42"
    shell(ask + "'DROP TABLE mooring.kept'")


def test_the_commands_of_helm_render_the_chart(folder: Path) -> None:
    [alerts] = commands("docs/how-to/alerts.md", "helm template")
    assert "kind: PrometheusRule" in run(alerts, Path(os.devnull), folder)
    [install] = commands("deploy/helm/README.md", "helm install")
    assert "kind: Deployment" in run(install.replace("helm install", "helm template"), Path(os.devnull), folder)


def test_commands_of_programs_that_no_machine_here_has_are_grammatical_and_have_a_reason() -> None:
    found = {text for page, text in inline_code() if page != "CHANGELOG.md" and ENGINES.match(text)}
    assert {text.split()[0] for text in found} == set(NOT_RUN_PROGRAMS)
    for text in found:
        parsed = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        assert (parsed.returncode, parsed.stderr) == (0, ""), text
        named = [word for word in shlex.split(text) if word.startswith("deploy/")]
        assert all((ROOT / word).exists() for word in named), text
