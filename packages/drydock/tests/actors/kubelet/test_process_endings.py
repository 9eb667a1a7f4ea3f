"""Last words of containers that are processes, and the hooks around their lives."""

from packages.drydock.tests.actors.kubelet.node_worlds import (
    World,
    container_state,
    is_ready,
    phase,
    shell,
)


async def test_a_container_leaves_a_message_in_its_file(world: World) -> None:
    await world.create_pod("file", shell("printf 'all is lost' > /dev/termination-log; exit 1"), restartPolicy="Never")
    elsewhere = shell("printf here > /dev/last", terminationMessagePath="/dev/last")
    await world.create_pod("elsewhere", elsewhere, restartPolicy="Never")
    failed = await world.until("file", phase("Failed"))
    assert container_state(failed)["terminated"]["message"] == "all is lost"
    ended = await world.until("elsewhere", phase("Succeeded"))
    assert container_state(ended)["terminated"]["message"] == "here"


async def test_the_end_of_the_log_is_the_message_of_a_failure_that_left_none(world: World) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    await world.create_pod("bad", shell("echo one; echo two; exit 1", **policy), restartPolicy="Never")
    await world.create_pod("good", shell("echo one", **policy), restartPolicy="Never")
    bad = await world.until("bad", phase("Failed"))
    assert container_state(bad)["terminated"]["message"] == "one\ntwo\n"
    good = await world.until("good", phase("Succeeded"))
    assert "message" not in container_state(good)["terminated"]


async def test_a_container_is_running_when_its_hook_has_ended(world: World) -> None:
    mounts = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "sleep 0.5; touch /work/hooked"]}}}
    container = shell("while ! test -e /work/hooked; do sleep 0.05; done; echo seen; exec sleep 60", **mounts)
    await world.create_pod("p", {**container, "lifecycle": hook}, volumes=[{"name": "work", "emptyDir": {}}])
    await world.until("p", is_ready)
    await world.until_log("p", "seen")


async def test_a_failed_hook_ends_its_container(world: World) -> None:
    hook = {"postStart": {"exec": {"command": ["false"]}}}
    await world.create_pod("p", {**shell("exec sleep 60"), "lifecycle": hook}, restartPolicy="Never")
    await world.until("p", phase("Failed"))
    await world.until_event("p", "FailedPostStartHook", "PostStartHook failed")
    await world.until_event("p", "Killing", "FailedPostStartHook")
