"""`mooring services apply` and `delete`, against a Mooring behind a real port."""

import json

import pytest
import yaml

from hawser.errors import ObjectNotFound
from mooring.kinds.resources import MANAGEDSERVICES
from mooring.ledger.records import AuditFilter
from packages.mooring.tests.client.dock import NAMESPACE


@pytest.fixture
def file(tmp_path):
    """A file with a service."""

    def write(name, **spec):
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"kind": "ManagedService", "metadata": metadata, "spec": {"image": "api:1", "port": 8080, **spec}}
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(body))
        return str(path)

    return write


def stored(dock, name):
    try:
        return dock.call(dock.client.get(MANAGEDSERVICES, name, NAMESPACE))
    except ObjectNotFound:
        return None


def trail(dock, name):
    return [record.entry for record in dock.call(dock.ledger.audit.list(AuditFilter(name=name))).items]


def test_a_dry_run_shows_the_preflight_and_writes_nothing(dock, mooring, file):
    code, output, _ = mooring("services", "apply", "-f", file("plan"), "--dry-run")
    assert code == 0
    assert f"service/{NAMESPACE}/plan is created" in output and "image: none -> api:1" in output
    assert "preflight: ok: there are nodes that take its pods" in output and "dry run" in output
    assert stored(dock, "plan") is None and trail(dock, "plan") == []


def test_a_service_is_created_updated_and_deleted_with_actor_and_reason(dock, mooring, file):
    code, output, _ = mooring("services", "apply", "-f", file("life"), "--reason", "first", "-o", "json")
    made = json.loads(output)
    assert (code, made["kind"], made["action"], made["dryRun"]) == (0, "ServiceChange", "create", False)
    assert made["service"]["uid"] == stored(dock, "life").metadata.uid
    assert mooring("services", "apply", "-f", file("life"))[1] == f"service/{NAMESPACE}/life unchanged\n"
    code, output, _ = mooring("services", "apply", "-f", file("life", image="api:2"), "--yes")
    assert code == 0 and f"service/{NAMESPACE}/life updated" in output and stored(dock, "life").spec.image == "api:2"
    code, output, _ = mooring("services", "delete", "life", "--dry-run")
    assert code == 0 and "its Deployment with" in output and stored(dock, "life") is not None
    code, output, _ = mooring("services", "delete", f"{NAMESPACE}/life", "--reason", "not needed", "-o", "name")
    assert (code, output) == (0, f"service/{NAMESPACE}/life\n") and stored(dock, "life") is None
    rows = trail(dock, "life")
    assert [row.action for row in rows if row.subject.kind == "ManagedService"] == ["delete", "update", "create"]
    assert all(row.actor == "operator" for row in rows if row.subject.kind == "ManagedService")
    assert rows[0].reason == "not needed"


def test_what_no_node_takes_is_refused_with_the_fix_unless_it_is_wanted(dock, mooring, file):
    lonely = {"placement": {"nodeSelector": {"disk": "gold"}}}
    code, _, errors = mooring("services", "apply", "-f", file("lonely", **lonely))
    assert code == 1 and "nodes fit" in errors and "fix:" in errors and stored(dock, "lonely") is None
    code, output, _ = mooring("services", "apply", "-f", file("lonely", **lonely), "--dry-run")
    assert code == 1 and "preflight: refused" in output
    code, output, _ = mooring("services", "apply", "-f", file("lonely", **lonely), "--yes")
    assert code == 0 and stored(dock, "lonely") is not None
    assert "preflight: refused" in output and "fix:" in output, "who insists still sees what is wrong"
    assert mooring("services", "delete", "lonely", "--yes")[0] == 0


def test_a_wrong_file_is_named_by_its_field(mooring, file, tmp_path):
    code, _, errors = mooring("services", "apply", "-f", file("wrong", port=0))
    assert code == 2 and "spec.port" in errors
    code, _, errors = mooring("services", "apply", "-f", file("wrong", imge="x"))
    assert code == 2 and "spec.imge" in errors
    code, _, errors = mooring("services", "apply", "-f", str(tmp_path / "none.yaml"))
    assert code == 1 and "none.yaml" in errors
    code, _, errors = mooring("services", "delete", "nobody", "--yes")
    assert code == 3 and "no service" in errors


def test_a_date_in_a_file_is_the_text_that_it_was(dock, mooring, tmp_path):
    file = tmp_path / "dated.yaml"
    file.write_text(
        f"metadata: {{name: dated, namespace: {NAMESPACE}}}\n"
        "spec: {image: 'api:1', port: 8080, env: [{name: SINCE, value: 2026-03-01}]}\n"
    )
    assert mooring("services", "apply", "-f", str(file))[0] == 0
    assert stored(dock, "dated").spec.env[0]["value"] == "2026-03-01"
    assert mooring("services", "delete", "dated", "--yes")[0] == 0


def test_services_are_still_listed_without_a_command(mooring):
    for arguments in ([], ["-o", "json"], ["list", "-o", "json"], ["-n", NAMESPACE, "-o", "name"]):
        assert mooring("services", *arguments)[0] == 0
    assert mooring("services", "nobody")[0] == 3
