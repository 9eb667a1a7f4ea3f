"""The environment that steps inherit from a running Deployment: by prefix, as references, never as secret values."""

from typing import Any

from hawser.resources import CONFIGMAPS, DEPLOYMENTS, JOBS
from mooring.kinds.views import Submission
from mooring.model.submission import job_name
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica
from packages.mooring.tests.scenarios.submits import gate_of, spec, submit, until_phase

Body = dict[str, Any]
INHERIT = {"deployment": "api", "prefixes": ["STORE_"]}


async def _deploy(world: Harbour, **container: Any) -> None:
    labels = {"app": "api"}
    pod = {"containers": [{"name": "api", "image": "api", **container}]}
    body = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    await world.client.create(DEPLOYMENTS, {"metadata": {"name": "api"}, "spec": body}, NAMESPACE)
    await world.clock.sleep(10)


async def _inherited(world: Harbour, replica: Replica) -> tuple[Submission, dict[str, Body]]:
    """The submission at its end, and the variables of a batch that are not Mooring's own."""
    await submit(replica, spec(inheritEnv=INHERIT))
    done = await until_phase(world, "Succeeded")
    job = await world.client.get(JOBS.raw(), job_name("night-1", "batch-0"), NAMESPACE)
    environment = job["spec"]["template"]["spec"]["containers"][0]["env"]
    return done, {one["name"]: one for one in environment if not one["name"].startswith("MOORING_")}


def _reference(name: str, config_map: str, key: str, **more: Any) -> Body:
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": key, **more}}}


async def test_the_environment_is_copied_by_prefix_and_secrets_stay_references(world: Harbour):
    replica = world.start()
    secret = {
        "name": "STORE_KEY",
        "valueFrom": {"secretKeyRef": {"name": "store", "key": "key", "optional": True}},
    }
    plain = {"name": "STORE_URL", "value": "https://store"}
    await _deploy(world, env=[plain, secret, {"name": "OTHER", "value": "1"}])
    _, found = await _inherited(world, replica)
    assert found == {"STORE_URL": plain, "STORE_KEY": secret}


async def test_what_a_whole_config_map_gives_is_copied_by_prefix_as_references(world: Harbour):
    replica = world.start()
    for name, data in {"plain": {"STORE_URL": "u", "STORE_A": "x", "OTHER": "1"}, "prefixed": {"B": "2"}}.items():
        await world.client.create(CONFIGMAPS, {"metadata": {"name": name}, "data": data}, NAMESPACE)
    sources = [
        {"configMapRef": {"name": "plain"}},
        {"prefix": "STORE_", "configMapRef": {"name": "prefixed", "optional": True}},
        {"prefix": "LOG_", "configMapRef": {"name": "prefixed"}},
        {"configMapRef": {"name": "missing", "optional": True}},
    ]
    own = {"name": "STORE_A", "value": "own"}
    await _deploy(world, env=[own], envFrom=sources)
    _, found = await _inherited(world, replica)
    assert found == {
        "STORE_URL": _reference("STORE_URL", "plain", "STORE_URL"),
        "STORE_B": _reference("STORE_B", "prefixed", "B", optional=True),
        "STORE_A": own,
    }


async def test_a_whole_secret_is_not_read_and_the_gate_says_that_it_was_left_out(world: Harbour):
    replica = world.start()
    sources = [
        {"secretRef": {"name": "creds", "optional": True}},
        {"prefix": "LOG_", "secretRef": {"name": "elsewhere", "optional": True}},
    ]
    await _deploy(world, env=[{"name": "STORE_URL", "value": "u"}], envFrom=sources)
    done, found = await _inherited(world, replica)
    assert set(found) == {"STORE_URL"}
    gate = gate_of(done, "inherit-env")
    assert gate.state == "ok" and "not inherited" in gate.message
    assert "creds" in gate.message and "elsewhere" not in gate.message and "secretKeyRef" in gate.fix
    assert not [call for call in replica.transport.calls if "/secrets" in call.path]


async def test_a_config_map_that_is_gone_since_refuses(world: Harbour):
    replica = world.start()
    await world.client.create(CONFIGMAPS, {"metadata": {"name": "cfg"}, "data": {"STORE_A": "1"}}, NAMESPACE)
    await _deploy(world, envFrom=[{"configMapRef": {"name": "cfg"}}])
    await world.client.delete(CONFIGMAPS, "cfg", NAMESPACE)
    await submit(replica, spec(inheritEnv=INHERIT))
    refused = await until_phase(world, "Refused")
    assert "the ConfigMap cfg, which is not there" in gate_of(refused, "inherit-env").message


async def test_a_deployment_that_does_not_run_is_not_copied_from(world: Harbour):
    replica = world.start()
    await submit(replica, spec(inheritEnv=INHERIT))
    refused = await until_phase(world, "Refused")
    assert gate_of(refused, "inherit-env").message == "there is no Deployment api"
