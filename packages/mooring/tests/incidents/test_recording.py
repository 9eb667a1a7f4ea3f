"""A recorded replay is the same replay, and its frames add up to the map of every moment."""

from typing import Any

import msgspec
import pytest

from hawser.views import Pod
from mooring.incidents.incident import Figures, Incident
from mooring.incidents.recording import Frame, Recorder, make_recording
from mooring.incidents.replay import run_half, run_replay
from mooring.incidents.scene import classify_pod, compute_cells
from mooring.incidents.stage import NAMESPACE, Nobody, Stage
from mooring.model.claim_request import ClaimRequest

POOL = f"{NAMESPACE}/linux"


class OneSession(Incident):
    """Three workers, one of them claimed after a while; then the control plane dies."""

    name = "one-session"
    title = "one session"
    story = "A worker is claimed."
    protections = ("busy-is-protected",)

    async def play(self, stage: Stage, protected: bool) -> Figures:
        control = stage.start("first")
        await stage.pool(warm=3, max=6)
        await stage.until_idle(3)
        stage.narrate("three workers are idle")
        stage.gauges["sessions"] = lambda: 1
        await stage.clock.sleep(30)
        await control.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=600))
        await stage.clock.sleep(30)
        await control.kill()
        stage.narrate("the control plane is dead")
        await stage.clock.sleep(15)
        return Figures(not protected, {"seconds": stage.seconds})


@pytest.fixture(scope="module")
def recorded() -> Any:
    seats = {False: Recorder(), True: Recorder()}
    incident = OneSession()
    outcome = run_replay(incident, only_unprotected=False, seed=1, seat=lambda _, protected: seats[protected])
    return msgspec.json.decode(msgspec.json.encode(make_recording(incident, outcome, seats[False], seats[True])))


def at(half: Any, seconds: float) -> dict[str, dict[str, Any]]:
    """The map of a moment, as a player adds it up."""
    parts: dict[str, dict[str, Any]] = {name: {} for name in Frame.__struct_fields__ if name != "seconds"}
    for frame in half["frames"]:
        if frame["seconds"] > seconds:
            break
        for name, known in parts.items():
            known.update(frame.get(name, {}))
    return {name: {key: value for key, value in known.items() if value is not None} for name, known in parts.items()}


def states(half: Any, seconds: float) -> list[str]:
    return sorted(state for _, _, state, _ in at(half, seconds)["cells"].values())


def test_the_frames_add_up_to_the_map_of_each_moment(recorded):
    half = recorded["with"]
    begun, dead = (seconds for seconds, _ in half["events"])
    assert states(half, begun) == ["idle"] * 3
    assert states(half, begun + 29) == ["idle"] * 3
    assert states(half, dead) == ["busy", *["idle"] * 3], "the claimed worker is replaced by another idle one"
    assert [cell for cell in at(half, dead)["cells"].values() if cell[3]] == [
        cell for cell in at(half, dead)["cells"].values() if cell[2] == "busy"
    ]
    nodes = at(half, dead)["nodes"]
    assert len(nodes) == 3 and set(nodes.values()) == {"open"}
    assert {node for _, node, _, _ in at(half, dead)["cells"].values()} <= nodes.keys()


def test_control_planes_and_gauges_are_on_the_map(recorded):
    half = recorded["with"]
    begun, dead = (seconds for seconds, _ in half["events"])
    assert at(half, begun)["planes"] == {"first": True}
    assert at(half, half["seconds"])["planes"] == {"first": False}
    assert at(half, dead)["gauges"] == {"sessions": "1"}


def test_both_halves_and_the_figures_are_of_the_run(recorded):
    assert [text for _, text in recorded["without"]["events"]] == [text for _, text in recorded["with"]["events"]]
    assert (recorded["without"]["outage"], recorded["with"]["outage"]) == (True, False)
    assert {"figure": "outage", "without": "yes", "protected": "no"} in recorded["figures"]
    assert recorded["failure"] == ""
    assert recorded["with"]["seconds"] >= recorded["with"]["events"][-1][0]


def test_a_recorded_half_is_the_same_half():
    plain = run_half(OneSession(), protected=True, seed=3, audience=Nobody())
    assert run_half(OneSession(), protected=True, seed=3, audience=Recorder()) == plain


def pod(phase: str = "Running", *, ready: bool = True, labels: dict[str, str] | None = None, **more: Any) -> Pod:
    body = {
        "metadata": {"name": "p", "uid": "u", "labels": labels or {}, **more.get("metadata", {})},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": more.get("containers", []),
        },
    }
    return msgspec.convert(body, Pod)


WORKER = {"mooring.dev/pool": "linux"}
CRASHES = [{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (pod("Pending", ready=False, labels=WORKER), "starting"),
        (pod(ready=False, labels=WORKER), "starting"),
        (pod(labels=WORKER), "idle"),
        (pod(labels={**WORKER, "mooring.dev/owner": "acme"}), "busy"),
        (pod(), "busy"),
        (pod("Succeeded", ready=False), "done"),
        (pod("Failed", ready=False), "failed"),
        (pod(ready=False, containers=CRASHES), "failed"),
        (pod(labels=WORKER, metadata={"deletionTimestamp": "2026-03-01T12:00:00Z"}), "draining"),
    ],
)
def test_the_state_of_a_pod(seen, state):
    assert classify_pod(seen) == state


def test_a_pod_that_no_controller_made_is_not_on_the_map():
    assert compute_cells([pod()]) == {}
    owned = pod(metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "1"}]})
    assert [cell.state for cell in compute_cells([owned]).values()] == ["busy"]
